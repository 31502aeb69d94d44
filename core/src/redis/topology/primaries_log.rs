//! What is logged of the primaries: that others are in charge, at most once a minute.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::events::{Seldom, event};
use crate::sync::lock::Mutex;

#[derive(Debug, Default)]
pub(super) struct PrimariesLog {
    seldom: Seldom,
    primaries: Mutex<Primaries>,
}

/// Their addresses.
#[derive(Debug, Default)]
struct Primaries {
    logged: BTreeSet<String>,
    present: BTreeSet<String>,
}

impl PrimariesLog {
    /// These are in charge now. The first ones are no change.
    pub(super) fn learned(&self, primaries: BTreeSet<String>, now: Instant) {
        if let Some(change) = self.change(primaries, now) {
            event!(Info, topology_changed, "{change}");
        }
    }

    /// Logs what was held back for a minute, when that is over.
    #[inline]
    pub(super) fn overdue(&self, now: Instant) {
        if let Some(times) = self.seldom.overdue(now) {
            event!(Info, topology_changed, "{}", self.primaries.lock().change(times));
        }
    }

    fn change(&self, primaries: BTreeSet<String>, now: Instant) -> Option<String> {
        let mut known = self.primaries.lock();
        if known.present == primaries {
            return None;
        }
        known.present = primaries;
        if known.logged.is_empty() {
            known.logged = known.present.clone();
            return None;
        }
        self.seldom.due(now).map(|times| known.change(times))
    }
}

impl Primaries {
    /// What has changed since the log said so, as often as this.
    fn change(&mut self, times: u64) -> String {
        let before = std::mem::replace(&mut self.logged, self.present.clone());
        let (new, gone) = (only(&self.present, &before), only(&before, &self.present));
        let changes =
            if times > 1 { format!(" (changes since the last such line: {times})") } else { String::new() };
        format!("the primaries have changed: new {new}; no longer {gone}{changes}")
    }
}

fn only(some: &BTreeSet<String>, others: &BTreeSet<String>) -> String {
    let only: Vec<_> = some.difference(others).map(String::as_str).collect();
    if only.is_empty() { "none".to_owned() } else { only.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn other_primaries_are_logged_once_a_minute() {
        let (log, start) = (PrimariesLog::default(), Instant::now());
        let change = |names: &[&str], seconds| log.change(set(names), start + Duration::from_secs(seconds));
        assert_eq!(change(&["a", "b"], 0), None, "the first ones");
        let first = change(&["a", "c"], 1);
        assert_eq!(first.as_deref(), Some("the primaries have changed: new c; no longer b"));
        assert_eq!(change(&["a", "c"], 2), None, "the same ones");
        assert_eq!([change(&["a", "b"], 2), change(&["a", "d"], 3), change(&["d"], 60)], [None, None, None]);
        let later = change(&["d", "e"], 61);
        assert_eq!(
            later.as_deref(),
            Some(
                "the primaries have changed: new d, e; no longer a, c (changes since the last such line: 4)"
            )
        );
    }

    #[test]
    fn what_was_held_back_is_due_after_a_minute() {
        let (log, start) = (PrimariesLog::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        log.change(set(&["a"]), start);
        assert!(log.change(set(&["b"]), start).is_some());
        assert_eq!(log.change(set(&["c"]), at(1)), None);
        assert_eq!([59, 60, 61].map(|seconds| log.seldom.overdue(at(seconds))), [None, Some(1), None]);
        let change = log.primaries.lock().change(1);
        assert_eq!(change, "the primaries have changed: new c; no longer b");
    }
}
