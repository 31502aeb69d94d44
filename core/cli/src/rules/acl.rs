//! What a user of Redis has to be allowed, so that limiters with some rules work.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use clap::Args;
use sluicegate::Rules;
use sluicegate::internal::{default_prefix, is_valid_prefix, kernel};
use sluicegate::rules::{Algorithm, Rule};
use sluicegate_lua::{KernelSet, commands};

use crate::outcome::{CommandError, ExitStatus};
use crate::remembering::RememberingArgs;
use crate::source::RulesArgs;

/// What the limiter sends itself, whatever the rules. What its scripts call is read from their text. Without `role` it works
/// on one server and on a Cluster, but notices late that a server has become a replica, and the server logs each refusal.
const OF_CALLS: [&str; 4] = ["eval", "evalsha", "ping", "role"];
/// How a rule is reset beside whose states nothing is; others have a script for that.
const OF_RESETS: [&str; 1] = ["unlink"];
/// What it sends to the nodes of a Cluster: topology discovery, and a call that a node redirected with `ASK`.
const OF_CLUSTERS: [&str; 2] = ["asking", "cluster|slots"];
/// What has servers watch keys that were denied. Without them, denials are remembered as without RESP3.
const OF_WATCHED_KEYS: [&str; 2] = ["client|caching", "client|tracking"];
/// What scripts call for nobody but a rule that charges; `concurrency` charges nothing.
const OF_CHARGES: [&str; 1] = ["pttl"];
/// The same of what was reserved.
const OF_LATE_CHARGES: [&str; 2] = ["dump", "restore"];
/// What scripts call for nobody but a `check_all` over several hash slots, which takes back a charge of a known time.
const OF_COMPENSATIONS: [&str; 1] = ["lrem"];

#[derive(Debug, Args)]
pub(crate) struct Acl {
    #[command(flatten)]
    rules: RulesArgs,
    /// For the nodes of a Cluster
    #[arg(long)]
    cluster: bool,
    /// What every name in Redis begins with
    #[arg(long, default_value_t = default_prefix())]
    prefix: String,
    #[command(flatten)]
    remembering: RememberingArgs,
}

impl Acl {
    pub(super) fn print(&self, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
        if !is_valid_prefix(&self.prefix) {
            let reason = "must be 1 to 128 bytes without braces and control characters";
            return Err(CommandError::Other(format!("--prefix: {reason}")));
        }
        let allowed: Vec<_> =
            self.needed(&self.rules.load()?).iter().map(|name| format!("+{name}")).collect();
        let pattern = escaped(&self.prefix);
        writeln!(out, "resetkeys ~{pattern}:* resetchannels -@all {}", allowed.join(" "))?;
        Ok(ExitStatus::Yes)
    }

    /// The commands, in alphabetical order.
    fn needed(&self, rules: &Rules) -> BTreeSet<String> {
        let limits = rules.iter().flat_map(|rule| rule.limits.iter().map(move |limit| (rule, limit)));
        let kernels = limits.fold(KernelSet::default(), |set, (rule, limit)| set.with(kernel(rule, limit)));
        let holds = rules.iter().any(|rule| rule.lease_us.is_some());
        let mut names = commands(kernels, holds, rules.iter().any(has_key_record));
        names.extend(OF_CALLS.map(str::to_owned));
        if rules.iter().any(|rule| rule.lease_us.is_none() && !has_key_record(rule)) {
            names.extend(OF_RESETS.map(str::to_owned));
        }
        if rules.iter().all(|rule| rule.algorithm == Algorithm::Concurrency) {
            OF_CHARGES.iter().for_each(|name| _ = names.remove(*name));
        }
        if rules.iter().all(|rule| rule.lease_us.is_none() || rule.algorithm == Algorithm::Concurrency) {
            OF_LATE_CHARGES.iter().for_each(|name| _ = names.remove(*name));
        }
        if self.remembering.are_watched_for(rules) {
            names.extend(OF_WATCHED_KEYS.map(str::to_owned));
        }
        if self.cluster {
            names.extend(OF_CLUSTERS.map(str::to_owned));
        } else {
            OF_COMPENSATIONS.iter().for_each(|name| _ = names.remove(*name));
        }
        names
    }
}

/// Whether keys of a rule may be blocked, or have limits of their own.
fn has_key_record(rule: &Arc<Rule>) -> bool {
    rule.block.is_some() || rule.overrides
}

/// A prefix as a pattern that fits nothing else.
fn escaped(prefix: &str) -> String {
    let is_special = |c: char| "*?[]\\".contains(c);
    prefix.chars().flat_map(|c| is_special(c).then_some('\\').into_iter().chain([c])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_pattern_of_itself_alone() {
        assert_eq!(escaped("my-app"), "my-app");
        assert_eq!(escaped("a*[b]?\\"), r"a\*\[b\]\?\\");
    }
}
