//! The denials that a process remembers, one for each rule and key.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashTable;

use super::denial::Denial;
use crate::algorithm::Micros;
use crate::catalog::{LimitNumber, ReadyRule, SHARD_SHIFT};
use crate::keys::key::is_same;
use crate::memory::{Lock, Place, Places};
use crate::plan::{Item, Op, Plan, RawDecision};
use crate::rules::Rule;
use crate::sync::fork::PerProcess;

const SHARDS: usize = 16;
/// How many denials are kept; the oldest goes.
const MOST: usize = 10_000;
const MOST_OF_SHARD: usize = MOST / SHARDS;
/// So many groups of keys in a shard are told apart when one of them is forgotten.
const GROUPS: usize = 64;

/// Remembers denials for some time at most.
#[derive(Debug)]
pub(crate) struct Denials {
    table: PerProcess<Table>,
    /// The most age, in microseconds.
    age: u64,
}

#[derive(Debug)]
struct Table {
    places: Places,
    shards: Box<[Lock<Shard>]>,
}

#[derive(Debug, Default)]
struct Shard {
    table: HashTable<Entry>,
    /// The entries in the order in which they were made, by hash and stamp; some are gone.
    order: VecDeque<(u64, u64)>,
    stamps: u64,
    /// How often keys of each group were forgotten: an answer to a call that was sent before is not remembered.
    forgotten: Box<[u32]>,
}

#[derive(Debug)]
struct Entry {
    hash: u64,
    stamp: u64,
    number: LimitNumber,
    name: Box<str>,
    /// The rule that decided: another one of the same name is not it.
    rule: Arc<Rule>,
    /// The limit that the call gave.
    amount: Option<u64>,
    denial: Denial,
}

impl Entry {
    #[inline(always)]
    fn is(&self, place: &Place<'_>) -> bool {
        self.number == place.limit && is_same(self.name.as_bytes(), place.name.as_bytes())
    }
}

impl Table {
    fn new() -> Self {
        Self { places: Places::new(), shards: (0..SHARDS).map(|_| Lock::default()).collect() }
    }

    #[inline(always)]
    fn shard(&self, place: &Place<'_>) -> &Lock<Shard> {
        &self.shards[(place.hash >> SHARD_SHIFT) as usize % SHARDS]
    }
}

#[inline(always)]
fn group(place: &Place<'_>) -> usize {
    (place.hash >> 8) as usize % GROUPS
}

impl Shard {
    fn forgotten(&self, place: &Place<'_>) -> u32 {
        self.forgotten.get(group(place)).copied().unwrap_or(0)
    }

    fn forget(&mut self, place: &Place<'_>) {
        if self.forgotten.is_empty() {
            self.forgotten = vec![0; GROUPS].into();
        }
        let forgotten = &mut self.forgotten[group(place)];
        *forgotten = forgotten.wrapping_add(1);
        self.remove(place);
    }

    fn remove(&mut self, place: &Place<'_>) {
        if let Ok(found) = self.table.find_entry(place.hash, |entry| entry.is(place)) {
            found.remove();
        }
    }

    fn keep(&mut self, place: &Place<'_>, rule: &Arc<Rule>, amount: Option<u64>, denial: Denial) {
        self.remove(place);
        let (stamp, hash) = (self.stamps, place.hash);
        self.stamps += 1;
        if self.table.len() == MOST_OF_SHARD {
            self.forget_oldest();
        }
        let (number, name, rule) = (place.limit, place.name.into(), Arc::clone(rule));
        let entry = Entry { hash, stamp, number, name, rule, amount, denial };
        self.table.insert_unique(hash, entry, |entry| entry.hash);
        if self.order.len() == 2 * MOST_OF_SHARD {
            let table = &self.table;
            self.order.retain(|&(hash, stamp)| table.find(hash, |entry| entry.stamp == stamp).is_some());
        }
        self.order.push_back((hash, stamp));
    }

    fn forget_oldest(&mut self) {
        while let Some((hash, stamp)) = self.order.pop_front() {
            if let Ok(found) = self.table.find_entry(hash, |entry| entry.stamp == stamp) {
                found.remove();
                return;
            }
        }
    }
}

impl Denials {
    /// `age`: how long a denial is remembered at most, in microseconds.
    pub(crate) fn new(age: u64) -> Self {
        Self { table: PerProcess::new(Table::new()), age }
    }

