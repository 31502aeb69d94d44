//! `block`, `unblock` and `limit`: what is changed by hand about one key.

use std::io::Write;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};
use serde_json::json;
use sluicegate::RateLimiter;

use super::backend::BackendArgs;
use super::outcome::{CommandError, ExitStatus};
use super::show::{about, json_line};
use super::source::RulesArgs;

/// A key of a rule.
#[derive(Debug, ClapArgs)]
pub(crate) struct Subject {
    #[command(flatten)]
    rules: RulesArgs,
    /// Name of the rule
    rule: String,
    /// Who is counted: a user, an address, an API key
    key: String,
    #[command(flatten)]
    backend: BackendArgs,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BlockArgs {
    #[command(flatten)]
    subject: Subject,
    /// For how long, such as 10m or 1h
    #[arg(value_name = "TIME", value_parser = humantime::parse_duration)]
    duration: Duration,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LimitCommand {
    /// Store a limit for a key, which takes the place of the rule's; needs a server
    Set(SetLimit),
    /// Forget the limit that is stored for a key; needs a server
    #[command(after_help = "Exit code: 0 forgotten, 1 there was none, 2 error.")]
    Clear(Subject),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SetLimit {
    #[command(flatten)]
    subject: Subject,
    /// The limit
    limit: u64,
    /// For how long, such as 1h or 30d; without it, until it is cleared
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    expires_in: Option<Duration>,
}

impl Subject {
    fn limiter(&self, command: &str) -> Result<RateLimiter, CommandError> {
        self.backend.server(command, self.rules.load()?)
    }

    /// Says what was done.
    fn tell(
        &self,
        out: &mut impl Write,
        field: &str,
        done: bool,
        line: &str,
    ) -> Result<ExitStatus, CommandError> {
        if self.json {
            writeln!(out, "{}", json_line(&json!({ "rule": self.rule, "key": self.key, field: done })))?;
        } else {
            writeln!(out, "{line}")?;
        }
        Ok(ExitStatus::of(done))
    }

    fn name(&self) -> String {
        format!("{} for {}", self.rule.escape_debug(), self.key.escape_debug())
    }
}

pub(crate) fn block(args: &BlockArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let BlockArgs { subject, duration } = args;
    subject.limiter("block")?.block(&subject.rule, &subject.key, *duration)?;
    let line = format!("blocked {}: {}", subject.name(), about(*duration));
    subject.tell(out, "blocked", true, &line)
}

pub(crate) fn unblock(subject: &Subject, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let was_blocked = subject.limiter("unblock")?.unblock(&subject.rule, &subject.key)?;
    let line = if was_blocked { "unblocked" } else { "not blocked:" };
    subject.tell(out, "unblocked", was_blocked, &format!("{line} {}", subject.name()))
}

pub(crate) fn limit(command: &LimitCommand, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    match command {
        LimitCommand::Set(SetLimit { subject, limit, expires_in }) => {
            let limiter = subject.limiter("limit set")?;
            limiter.set_limit(&subject.rule, &subject.key, *limit, *expires_in)?;
            let until = expires_in.map_or_else(String::new, |span| format!(", expires in {}", about(span)));
            subject.tell(out, "set", true, &format!("limit {limit} set of {}{until}", subject.name()))
        }
        LimitCommand::Clear(subject) => {
            let had_limit = subject.limiter("limit clear")?.clear_limit(&subject.rule, &subject.key)?;
            let line = if had_limit { "limit cleared of" } else { "no limit is stored of" };
            subject.tell(out, "cleared", had_limit, &format!("{line} {}", subject.name()))
        }
    }
}
