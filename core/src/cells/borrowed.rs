//! Units that a process asks its server for, is lent, and gives back.

use super::lease::Unspent;
use super::loans::Loan;
use super::shard::Returned;
use super::table::Cells;
use crate::algorithm::Micros;
use crate::plan::{Item, Plan};
use crate::regions::Deposit;
use crate::rules::LeaseTerms;
use crate::sequence::Borrower;

/// A request for units under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Of the cell.
    hash: u64,
    stamp: u64,
    terms: LeaseTerms,
    pub(crate) want: u64,
    pub(crate) sent_at: Micros,
}

impl Asked {
    /// How long units may be spent.
    pub(crate) fn age(&self) -> Micros {
        self.terms.max_age_us as Micros
    }
}

impl Cells {
    /// What to borrow for an item of a check that the server decides, or has decided, `now`; `None`: nothing.
    pub(crate) fn ask(&self, plan: &Plan<'_>, item: &Item<'_>, now: Micros) -> Option<Asked> {
        let [index] = *item.charges.as_slice() else { return None };
        let (charge, terms) = (&plan.charges[index], item.rule.lease?);
        if charge.amount.is_some() || plan.request.is_some() {
            return None;
        }
        let table = self.table();
        let place = table.places.of(charge.limit.number, &charge.tag);
        let mut shard = table.shard(&place).lock();
        let entry = shard.of_rule(&place, &item.rule.rule)?;
        let (hash, stamp) = (place.hash, entry.stamp);
        let want = entry.lease.as_mut()?.lease.ask(now, (item.cost, charge.policy.most()), &terms)?;
        Some(Asked { hash, stamp, terms, want, sent_at: now })
    }

    /// Keeps what the server has lent. Answers what is to be given back at once, and whether somebody has to begin to watch for
    /// the end of the rest.
    pub(crate) fn lent(
        &self,
        asked: &Asked,
        now: Micros,
        lent: &Deposit,
        lender: Borrower,
    ) -> (Option<Returned>, bool) {
        let whose = lender.clone();
        let unspent = self.deposit(asked, now, lent, lender);
        let begins = self.table().loans.lock().begins_watch();
        (unspent.map(|unspent| (whose, unspent)), begins)
    }

    fn deposit(&self, asked: &Asked, now: Micros, lent: &Deposit, lender: Borrower) -> Option<Unspent> {
        let &Asked { hash, stamp, ref terms, want, sent_at } = asked;
        let late = || {
            (lent.granted > 0.0)
                .then_some(Unspent { units: lent.granted as u64, granted_at: lent.granted_at })
        };
        let table = self.table();
        let mut shard = table.shard_of(hash).lock();
        // A key that was reset in the meantime has another cell, or none.
        let entry = shard.table.find_mut(hash, |entry| entry.stamp == stamp);
        let Some(held) = entry.and_then(|entry| entry.lease.as_mut()) else { return late() };
        let unspent = held.lease.deposit(now, (want, sent_at), lent, terms);
        held.lender = Some(lender);
        let is_new = lent.granted > 0.0 && !std::mem::replace(&mut held.is_listed, true);
        let valid_until = held.lease.valid_until();
        drop(shard);
        if is_new {
            table.loans.lock().add(Loan { valid_until, hash, stamp });
        }
        unspent
    }

    /// What was not spent in time, to be given back; with `None` for the time, all that was borrowed.
    pub(crate) fn ended(&self, now: Option<Micros>) -> Vec<Returned> {
        let table = self.table();
        let mut loans = table.loans.lock();
        let mut returned = Vec::new();
        while let Some(loan) = loans.take_ended(now) {
            let mut shard = table.shard_of(loan.hash).lock();
            returned.append(&mut shard.returned);
            let entry = shard.table.find_mut(loan.hash, |entry| entry.stamp == loan.stamp);
            let Some(held) = entry.and_then(|entry| entry.lease.as_mut()) else { continue };
            let valid_until = held.lease.valid_until();
            if now.is_some_and(|now| valid_until > now) {
                // More was lent since.
                loans.add(Loan { valid_until, ..loan });
                continue;
            }
            held.is_listed = false;
            returned.extend(held.end());
        }
        returned
    }

    /// Whether anything is lent. If not, nobody has to watch for its end any more.
    pub(crate) fn is_lent(&self) -> bool {
        self.table().loans.lock().are_watched()
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
}
