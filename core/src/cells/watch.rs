//! Calls under way that may change what is remembered.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::denial::{Ages, Denial};
use super::table::Cells;
use crate::algorithm::Micros;
use crate::decision::Source;
use crate::plan::{Item, Op, Outcome, Plan, SmallList, gather};
use crate::tracking::Registration;

/// A call under way that may change what is remembered. When it ends, also without an answer, its keys are forgotten, but
/// for those that were denied by themselves.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    cells: &'a Cells,
    plan: &'a Plan<'a>,
    sent_at: Micros,
    ages: Ages,
    /// By which the server is to watch the key of the only item.
    registration: Option<Arc<Registration>>,
    /// One for each item of a check; empty where no answer is remembered.
    answers: SmallList<Answer>,
}

/// What becomes of the answer about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    NotRemembered,
    /// How often the key had been forgotten when the call was sent.
    Awaited(u32),
    Remembered,
}

impl Cells {
    /// Begins to watch a call that a server is about to carry out, sent at `now`: `None` where nothing is remembered of its
    /// keys. `is_tracking`: the server may be asked to watch keys.
    pub(crate) fn watch<'a>(
        &'a self,
        plan: &'a Plan<'a>,
        op: Op,
        now: impl FnOnce() -> Micros,
        is_tracking: bool,
    ) -> Option<Watch<'a>> {
        let is_known = |item: &Item<'_>| item.rule.remembers_denials;
        if !self.remembers() || op == Op::Peek || !plan.items.iter().any(is_known) {
            return None;
        }
        let now = now();
        if op != Op::Check {
            self.forget(plan);
        }
        let is_remembered = op == Op::Check && plan.request.is_none();
        let answers = if is_remembered { self.answers(plan) } else { SmallList::new() };
        let ages = Ages { longest: self.age(), is_tracking };
        let is_asked = is_remembered && is_tracking && self.asks(plan, now);
        let registration = is_asked.then(|| Registration::new(Duration::from_micros(ages.longest)));
        Some(Watch { cells: self, plan, sent_at: now, ages, registration, answers })
    }

    /// Whether the server is to watch the key of a check: of several, one that is admitted may be among them.
    fn asks(&self, plan: &Plan<'_>, now: Micros) -> bool {
        let [item] = &*plan.items else { return false };
        let amount = item.charges.first().and_then(|&index| plan.charges[index].amount);
        let table = self.table();
        let Some(place) = table.place(plan, item) else { return false };
        let mut shard = table.shard(&place).lock();
        let denial = shard.of_rule(&place, &item.rule.rule).and_then(|entry| entry.denial.as_mut());
        denial.is_some_and(|denial| denial.asks(now, (item.cost, amount)))
    }

    fn answers(&self, plan: &Plan<'_>) -> SmallList<Answer> {
        let table = self.table();
        let answer = |item: &Item<'_>| {
            let place = table.place(plan, item).filter(|_| item.rule.remembers_denials);
            place.map_or(Answer::NotRemembered, |place| {
                Answer::Awaited(table.shard(&place).lock().forgotten(&place))
            })
        };
        gather(plan.items.iter().map(answer))
    }

    /// Forgets the keys of a plan, and what calls under way will say of them.
    pub(crate) fn forget(&self, plan: &Plan<'_>) {
        plan.items.iter().for_each(|item| self.forget_item(plan, item));
    }

    fn forget_item(&self, plan: &Plan<'_>, item: &Item<'_>) {
        let table = self.table();
        if let Some(place) = table.place(plan, item) {
            table.shard(&place).lock().forget(&place);
        }
    }
}

impl Watch<'_> {
    /// By which the server is to watch the keys of the call.
    pub(crate) fn registration(&self) -> Option<Arc<Registration>> {
        self.registration.clone()
    }

    /// Remembers what the server has denied, unless a call in between may have ended that.
    pub(crate) fn decided(mut self, outcomes: &[Outcome], now: Instant) {
        for (at, item) in self.plan.items.iter().enumerate() {
            if self.remember(at, item, outcomes, now) {
                self.answers[at] = Answer::Remembered;
            }
        }
    }

    /// Remembers the denial of an item, if it is one: what another one was denied for says nothing of this.
    fn remember(&self, at: usize, item: &Item<'_>, outcomes: &[Outcome], now: Instant) -> bool {
        let Some(&Answer::Awaited(forgotten)) = self.answers.get(at) else { return false };
        let charges = || item.charges.iter().map(|&index| &self.plan.charges[index]);
        // Two items of one key were asked for together.
        if charges().any(|charge| charge.cost != item.cost as f64) {
            return false;
        }
        let raw = self.plan.raw_decision(item, outcomes, Source::Server);
        let asked = (item.cost, charges().next().and_then(|charge| charge.amount));
        // A server announces that a stored limit has ended when it comes to that, which may take minutes.
        let ends = item.charges.iter().any(|&index| outcomes[index].stored_ends);
        let registration = self.registration().filter(|_| !ends);
        let denial = Denial::new(&raw, asked, self.sent_at, (self.ages, registration));
        let table = self.cells.table();
        let (Some(denial), Some(place)) = (denial, table.place(self.plan, item)) else { return false };
        let mut shard = table.shard(&place).lock();
        let is_valid = shard.forgotten(&place) == forgotten;
        if is_valid {
            shard.keep(&place, &item.rule.rule, denial, now);
        }
        is_valid
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        for (at, item) in self.plan.items.iter().enumerate() {
            if self.answers.get(at) != Some(&Answer::Remembered) {
                self.cells.forget_item(self.plan, item);
            }
        }
    }
}