    /// A forked child begins with nothing: the parent's table may have been in the hands of a thread that does not exist in
    /// the child.
    #[inline(always)]
    fn table(&self) -> &Table {
        self.table.get(|_| Table::new())
    }

    /// Denies a check by what is remembered.
    #[inline(always)]
    pub(crate) fn find<'a>(
        &self,
        rule: &'a ReadyRule,
        name: &str,
        (cost, amount): (u64, Option<u64>),
        clock: impl FnOnce() -> Micros,
    ) -> Option<RawDecision<'a>> {
        let table = self.table();
        let place = table.places.of(rule.limits.first()?.number, name);
        let shard = table.shard(&place).lock();
        let entry = shard.table.find(place.hash, |entry| entry.is(&place))?;
        if entry.amount != amount || !Arc::ptr_eq(&entry.rule, &rule.rule) {
            return None;
        }
        entry.denial.at(clock(), cost, rule)
    }

    /// Begins to watch a call that a server is about to carry out, sent at `now`: `None` where nothing is remembered of its
    /// keys.
    pub(crate) fn watch<'a>(&'a self, plan: &'a Plan<'a>, op: Op, now: Micros) -> Option<Watch<'a>> {
        let is_known = |item: &Item<'_>| item.rule.remembers_denials;
        if op == Op::Peek || !plan.items.iter().any(is_known) {
            return None;
        }
        if op != Op::Check {
            self.forget(plan);
        }
        Some(Watch { denials: self, plan, sent_at: now, forgotten: self.forgotten(plan, op) })
    }

    /// How often the key of a check that is alone was forgotten.
    fn forgotten(&self, plan: &Plan<'_>, op: Op) -> Option<u32> {
        let is_alone = op == Op::Check && plan.items.len() == 1 && plan.request.is_none();
        let table = self.table();
        let place = table.place(plan, &plan.items[0]).filter(|_| is_alone)?;
        let forgotten = table.shard(&place).lock().forgotten(&place);
        Some(forgotten)
    }

    /// Forgets the keys of a plan, and what calls under way will say of them.
    pub(crate) fn forget(&self, plan: &Plan<'_>) {
        let table = self.table();
        for place in plan.items.iter().filter_map(|item| table.place(plan, item)) {
            table.shard(&place).lock().forget(&place);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table().shards.iter().map(|shard| shard.lock().table.len()).sum()
    }

    /// The bytes of an entry without its name.
    #[cfg(test)]
    pub(super) const ENTRY: usize = size_of::<Entry>();
}

impl Table {
    fn place<'a>(&self, plan: &'a Plan<'_>, item: &Item<'_>) -> Option<Place<'a>> {
        let charge = item.charges.first().and_then(|&index| plan.charges.get(index));
        // A change of what stands beside the states of a key charges nothing.
        let beside = || plan.recorded_keys.first().map(|key| &key.tag);
        let tag = charge.map(|charge| &charge.tag).or_else(beside)?;
        let number = item.rule.limits.first()?.number;
        item.rule.remembers_denials.then(|| self.places.of(number, tag))
    }
}

/// A call under way that may change what is remembered. When it ends, also without an answer, its keys are forgotten, unless
/// it was denied alone.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    denials: &'a Denials,
    plan: &'a Plan<'a>,
    sent_at: Micros,
    /// How often the key had been forgotten when it was sent; `None`: its answer is not remembered.
    forgotten: Option<u32>,
}

impl Watch<'_> {
    /// Remembers the server's decision, if it is a denial, and no call in between may have ended it.
    pub(crate) fn decided(mut self, raw: &RawDecision<'_>) {
        let (denials, plan) = (self.denials, self.plan);
        let item = &plan.items[0];
        let Some(denial) = Denial::new(raw, item.cost, self.sent_at, denials.age) else { return };
        let Some(forgotten) = self.forgotten.take() else { return };
        let table = denials.table();
        let Some(place) = table.place(plan, item) else { return };
        let mut shard = table.shard(&place).lock();
        if shard.forgotten(&place) == forgotten {
            shard.keep(&place, &item.rule.rule, plan.charges[0].amount, denial);
            std::mem::forget(self);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.denials.forget(self.plan);
    }
}
