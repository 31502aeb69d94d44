//! On which terms regions decide: where they differ, those of the region in charge of a key apply.

use std::sync::MutexGuard;

use hashbrown::HashMap;

use crate::algorithm::{Micros, Terms};
use crate::catalog::LimitNumber;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// What is stated is stated again, and looked up again, after this time: a server may have lost it, another process may
/// have stated something else.
const EVERY: Micros = 10_000_000;

/// After this time where the answer was lost.
const SOON: Micros = 1_000_000;

/// How often the log says that the terms of a region differ.
const LOG_EVERY: Micros = 60_000_000;

/// What was not used for so long may be forgotten: servers keep what was stated for as long.
const KEPT: Micros = 3_600_000_000;

/// What this process has stated of its own region at [`None`], and what it has heard of others, by their places.
#[derive(Debug)]
pub(crate) struct StatedTerms(PerProcess<Mutex<Known>>);

type Known = HashMap<Name, Stated>;
type Name = (Option<usize>, LimitNumber);

#[derive(Debug)]
struct Stated {
    /// What the region has stated, if anything.
    terms: Option<Terms>,
    /// When it is to be stated, or looked up, again.
    due: Micros,
    log: DifferenceLog,
}

/// What is logged of terms that differ from the own ones.
#[derive(Debug, Clone, Copy, Default)]
struct DifferenceLog {
    /// When the log last said so.
    last: Option<Micros>,
    /// Whether it is to say so, when it may.
    is_owed: bool,
}

impl Default for StatedTerms {
    fn default() -> Self {
        Self(PerProcess::new(Mutex::default()))
    }
}

impl StatedTerms {
    /// A forked child begins anew: a thread that it does not have may hold its parent's lock.
    #[inline]
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.get(|_| Mutex::default()).lock()
    }

    /// Whether to state these terms of the own region now.
    #[inline]
    pub(crate) fn states(&self, limit: LimitNumber, terms: Terms, now: Micros) -> bool {
        let mut known = self.known();
        let stated = known.get(&(None, limit));
        if stated.is_some_and(|stated| stated.terms == Some(terms) && !stated.is_due(now)) {
            return false;
        }
        let stated = entry(&mut known, (None, limit), now);
        (stated.terms, stated.due) = (Some(terms), now + EVERY);
        true
    }

    /// What another region has stated, if anything, and whether to look it up again now; `None`: it has yet to be asked.
    #[inline]
    pub(crate) fn of(&self, region: usize, limit: LimitNumber, now: Micros) -> Option<(Option<Terms>, bool)> {
        let mut known = self.known();
        let stated = known.get_mut(&(Some(region), limit))?;
        let is_due = stated.is_due(now);
        if is_due {
            stated.due = now + EVERY;
        }
        Some((stated.terms, is_due))
    }

    /// Takes note of what another region has stated, if anything. Answers whether the log is to say that these are other
    /// terms than the own ones.
    pub(crate) fn heard(
        &self,
        region: usize,
        limit: LimitNumber,
        (theirs, own): (Option<Terms>, Terms),
        now: Micros,
    ) -> bool {
        let mut known = self.known();
        let stated = entry(&mut known, (Some(region), limit), now);
        let is_news = stated.terms != theirs;
        stated.terms = theirs;
        stated.log.is_due(theirs.is_some_and(|theirs| theirs != own), is_news, now)
    }

    /// Takes note that a region is there and cannot say its terms. What was heard before holds.
    pub(crate) fn refused(&self, region: usize, limit: LimitNumber, now: Micros) {
        entry(&mut self.known(), (Some(region), limit), now).due = now + EVERY;
    }

    /// Takes note that nothing came of what was asked of a region, or stated of the own one. What was heard before holds.
    pub(crate) fn lost(&self, region: Option<usize>, limit: LimitNumber) {
        if let Some(stated) = self.known().get_mut(&(region, limit)) {
            stated.due -= EVERY - SOON;
        }
    }
}

/// Before it would grow, it forgets what nobody has used for long, such as limits that are gone.
fn entry(known: &mut Known, name: Name, now: Micros) -> &mut Stated {
    if known.len() == known.capacity() && !known.contains_key(&name) {
        // After a step of the clock back, too.
        known.retain(|_, stated| (now - KEPT..=now + EVERY).contains(&stated.due));
    }
    known.entry(name).or_insert(Stated { terms: None, due: now + EVERY, log: DifferenceLog::default() })
}

impl DifferenceLog {
    /// Whether to log it now: when it is news, and once a minute at most, also after a step of the clock back.
    fn is_due(&mut self, differs: bool, is_news: bool, now: Micros) -> bool {
        self.is_owed = differs && (is_news || self.is_owed);
        let may_log = self.last.is_none_or(|last| !(last..last + LOG_EVERY).contains(&now));
        let is_due = self.is_owed && may_log;
        if is_due {
            *self = Self { last: Some(now), is_owed: false };
        }
        is_due
    }
}

