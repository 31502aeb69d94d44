//! The commands about one key under every rule.

use std::io::Write;

use clap::Args as ClapArgs;
use serde_json::json;
use sluicegate::internal::most_and_window;
use sluicegate::rules::{Rule, Scope};
use sluicegate::{CheckOptions, Decision};

use super::backend::BackendArgs;
use super::outcome::{CommandError, ExitStatus};
use super::show;
use super::source::RulesArgs;

/// One key.
#[derive(Debug, ClapArgs)]
pub(crate) struct OneKey {
    #[command(flatten)]
    rules: RulesArgs,
    /// Who is counted: a user, an address, an API key
    key: String,
    #[command(flatten)]
    backend: BackendArgs,
    /// The resource that is used; without it, rules that limit one are left out
    #[arg(long)]
    resource: Option<String>,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

impl OneKey {
    fn options(&self) -> CheckOptions<'_> {
        let mut options = CheckOptions::new();
        options.resource = self.resource.as_deref();
        options
    }
}

/// What each rule would answer now.
pub(crate) fn inspect(args: &OneKey, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let rules = args.rules.load()?;
    let limiter = args.backend.server("inspect", rules.clone())?;
    let decision = limiter.inspect_with(&args.key, args.options())?;
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    let mut parts = decision.parts.iter().peekable();
    for rule in rules.iter() {
        let id = &rule.id;
        match parts.next_if(|part| part.rule == *id) {
            Some(part) if args.json => {
                let mut object = show::object(part);
                object["key"] = json!(args.key);
                object["stored_limit"] = json!(has_own_limit(rule, part));
                writeln!(out, "{}", show::json_line(&object))?;
            }
            Some(part) => {
                let own = if has_own_limit(rule, part) { "  limit of its own" } else { "" };
                writeln!(out, "{id:width$}  {}{own}", show::line(part))?;
            }
            // The lines of JSON are those of decisions.
            None if args.json => {}
            None => writeln!(out, "{id:width$}  left out: it limits a resource; name one by --resource")?,
        }
    }
    Ok(ExitStatus::of(decision.allowed))
}

/// Whether a limit that is stored for the key is in force: the rule's own would show in other figures.
fn has_own_limit(rule: &Rule, part: &Decision) -> bool {
    let stated = rule.limits.first().filter(|_| rule.overrides).map(|limit| most_and_window(rule, limit));
    stated.is_some_and(|stated| stated != (part.limit, part.window))
}

/// Forgets the key under every rule.
pub(crate) fn reset_all(args: &OneKey, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let rules = args.rules.load()?;
    let limiter = args.backend.server("reset-all", rules.clone())?;
    limiter.reset_all_with(&args.key, args.options())?;
    let limits_resource = |scope: Scope| scope == Scope::Resource;
    for rule in rules.iter() {
        let is_left = args.resource.is_none() && rule.limits.iter().any(|limit| limits_resource(limit.scope));
        if args.json {
            let object = json!({ "rule": rule.id.as_ref(), "key": args.key, "reset": !is_left });
            writeln!(out, "{}", show::json_line(&object))?;
        } else if is_left {
            writeln!(out, "{}: left out: it limits a resource; name one by --resource", rule.id)?;
        } else {
            writeln!(out, "{}: forgotten", rule.id)?;
        }
    }
    Ok(ExitStatus::Yes)
}
