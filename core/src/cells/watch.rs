//! Calls under way that may change what is remembered.

use super::denial::Denial;
use super::table::Cells;
use crate::algorithm::Micros;
use crate::decision::Source;
use crate::plan::{Item, Op, Outcome, Plan, SmallList, gather};

/// A call under way that may change what is remembered. When it ends, also without an answer, its keys are forgotten, but
/// for those that were denied by themselves.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    cells: &'a Cells,
    plan: &'a Plan<'a>,
    sent_at: Micros,
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
    /// keys.
    pub(crate) fn watch<'a>(&'a self, plan: &'a Plan<'a>, op: Op, now: Micros) -> Option<Watch<'a>> {
        let is_known = |item: &Item<'_>| item.rule.remembers_denials;
        if !self.remembers() || op == Op::Peek || !plan.items.iter().any(is_known) {
            return None;
        }
        if op != Op::Check {
            self.forget(plan);
        }
        let is_remembered = op == Op::Check && plan.request.is_none();
        let answers = if is_remembered { self.answers(plan) } else { SmallList::new() };
        Some(Watch { cells: self, plan, sent_at: now, answers })
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
    /// Remembers what the server has denied, unless a call in between may have ended that.
    pub(crate) fn decided(mut self, outcomes: &[Outcome]) {
        for (at, item) in self.plan.items.iter().enumerate() {
            if self.remember(at, item, outcomes) {
                self.answers[at] = Answer::Remembered;
            }
        }
    }

    /// Remembers the denial of an item, if it is one: what another one was denied for says nothing of this.
    fn remember(&self, at: usize, item: &Item<'_>, outcomes: &[Outcome]) -> bool {
        let Some(&Answer::Awaited(forgotten)) = self.answers.get(at) else { return false };
        let charges = || item.charges.iter().map(|&index| &self.plan.charges[index]);
        // Two items of one key were asked for together.
        if charges().any(|charge| charge.cost != item.cost as f64) {
            return false;
        }
        let raw = self.plan.raw_decision(item, outcomes, Source::Server);
        let asked = (item.cost, charges().next().and_then(|charge| charge.amount));
        let denial = Denial::new(&raw, asked, self.sent_at, self.cells.age());
        let table = self.cells.table();
        let (Some(denial), Some(place)) = (denial, table.place(self.plan, item)) else { return false };
        let mut shard = table.shard(&place).lock();
        let is_valid = shard.forgotten(&place) == forgotten;
        if is_valid {
            shard.keep(&place, &item.rule.rule, denial);
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