impl Stated {
    /// After a step of the clock back, too.
    fn is_due(&self, now: Micros) -> bool {
        now >= self.due || self.due > now + EVERY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::tests::in_child;

    const OURS: Terms = [10.0, 0.0, 0.0];
    const THEIRS: Terms = [4.0, 0.0, 0.0];

    #[test]
    fn terms_are_stated_when_they_change_and_now_and_then() {
        let stated = StatedTerms::default();
        let states: Vec<_> =
            [(OURS, 0), (OURS, 1), (THEIRS, 2), (OURS, 3), (OURS, EVERY + 2), (OURS, EVERY + 3), (OURS, 3)]
                .map(|(terms, now)| stated.states(1, terms, now))
                .into();
        assert_eq!(states, [true, false, true, true, false, true, true]);
        assert!(stated.states(2, OURS, 3), "another limit");
    }

    #[test]
    fn terms_of_others_are_looked_up_now_and_then() {
        let stated = StatedTerms::default();
        assert_eq!([0, 1].map(|now| stated.of(0, 1, now)), [None, None], "who calls has to ask");
        assert!(stated.heard(0, 1, (Some(THEIRS), OURS), 1));
        assert_eq!(stated.of(0, 1, 1), Some((Some(THEIRS), false)));
        assert_eq!(stated.of(1, 1, 1), None, "another region");
        let (due, then) = (EVERY + 1, 2 * EVERY);
        assert_eq!(stated.of(0, 1, due), Some((Some(THEIRS), true)), "they hold until they are heard anew");
        assert_eq!(stated.of(0, 1, then), Some((Some(THEIRS), false)), "asked already");
        assert!(!stated.heard(0, 1, (None, OURS), then));
        assert_eq!(stated.of(0, 1, then), Some((None, false)));
    }

    #[test]
    fn terms_that_differ_are_logged_when_they_change_and_once_a_minute() {
        let stated = StatedTerms::default();
        stated.of(0, 1, 0);
        let heard = |theirs, seconds| stated.heard(0, 1, (Some(theirs), OURS), seconds * 1_000_000);
        assert_eq!([heard(OURS, 0), heard(THEIRS, 10), heard(THEIRS, 80)], [false, true, false]);
        let flaps = |turn: Micros| heard(if turn % 2 == 0 { OURS } else { THEIRS }, turn * 10);
        let logged: Vec<_> = (10..30).filter(|turn| flaps(*turn)).collect();
        assert_eq!(logged, [11, 17, 23, 29]);
        let others = [5.0, 0.0, 0.0];
        assert_eq!([300, 340, 350, 420].map(|seconds| heard(others, seconds)), [false, false, true, false]);
    }

    #[test]
    fn what_was_lost_is_stated_and_asked_again_soon() {
        let stated = StatedTerms::default();
        assert!(stated.states(1, OURS, 0));
        stated.lost(None, 1);
        assert_eq!([SOON - 1, SOON].map(|now| stated.states(1, OURS, now)), [false, true]);
        stated.heard(0, 1, (Some(THEIRS), OURS), 0);
        stated.lost(Some(0), 1);
        assert_eq!(
            [SOON - 1, SOON].map(|now| stated.of(0, 1, now)),
            [false, true].map(|due| Some((Some(THEIRS), due)))
        );
        stated.lost(Some(3), 1);
        assert_eq!(stated.of(3, 1, 0), None);
        [0, 3].into_iter().for_each(|region| stated.refused(region, 1, SOON));
        let known = [0, 3].map(|region| stated.of(region, 1, EVERY));
        assert_eq!(known, [Some(THEIRS), None].map(|terms| Some((terms, false))), "asked again in a while");
    }

    #[test]
    fn a_forked_child_needs_no_lock_of_its_parent() {
        let stated = StatedTerms::default();
        let locked = stated.known();
        assert!(in_child(|| stated.states(1, OURS, 0) && stated.of(0, 1, 0).is_none()));
        drop(locked);
    }

    #[test]
    fn what_is_seldom_used_is_kept() {
        let (stated, minute) = (StatedTerms::default(), 60_000_000);
        (0..3).for_each(|region| assert!(stated.heard(region, 1, (Some(THEIRS), OURS), 0)));
        let is_full = |known: &Known| known.len() == known.capacity();
        assert!(is_full(&stated.known()), "there is room, and so nothing to be seen");
        (1..40).for_each(|turn| assert!(stated.states(turn, OURS, 30 * minute)));
        assert_eq!(stated.of(0, 1, 30 * minute), Some((Some(THEIRS), true)));
    }

    #[test]
    fn limits_that_are_gone_are_forgotten() {
        let stated = StatedTerms::default();
        for limit in 0..100_000 {
            let now = Micros::try_from(limit).unwrap() * KEPT / 100;
            assert!(stated.states(limit, OURS, now));
            stated.heard(0, limit, (Some(THEIRS), OURS), now);
        }
        assert!(stated.known().len() < 1_000, "{} are kept", stated.known().len());
    }
}
