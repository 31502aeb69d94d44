//! The command line, as clap reads it.

use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand};
use sluicegate::RateLimiter;
use sluicegate::sources::RuleSource;

use crate::asking::{CheckRequest, Match};
use crate::rules::RulesCommand;
use crate::source::RulesArgs;

/// Distributed rate limiter: admit or deny keys by rules.
#[derive(Debug, Parser)]
#[command(name = "sluicegate", version, after_help = "Exit code: 0 all admitted, 1 some denied, 2 error.")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Admit a cost for a key, or deny it
    Check(Check),
    /// Say what a check would answer, and change nothing
    Peek(One),
    /// Forget what was counted for a key
    Reset(One),
    /// Give back a cost that was not used
    Refund(One),
    /// Say which rules apply to a request, and count nothing
    Match(Match),
    /// Admit a request by all the rules that apply to it, or deny it
    CheckRequest(CheckRequest),
    /// Look at rules where they are kept, and change them
    #[command(subcommand)]
    Rules(RulesCommand),
}

/// Where counts are.
#[derive(Debug, ClapArgs)]
pub(crate) struct Place {
    /// Where counts are kept: memory://, redis://, rediss://, unix://, redis-cluster:// or
    /// redis-sentinel://
    #[arg(long, default_value = "memory://", env = "SLUICEGATE_URL", hide_env_values = true)]
    url: String,
    /// What every name in Redis begins with
    #[arg(long)]
    prefix: Option<String>,
}

impl Place {
    pub(crate) fn limiter(&self, rules: impl RuleSource) -> sluicegate::Result<RateLimiter> {
        let builder = RateLimiter::builder(&self.url).rules(rules);
        match &self.prefix {
            Some(prefix) => builder.prefix(prefix).build(),
            None => builder.build(),
        }
    }
}

/// One rule and key.
#[derive(Debug, ClapArgs)]
pub(crate) struct One {
    #[command(flatten)]
    pub(crate) rules: RulesArgs,
    /// Name of the rule
    pub(crate) rule: String,
    /// Who is counted: a user, an address, an API key
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) place: Place,
    /// How much to admit
    #[arg(long, default_value_t = 1)]
    pub(crate) cost: u64,
    /// The resource that is used, for rules that limit one
    #[arg(long)]
    pub(crate) resource: Option<String>,
    /// Limit to use instead of the rule's
    #[arg(long)]
    pub(crate) limit: Option<u64>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) one: One,
    /// How many checks to make; rules that change meanwhile are followed
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) times: u64,
    /// Time between two checks, such as 100ms or 1s
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) every: Duration,
}
