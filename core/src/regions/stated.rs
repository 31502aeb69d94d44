//! On which terms regions decide: where they differ, those of the region in charge of a key apply.

use std::mem::{replace, take};
use std::sync::{Arc, MutexGuard};

use hashbrown::HashMap;

use crate::algorithm::{Micros, Terms};
use crate::catalog::LimitNumber;
use crate::error::{Error, Result};
use crate::sync::awaited::Awaited;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// What is stated is stated again, and looked up again, after this time: a server may have lost it, another process may
/// have stated something else.
const EVERY: Micros = 10_000_000;

/// After this time where the answer was lost.
const SOON: Micros = 1_000_000;

/// How often the log says that the terms of a region differ.
const LOG_EVERY: Micros = 60_000_000;

/// What this process has stated of its own region at [`None`], and what it has heard of others, by their places.
#[derive(Debug)]
pub(crate) struct StatedTerms(PerProcess<Mutex<Known>>);

type Known = HashMap<(Option<usize>, LimitNumber), Stated>;

/// The first answer of a region: the terms that it has stated, if any, or why it cannot be asked.
pub(crate) type FirstTerms = Awaited<Result<Option<Terms>>>;

#[derive(Debug)]
struct Stated {
    terms: KnownTerms,
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

/// What is known of the terms of a region.
#[derive(Debug, Clone)]
pub(crate) enum KnownTerms {
    /// What it has stated, if anything.
    Heard(Option<Terms>),
    /// It has not answered yet.
    Awaited(Arc<FirstTerms>),
}

impl Default for KnownTerms {
    fn default() -> Self {
        Self::Awaited(Arc::default())
    }
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
        let before = known.get(&(None, limit));
        if before.is_some_and(|before| before.is_stated(terms) && !before.is_due(now)) {
            return false;
        }
        make_room(&mut known, now);
        let heard = KnownTerms::Heard(Some(terms));
        known.insert((None, limit), Stated { terms: heard, due: now + EVERY, log: DifferenceLog::default() });
        true
    }

    /// The terms of another region, and whether to look them up now.
    #[inline]
    pub(crate) fn of(&self, region: usize, limit: LimitNumber, now: Micros) -> (KnownTerms, bool) {
        let mut known = self.known();
        make_room(&mut known, now);
        let fresh = || Stated { terms: KnownTerms::default(), due: now, log: DifferenceLog::default() };
        let known = known.entry((Some(region), limit)).or_insert_with(fresh);
        let is_due = known.is_due(now);
        if is_due {
            known.due = now + EVERY;
        }
        (known.terms.clone(), is_due)
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
        let Some(stated) = known.get_mut(&(Some(region), limit)) else { return false };
        let before = replace(&mut stated.terms, KnownTerms::Heard(theirs));
        let is_news = !matches!(before, KnownTerms::Heard(before) if before == theirs);
        let is_to_be_logged = stated.log.is_due(theirs.is_some_and(|theirs| theirs != own), is_news, now);
        drop(known);
        if let KnownTerms::Awaited(awaited) = before {
            awaited.answer(Ok(theirs));
        }
        is_to_be_logged
    }

    /// Takes note that nothing came of what was asked of a region, or stated of the own one. Who has waited for the first
    /// answer has none; the next call asks anew. By a region that is there and cannot say, the own terms apply.
    pub(crate) fn lost(&self, region: Option<usize>, limit: LimitNumber, error: &Error) {
        let mut known = self.known();
        let Some(stated) = known.get_mut(&(region, limit)) else { return };
        stated.due -= EVERY - SOON;
        let KnownTerms::Awaited(awaited) = &mut stated.terms else { return };
        let awaited = take(awaited);
        let answer = if error.is_undecided() {
            stated.due -= SOON;
            Err(error.clone())
        } else {
            stated.terms = KnownTerms::Heard(None);
            Ok(None)
        };
        drop(known);
        awaited.answer(answer);
    }
}

