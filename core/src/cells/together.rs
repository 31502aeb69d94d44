//! Several checks that are decided together, by what was borrowed and is remembered: all of them or none.

use smallvec::SmallVec;
use spin::mutex::SpinMutexGuard;

use super::denial::Now;
use super::lease::Spending;
use super::shard::{Held, SHARDS, Shard};
use super::table::{Cells, Table};
use crate::catalog::ReadyRule;
use crate::memory::Place;
use crate::plan::{Item, Plan, RawDecision};

/// What is said of each item, in their order; `None` of one that need not be asked about, as another one is denied.
pub(super) type Parts<'a> = SmallVec<[Option<RawDecision<'a>>; 4]>;

/// What a cell says of an item.
#[derive(Debug, Clone, Copy)]
enum Said<'a> {
    /// It has the units, or denies them as others use up the limit.
    Lease(Spending, RawDecision<'a>),
    Remembered(RawDecision<'a>),
    Nothing,
}

/// The shards that hold the cells of a call, locked in their order.
struct Locked<'a>([Option<SpinMutexGuard<'a, Shard>>; SHARDS]);

impl<'a> Locked<'a> {
    fn new<'b>(table: &'a Table, places: impl Iterator<Item = &'b Place<'b>>) -> Self {
        let mut needed = [false; SHARDS];
        places.for_each(|place| needed[Table::number_of_shard(place.hash)] = true);
        Self(std::array::from_fn(|at| needed[at].then(|| table.shards[at].lock())))
    }

    fn of(&mut self, place: &Place<'_>) -> Option<&mut Shard> {
        self.0[Table::number_of_shard(place.hash)].as_deref_mut()
    }
}

impl Cells {
    /// Decides a check of several items. `None`: the server has to be asked, and nothing is spent.
    pub(crate) fn decide<'a>(&self, plan: &'a Plan<'a>, clock: impl FnOnce() -> Now) -> Option<Parts<'a>> {
        if !may_decide(plan) {
            return None;
        }
        let table = self.table();
        let places: SmallVec<[_; 4]> = plan.items.iter().map(|item| table.place(plan, item)).collect();
        let mut locked = Locked::new(table, places.iter().flatten());
        let now = clock();
        let makes_cells = may_borrow(plan);
        let look = |(item, place): (&Item<'a>, &Option<Place<'_>>)| {
            let amount = item.charges.first().and_then(|&index| plan.charges[index].amount);
            let shard = place.as_ref().and_then(|place| Some((locked.of(place)?, place)));
            shard.map_or(Said::Nothing, |(shard, place)| {
                shard.say(place, (item.rule, item.cost, amount), now, makes_cells)
            })
        };
        let said: SmallVec<[Said<'a>; 4]> = plan.items.iter().zip(&places).map(look).collect();
        let is_denied = plan.items.iter().zip(&said).any(|(item, said)| said.denies(item));
        if !is_denied && !said.iter().all(Said::decides) {
            return None;
        }
        for ((item, place), said) in plan.items.iter().zip(&places).zip(&said) {
            if let (Said::Lease(spending, raw), Some(place)) = (said, place)
                && raw.allowed != is_denied
                && let Some(held) = locked.of(place).and_then(|shard| shard.find(place)?.lease.as_mut())
            {
                held.lease.note(*spending, (item.cost, raw.limit));
            }
        }
        Some(said.iter().map(Said::decision).collect())
    }
}

/// Whether what cells say of the items of a check is what the server would say: not where two are of one key, nor where a denial writes.
fn may_decide(plan: &Plan<'_>) -> bool {
    let writes = |item: &Item<'_>| item.rule.rule.count_denied || item.rule.rule.block.is_some();
    let charges: usize = plan.items.iter().map(|item| item.charges.len()).sum();
    let is_apart = charges == plan.charges.len() && plan.holders.is_empty() && plan.request.is_none();
    is_apart && !plan.items.iter().any(writes)
}

/// Whether units are borrowed for each item of a check: where one needs the server anyway, the others would be of no use.
pub(crate) fn may_borrow(plan: &Plan<'_>) -> bool {
    let is_stated = || plan.charges.iter().any(|charge| charge.amount.is_some());
    plan.items.iter().all(|item| item.rule.lease.is_some()) && !is_stated() && may_decide(plan)
}

impl Shard {
    /// What the cell of a key says of a check of this cost, with the limit that the call gave. Makes one for a key of which units are
    /// to be borrowed.
    fn say<'a>(
        &mut self,
        place: &Place<'_>,
        (rule, cost, amount): (&'a ReadyRule, u64, Option<u64>),
        now: Now,
        makes_cells: bool,
    ) -> Said<'a> {
        let Some(entry) = self.of_rule(place, &rule.rule) else {
            if makes_cells {
                self.insert(place, &rule.rule, (None, Some(Held::new(now.own))));
            }
            return Said::Nothing;
        };
        if makes_cells && entry.lease.is_none() {
            entry.lease = Some(Held::new(now.own));
        }
        let lease = entry.lease.as_mut().filter(|_| amount.is_none()).and_then(|held| {
            let (terms, limit) = (rule.lease.as_ref()?, rule.limits.first()?);
            let spending = held.lease.look(now.own, (cost, limit.policy.most()), terms);
            Some((spending, spending.decision(rule, limit)?))
        });
        let denied = || entry.denial.as_ref().and_then(|denial| denial.at(now, (cost, amount), rule));
        match lease {
            Some((spending, raw)) if raw.allowed => Said::Lease(spending, raw),
            lease => {
                let lease = lease.map_or(Said::Nothing, |(spending, raw)| Said::Lease(spending, raw));
                denied().map_or(lease, Said::Remembered)
            }
        }
    }
}

impl<'a> Said<'a> {
    fn decision(&self) -> Option<RawDecision<'a>> {
        match self {
            Self::Lease(_, raw) | Self::Remembered(raw) => Some(*raw),
            Self::Nothing => None,
        }
    }

    /// Whether it is known what becomes of the item where the others are admitted.
    fn decides(&self) -> bool {
        self.decision().is_some()
    }

    /// Whether all items are denied for this one.
    fn denies(&self, item: &Item<'_>) -> bool {
        !item.rule.rule.shadow && self.decision().is_some_and(|raw| !raw.allowed)
    }
}
