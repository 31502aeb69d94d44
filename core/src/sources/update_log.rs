//! What is logged of the updates of a source: at most one line a minute of each kind, however often it changes.

use std::time::Instant;

use super::lost;
use crate::catalog::Catalog;
use crate::events::{Seldom, event};
use crate::rules::Rules;
use crate::sync::lock::Mutex;

#[derive(Debug)]
pub(super) struct UpdateLog {
    /// The name of the source.
    source: String,
    changed: Seldom,
    lost: Seldom,
    /// What the last update took away that took something.
    last_lost: Mutex<String>,
    refused: Seldom,
    uncopied: Seldom,
    unreachable: Seldom,
}

impl UpdateLog {
    pub(super) fn of(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            changed: Seldom::default(),
            lost: Seldom::default(),
            last_lost: Mutex::default(),
            refused: Seldom::default(),
            uncopied: Seldom::default(),
            unreachable: Seldom::default(),
        }
    }

    /// Other rules are in force.
    pub(super) fn changed(&self, rules: &Rules, now: Instant) {
        if let Some(times) = self.changed.due(now) {
            event!(Info, rules_changed, "{}", self.change(rules, times));
        }
    }

    /// An update takes something away, if it does.
    pub(super) fn lost(&self, before: &Catalog, after: &Catalog, now: Instant) {
        let lost = lost::warnings(before, after);
        if lost.is_empty() {
            return;
        }
        *self.last_lost.lock() = lost.join("; ");
        if let Some(times) = self.lost.due(now) {
            event!(Warn, rules_lost, "{}", self.loss(times));
        }
    }

    /// An update is refused, or parts of it.
    pub(super) fn refused(&self, refused: &[String], now: Instant) {
        let Some((first, others)) = refused.split_first() else { return };
        if let Some(times) = self.refused.due(now) {
            event!(Warn, rules_refused, "{}", refusal(first, others.len(), times));
        }
    }

    pub(super) fn uncopied(&self, what: &str, now: Instant) {
        if self.uncopied.due(now).is_some() {
            event!(Warn, rules_uncopied, "{what}");
        }
    }

    pub(super) fn unreachable(&self, what: &str, now: Instant) {
        if self.unreachable.due(now).is_some() {
            event!(Warn, rules_unreachable, "{what}; what was read before stays in force");
        }
    }

    /// Logs what was held back for a minute, when that is over: what is in force and what is refused by then.
    pub(super) fn overdue(&self, rules: &Rules, refused: &[String], now: Instant) {
        if let Some(times) = self.changed.overdue(now) {
            event!(Info, rules_changed, "{}", self.change(rules, times));
        }
        if let Some(times) = self.lost.overdue(now) {
            event!(Warn, rules_lost, "{}; {} rules are in force now", self.loss(times), rules.len());
        }
        if let Some(times) = self.refused.overdue(now) {
            let present = format!("{}: what it has now is in force", self.source);
            let (first, others) = refused.split_first().unwrap_or((&present, &[]));
            event!(Warn, rules_refused, "{}", refusal(first, others.len(), times));
        }
    }

    fn change(&self, rules: &Rules, times: u64) -> String {
        let (count, version) = (rules.len(), rules.version());
        let changes = since_last("changes", times);
        format!("rules: {}: {count} rules are in force (version {version}){changes}", self.source)
    }

    fn loss(&self, times: u64) -> String {
        format!("rules: {}: {}{}", self.source, self.last_lost.lock(), since_last("such updates", times))
    }
}

fn refusal(first: &str, others: usize, times: u64) -> String {
    let more =
        if others > 0 { format!(" (and {others} more; rules_status lists them)") } else { String::new() };
    format!("rules refused: {first}{more}{}", since_last("refusals", times))
}

/// How often it has happened, if more than this once.
fn since_last(what: &str, times: u64) -> String {
    if times > 1 { format!(" ({what} since the last such line: {times})") } else { String::new() }
}
