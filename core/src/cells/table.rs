//! What a process remembers and has borrowed: a cell for each rule and key.

use std::sync::Arc;

use super::denial::Denial;
use super::lease::{Spending, Unspent};
use super::shard::{Held, Returned, SHARDS, Shard};
use crate::algorithm::Micros;
use crate::catalog::{ReadyLimit, ReadyRule, SHARD_SHIFT};
use crate::decision::Source;
use crate::memory::{Lock, Place, Places};
use crate::plan::{Item, Op, Plan, RawDecision};
use crate::regions::Deposit;
use crate::rules::LeaseTerms;
use crate::sequence::Borrower;
use crate::sync::fork::PerProcess;

/// Remembers denials for some time at most, and keeps what was borrowed.
#[derive(Debug)]
pub(crate) struct Cells {
    table: PerProcess<Table>,
    /// The most age of a denial, in microseconds; 0: none is remembered.
    age: u64,
}

#[derive(Debug)]
struct Table {
    places: Places,
    shards: Box<[Lock<Shard>]>,
    lent: Lock<Lent>,
}

/// What was borrowed, and is to be given back when it ends.
#[derive(Debug, Default)]
struct Lent {
    loans: Vec<Loan>,
    /// Whether somebody looks for what has ended.
    is_watched: bool,
}

/// Where units are, and until when they may be spent.
#[derive(Debug)]
struct Loan {
    valid_until: Micros,
    hash: u64,
    stamp: u64,
}

impl Table {
    fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Lock::default()).collect();
        Self { places: Places::new(), shards, lent: Lock::default() }
    }

    #[inline(always)]
    fn shard(&self, place: &Place<'_>) -> &Lock<Shard> {
        self.shard_of(place.hash)
    }

    #[inline(always)]
    fn shard_of(&self, hash: u64) -> &Lock<Shard> {
        &self.shards[(hash >> SHARD_SHIFT) as usize % SHARDS]
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
        if !Arc::ptr_eq(&entry.rule, &rule.rule) {
            return None;
        }
        entry.denial?.at(clock(), (cost, amount), rule)
    }

    /// Decides a check by what was borrowed, or denies it by what is remembered. `None`: the server has to be asked.
    #[inline(always)]
    pub(crate) fn spend<'a>(
        &self,
        rule: &'a ReadyRule,
        terms: &LeaseTerms,
        name: &str,
        cost: u64,
        clock: impl FnOnce() -> Micros,
    ) -> Option<RawDecision<'a>> {
        let (table, limit) = (self.table(), rule.limits.first()?);
        let place = table.places.of(limit.number, name);
        let mut shard = table.shard(&place).lock();
        let now = clock();
        let Some(entry) = shard.of_rule(&place, &rule.rule) else {
            shard.insert(&place, &rule.rule, (None, Some(Held::new(now))));
            return None;
        };
        let most = limit.policy.most();
        let held = entry.lease.get_or_insert_with(|| Held::new(now));
        let spending = held.lease.spend(now, (cost, most), terms);
        if !matches!(spending, Spending::Spent { .. })
            && let Some(denied) = entry.denial.and_then(|denial| denial.at(now, (cost, None), rule))
        {
            return Some(denied);
        }
        spending.decision(rule, limit)
    }

    /// What to borrow with a check that the server decides, sent `now`; `None`: nothing.
    pub(crate) fn ask<'a>(&'a self, plan: &'a Plan<'a>, now: Micros) -> Option<Asked<'a>> {
        let ([charge], [item]) = (&*plan.charges, &*plan.items) else { return None };
        let (rule, terms) = (&item.rule.rule, item.rule.lease?);
        if charge.amount.is_some() || plan.request.is_some() {
            return None;
        }
        let table = self.table();
        let place = table.places.of(charge.limit.number, &charge.tag);
        let mut shard = table.shard(&place).lock();
        let entry = shard.of_rule(&place, rule)?;
        let stamp = entry.stamp;
        let want = entry.lease.as_mut()?.lease.ask(now, (item.cost, charge.policy.most()), &terms)?;
        drop(shard);
        Some(Asked { cells: self, place, stamp, terms, want, sent_at: now })
    }

    /// What was not spent in time, to be given back; with `None` for the time, all that was borrowed.
    pub(crate) fn ended(&self, now: Option<Micros>) -> Vec<Returned> {
        let table = self.table();
        let has_ended = |loan: &mut Loan| now.is_none_or(|now| loan.valid_until <= now);
        let loans: Vec<_> = table.lent.lock().loans.extract_if(.., has_ended).collect();
        let mut returned = Vec::new();
        for Loan { hash, stamp, valid_until } in loans {
            let mut shard = table.shard_of(hash).lock();
            returned.append(&mut shard.returned);
            // Units that were lent later have a loan of their own here.
            let entry = shard.table.find_mut(hash, |entry| entry.stamp == stamp);
            let held = entry.and_then(|entry| entry.lease.as_mut());
            let held = held.filter(|held| held.lease.valid_until() <= valid_until);
            returned.extend(held.and_then(|held| held.end()));
        }
        returned
    }

    /// Whether anything is lent. If not, nobody has to watch for its end any more.
    pub(crate) fn is_lent(&self) -> bool {
        let mut lent = self.table().lent.lock();
        lent.is_watched = !lent.loans.is_empty();
        lent.is_watched
    }

    /// Drops what was borrowed of the keys of a plan.
    pub(crate) fn drop_lent(&self, plan: &Plan<'_>) {
        let table = self.table();
        let lending = plan.items.iter().filter(|item| item.rule.lease.is_some());
        for place in lending.filter_map(|item| table.place(plan, item)) {
            let mut shard = table.shard(&place).lock();
            if let Ok(found) = shard.table.find_entry(place.hash, |entry| entry.is(&place)) {
                found.remove();
            }
        }
    }

    /// Begins to watch a call that a server is about to carry out, sent at `now`: `None` where nothing is remembered of its
    /// keys.
    pub(crate) fn watch<'a>(&'a self, plan: &'a Plan<'a>, op: Op, now: Micros) -> Option<Watch<'a>> {
        let is_known = |item: &Item<'_>| item.rule.remembers_denials;
        if self.age == 0 || op == Op::Peek || !plan.items.iter().any(is_known) {
            return None;
        }
        if op != Op::Check {
            self.forget(plan);
        }
        Some(Watch { cells: self, plan, sent_at: now, forgotten: self.forgotten(plan, op) })
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
    pub(super) const ENTRY: usize = size_of::<super::shard::Entry>();
}