/// Before it would grow, it forgets what nobody has used for long, such as limits that are gone.
fn make_room(known: &mut Known, now: Micros) {
    if known.len() == known.capacity() {
        let is_gone = |stated: &Stated| stated.is_due(now) && stated.is_due(now - EVERY);
        known.retain(|_, stated| stated.is_waited_for() || !is_gone(stated));
    }
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

    fn is_stated(&self, terms: Terms) -> bool {
        matches!(self.terms, KnownTerms::Heard(Some(stated)) if stated == terms)
    }

    fn is_waited_for(&self) -> bool {
        matches!(&self.terms, KnownTerms::Awaited(awaited) if Arc::strong_count(awaited) > 1)
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::error::ErrorKind;
    use crate::redis::tests::in_child;

    const OURS: Terms = [10.0, 0.0, 0.0];
    const THEIRS: Terms = [4.0, 0.0, 0.0];

    /// What is known of a region, if it has answered, and whether to look it up.
    fn of(stated: &StatedTerms, region: usize, now: Micros) -> (Option<Option<Terms>>, bool) {
        match stated.of(region, 1, now) {
            (KnownTerms::Heard(terms), is_due) => (Some(terms), is_due),
            (KnownTerms::Awaited(_), is_due) => (None, is_due),
        }
    }

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
        assert_eq!(of(&stated, 0, 0), (None, true));
        assert_eq!(of(&stated, 0, 1), (None, false), "asked already");
        assert!(stated.heard(0, 1, (Some(THEIRS), OURS), 1));
        assert_eq!(of(&stated, 0, 1), (Some(Some(THEIRS)), false));
        assert_eq!(of(&stated, 1, 1), (None, true), "another region");
        assert_eq!(of(&stated, 0, EVERY), (Some(Some(THEIRS)), true), "they hold until they are heard anew");
        assert!(!stated.heard(0, 1, (None, OURS), EVERY));
        assert_eq!(of(&stated, 0, EVERY), (Some(None), false));
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
        let (stated, error) = (StatedTerms::default(), Error::new(ErrorKind::Timeout, "no answer"));
        assert!(stated.states(1, OURS, 0));
        stated.lost(None, 1, &error);
        assert_eq!([SOON - 1, SOON].map(|now| stated.states(1, OURS, now)), [false, true]);
        assert!(stated.of(0, 1, 0).1);
        stated.heard(0, 1, (Some(THEIRS), OURS), 0);
        stated.lost(Some(0), 1, &error);
        assert_eq!([SOON - 1, SOON].map(|now| of(&stated, 0, now).1), [false, true]);
        stated.lost(Some(3), 1, &error);
    }

    /// What those who have waited for the first answer are told.
    fn told(error: Option<&Error>) -> (Vec<Poll<Result<Option<Terms>>>>, StatedTerms) {
        let stated = StatedTerms::default();
        let waiting = [0, 1, 2].map(|now| stated.of(0, 1, now));
        assert_eq!(waiting.each_ref().map(|(_, is_due)| *is_due), [true, false, false], "one asks for all");
        match error {
            Some(error) => stated.lost(Some(0), 1, error),
            None => drop(stated.heard(0, 1, (Some(THEIRS), OURS), 0)),
        }
        let told = waiting.map(|(known, _)| match known {
            KnownTerms::Awaited(awaited) => awaited.poll(&Context::from_waker(Waker::noop())),
            KnownTerms::Heard(_) => panic!("nothing was heard"),
        });
        (told.into(), stated)
    }

    #[test]
    fn all_who_wait_hear_the_first_answer() {
        let (heard, stated) = told(None);
        assert_eq!(heard, vec![Poll::Ready(Ok(Some(THEIRS))); 3]);
        assert_eq!(of(&stated, 0, 3), (Some(Some(THEIRS)), false));
    }

    #[test]
    fn where_a_region_cannot_be_asked_the_next_call_asks_again() {
        let error = Error::new(ErrorKind::Timeout, "no answer");
        let (heard, stated) = told(Some(&error));
        assert_eq!(heard, vec![Poll::Ready(Err(error)); 3]);
        assert_eq!(of(&stated, 0, 3), (None, true));
    }

    #[test]
    fn by_a_region_that_cannot_say_the_own_terms_apply() {
        let (heard, stated) = told(Some(&Error::new(ErrorKind::Server, "NOPERM")));
        assert_eq!(heard, vec![Poll::Ready(Ok(None)); 3]);
        assert_eq!(
            [SOON - 1, SOON].map(|now| of(&stated, 0, now)),
            [(Some(None), false), (Some(None), true)]
        );
    }

    #[test]
    fn a_forked_child_needs_no_lock_of_its_parent() {
        let stated = StatedTerms::default();
        let locked = stated.known();
        assert!(in_child(|| stated.states(1, OURS, 0) && stated.of(0, 1, 0).1));
        drop(locked);
    }

    #[test]
    fn limits_that_are_gone_are_forgotten() {
        let stated = StatedTerms::default();
        let awaited = stated.of(7, 7, 0).0;
        for limit in 0..100_000 {
            let now = Micros::try_from(limit).unwrap() * 1_000_000;
            assert!(stated.states(limit, OURS, now) && stated.of(0, limit, now).1);
        }
        assert!(stated.known().len() < 200, "{} are kept", stated.known().len());
        stated.heard(7, 7, (None, OURS), 0);
        let KnownTerms::Awaited(awaited) = awaited else { panic!("nothing was heard") };
        assert!(awaited.poll(&Context::from_waker(Waker::noop())).is_ready(), "what is waited for is kept");
    }
}
