//! What a process remembers and has borrowed: a cell for each rule and key.

use std::sync::Arc;

use super::denial::Now;
use super::lease::Spending;
use super::loans::Loans;
use super::shard::{Held, SHARDS, Shard};
use crate::catalog::{ReadyLimit, ReadyRule, SHARD_SHIFT};
use crate::decision::Source;
use crate::memory::{Lock, Place, Places};
use crate::plan::{Item, Plan, RawDecision};
use crate::rules::LeaseTerms;
use crate::sync::fork::PerProcess;

/// Remembers denials for some time at most, and keeps what was borrowed.
#[derive(Debug)]
pub(crate) struct Cells {
    table: PerProcess<Table>,
    /// The most age of a denial, in microseconds; 0: none is remembered.
    age: u64,
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) places: Places,
    pub(super) shards: Box<[Lock<Shard>]>,
    pub(super) loans: Lock<Loans>,
}

impl Table {
    fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Lock::default()).collect();
        Self { places: Places::new(), shards, loans: Lock::default() }
    }

    #[inline(always)]
    pub(super) fn shard(&self, place: &Place<'_>) -> &Lock<Shard> {
        self.shard_of(place.hash)
    }

    #[inline(always)]
    pub(super) fn shard_of(&self, hash: u64) -> &Lock<Shard> {
        &self.shards[Self::number_of_shard(hash)]
    }

    #[inline(always)]
    pub(super) fn number_of_shard(hash: u64) -> usize {
        (hash >> SHARD_SHIFT) as usize % SHARDS
    }

    /// The place of an item; `None` where nothing is kept of it.
    pub(super) fn place<'a>(&self, plan: &'a Plan<'_>, item: &Item<'_>) -> Option<Place<'a>> {
        let charge = item.charges.first().and_then(|&index| plan.charges.get(index));
        // A change of what stands beside the states of a key charges nothing.
        let beside = || plan.recorded_keys.first().map(|key| &key.tag);
        let tag = charge.map(|charge| &charge.tag).or_else(beside)?;
        let number = item.rule.limits.first()?.number;
        let is_kept = item.rule.remembers_denials || item.rule.lease.is_some();
        is_kept.then(|| self.places.of(number, tag))
    }
}

impl Cells {
    /// `age`: how long a denial is remembered at most, in microseconds; 0: not at all.
    pub(crate) fn new(age: u64) -> Self {
        Self { table: PerProcess::new(Table::new()), age }
    }

    pub(crate) fn remembers(&self) -> bool {
        self.age > 0
    }

    pub(super) fn age(&self) -> u64 {
        self.age
    }

    /// A forked child begins with nothing: the parent's table may have been in the hands of a thread that does not exist in
    /// the child.
    #[inline(always)]
    pub(super) fn table(&self) -> &Table {
        self.table.get(|_| Table::new())
    }

    /// Denies a check by what is remembered.
    #[inline(always)]
    pub(crate) fn find<'a>(
        &self,
        rule: &'a ReadyRule,
        name: &str,
        (cost, amount): (u64, Option<u64>),
        clock: impl FnOnce() -> Now,
    ) -> Option<RawDecision<'a>> {
        let table = self.table();
        let place = table.places.of(rule.limits.first()?.number, name);
        let shard = table.shard(&place).lock();
        let entry = shard.table.find(place.hash, |entry| entry.is(&place))?;
        if !Arc::ptr_eq(&entry.rule, &rule.rule) {
            return None;
        }
        entry.denial.as_ref()?.at(clock(), (cost, amount), rule)
    }

    /// Decides a check by what was borrowed, or denies it by what is remembered. `None`: the server has to be asked.
    #[inline(always)]
    pub(crate) fn spend<'a>(
        &self,
        rule: &'a ReadyRule,
        terms: &LeaseTerms,
        name: &str,
        cost: u64,
        clock: impl FnOnce() -> Now,
    ) -> Option<RawDecision<'a>> {
        let (table, limit) = (self.table(), rule.limits.first()?);
        let place = table.places.of(limit.number, name);
        let mut shard = table.shard(&place).lock();
        let now = clock();
        let Some(entry) = shard.of_rule(&place, &rule.rule) else {
            shard.insert(&place, &rule.rule, (None, Some(Held::new(now.own))));
            return None;
        };
        let most = limit.policy.most();
        let held = entry.lease.get_or_insert_with(|| Held::new(now.own));
        let spending = held.lease.spend(now.own, (cost, most), terms);
        if !matches!(spending, Spending::Spent { .. })
            && let Some(denied) = entry.denial.as_ref().and_then(|denial| denial.at(now, (cost, None), rule))
        {
            return Some(denied);
        }
        spending.decision(rule, limit)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.table().shards.iter().map(|shard| shard.lock().table.len()).sum()
    }

    #[cfg(test)]
    pub(super) fn loans(&self) -> usize {
        self.table().loans.lock().len()
    }

    /// The bytes of an entry without its name.
    #[cfg(test)]
    pub(super) const ENTRY: usize = size_of::<super::shard::Entry>();
}

impl Spending {
    /// `None`: the server decides.
    #[inline(always)]
    pub(super) fn decision<'a>(self, rule: &'a ReadyRule, limit: &ReadyLimit) -> Option<RawDecision<'a>> {
        let (allowed, remaining, retry_after, fresh_after) = match self {
            Self::Spent { left, fresh_after } => (true, left, 0, fresh_after),
            Self::Denied { left, retry_after, fresh_after } => (false, left, retry_after, fresh_after),
            Self::Elsewhere => return None,
        };
        Some(RawDecision {
            rule: &rule.rule.id,
            limit: limit.policy.most(),
            window_us: limit.policy.window().unsigned_abs(),
            remaining,
            retry_after_us: retry_after.unsigned_abs(),
            reset_after_us: fresh_after.max(1).unsigned_abs(),
            source: Source::Lease,
            shadow: false,
            shadow_denied: false,
            blocked: false,
            replicated: false,
            allowed,
        })
    }
}
