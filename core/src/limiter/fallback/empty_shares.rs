//! When to log under which rules `local` denies everything.

use std::time::Instant;

use crate::events::Seldom;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// Limits the lines about the same rules to one a minute; other rules are logged at once.
#[derive(Debug)]
pub(super) struct EmptyShares(PerProcess<Mutex<Logged>>);

/// What the last line was about.
#[derive(Debug, Default)]
struct Logged {
    /// The names of the rules.
    names: String,
    seldom: Seldom,
}

impl Default for EmptyShares {
    fn default() -> Self {
        Self(PerProcess::new(Mutex::default()))
    }
}

impl EmptyShares {
    /// Whether to log now that the rules of these names have empty shares.
    pub(super) fn is_due(&self, names: &str, now: Instant) -> bool {
        let mut logged = self.0.get(|_| Mutex::default()).lock();
        if logged.names != names {
            *logged = Logged { names: names.to_owned(), seldom: Seldom::default() };
        }
        logged.seldom.due(now).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_same_rules_are_logged_once_a_minute_and_other_ones_at_once() {
        let (shares, start) = (EmptyShares::default(), Instant::now());
        let due = |names, seconds| shares.is_due(names, start + Duration::from_secs(seconds));
        let calls = [("a", 0), ("a", 20), ("a, b", 20), ("a, b", 79), ("a, b", 80), ("a", 81), ("a", 82)];
        assert_eq!(calls.map(|(names, at)| due(names, at)), [true, false, true, false, true, true, false]);
    }
}