impl Table {
    fn place<'a>(&self, plan: &'a Plan<'_>, item: &Item<'_>) -> Option<Place<'a>> {
        let charge = item.charges.first().and_then(|&index| plan.charges.get(index));
        // A change of what stands beside the states of a key charges nothing.
        let beside = || plan.recorded_keys.first().map(|key| &key.tag);
        let tag = charge.map(|charge| &charge.tag).or_else(beside)?;
        let number = item.rule.limits.first()?.number;
        let is_kept = item.rule.remembers_denials || item.rule.lease.is_some();
        is_kept.then(|| self.places.of(number, tag))
    }
}

/// A call under way that may change what is remembered. When it ends, also without an answer, its keys are forgotten, unless
/// it was denied alone.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    cells: &'a Cells,
    plan: &'a Plan<'a>,
    sent_at: Micros,
    /// How often the key had been forgotten when it was sent; `None`: its answer is not remembered.
    forgotten: Option<u32>,
}

impl Watch<'_> {
    /// Remembers the server's decision, if it is a denial, and no call in between may have ended it.
    pub(crate) fn decided(mut self, raw: &RawDecision<'_>) {
        let (cells, plan) = (self.cells, self.plan);
        let item = &plan.items[0];
        let asked = (item.cost, plan.charges[0].amount);
        let Some(denial) = Denial::new(raw, asked, self.sent_at, cells.age) else { return };
        let Some(forgotten) = self.forgotten.take() else { return };
        let table = cells.table();
        let Some(place) = table.place(plan, item) else { return };
        let mut shard = table.shard(&place).lock();
        if shard.forgotten(&place) == forgotten {
            shard.keep(&place, &item.rule.rule, denial);
            std::mem::forget(self);
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.cells.forget(self.plan);
    }
}

/// A request for units under way.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    cells: &'a Cells,
    place: Place<'a>,
    /// Of the cell.
    stamp: u64,
    terms: LeaseTerms,
    pub(crate) want: u64,
    pub(crate) sent_at: Micros,
}

impl Asked<'_> {
    /// How long units may be spent.
    pub(crate) fn age(&self) -> Micros {
        self.terms.max_age_us as Micros
    }

    /// Keeps what the server has lent. Answers what is to be given back at once, and whether somebody has to begin to watch for
    /// the end of the rest.
    pub(crate) fn lent(&self, now: Micros, lent: &Deposit, lender: Borrower) -> (Option<Returned>, bool) {
        let (table, whose) = (self.cells.table(), lender.clone());
        let unspent = self.deposit(now, lent, lender);
        let mut lent = table.lent.lock();
        let begins = !lent.loans.is_empty() && !std::mem::replace(&mut lent.is_watched, true);
        (unspent.map(|unspent| (whose, unspent)), begins)
    }

    fn deposit(&self, now: Micros, lent: &Deposit, lender: Borrower) -> Option<Unspent> {
        let late = || {
            (lent.granted > 0.0)
                .then_some(Unspent { units: lent.granted as u64, granted_at: lent.granted_at })
        };
        let table = self.cells.table();
        let mut shard = table.shard(&self.place).lock();
        // A key that was reset in the meantime has another cell, or none.
        let entry = shard.find(&self.place).filter(|entry| entry.stamp == self.stamp);
        let Some(held) = entry.and_then(|entry| entry.lease.as_mut()) else { return late() };
        let unspent = held.lease.deposit(now, (self.want, self.sent_at), lent, &self.terms);
        held.lender = Some(lender);
        let valid_until = held.lease.valid_until();
        drop(shard);
        if lent.granted > 0.0 {
            table.lent.lock().loans.push(Loan { valid_until, hash: self.place.hash, stamp: self.stamp });
        }
        unspent
    }
}

impl Spending {
    /// `None`: the server decides.
    #[inline(always)]
    fn decision<'a>(self, rule: &'a ReadyRule, limit: &ReadyLimit) -> Option<RawDecision<'a>> {
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
