//! A part of the cells of a process, under one lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hashbrown::HashTable;

use super::denial::Denial;
use super::lease::{Lease, Unspent};
use crate::algorithm::Micros;
use crate::catalog::LimitNumber;
use crate::keys::key::is_same;
use crate::memory::Place;
use crate::rules::Rule;
use crate::sequence::Borrower;

pub(super) const SHARDS: usize = 16;
/// How many cells are kept; the oldest goes.
const MOST: usize = 10_000;
const MOST_OF_SHARD: usize = MOST / SHARDS;
/// So many groups of keys in a shard are told apart when one of them is forgotten.
const GROUPS: usize = 64;

/// Units that are to be given back, and by whom.
pub(crate) type Returned = (Borrower, Unspent);

#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) table: HashTable<Entry>,
    /// The entries in the order in which they were made, by hash and stamp; some are gone.
    order: VecDeque<(u64, u64)>,
    stamps: u64,
    /// Units of cells that had to go.
    pub(super) returned: Vec<Returned>,
    /// How often keys of each group were forgotten: an answer to a call that was sent before is not remembered.
    forgotten: Box<[u32]>,
}

#[derive(Debug)]
pub(super) struct Entry {
    hash: u64,
    pub(super) stamp: u64,
    number: LimitNumber,
    name: Box<str>,
    /// The rule that decided: another one of the same name is not it.
    pub(super) rule: Arc<Rule>,
    pub(super) denial: Option<Denial>,
    pub(super) lease: Option<Box<Held>>,
}

/// What a cell has borrowed, and of whom.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) lender: Option<Borrower>,
    /// Whether it is among the [loans](super::loans) whose ends are watched.
    pub(super) is_listed: bool,
}

impl Held {
    pub(super) fn new(now: Micros) -> Box<Self> {
        Box::new(Self { lease: Lease::new(now), lender: None, is_listed: false })
    }

    /// Takes back what is not spent.
    pub(super) fn end(&mut self) -> Option<Returned> {
        let unspent = self.lease.end()?;
        self.lender.clone().map(|lender| (lender, unspent))
    }
}

impl Entry {
    fn end(self) -> Option<Returned> {
        self.lease?.end()
    }

    #[inline(always)]
    pub(super) fn is(&self, place: &Place<'_>) -> bool {
        self.number == place.limit && is_same(self.name.as_bytes(), place.name.as_bytes())
    }
}

#[inline(always)]
fn group(place: &Place<'_>) -> usize {
    (place.hash >> 8) as usize % GROUPS
}

impl Shard {
    pub(super) fn forgotten(&self, place: &Place<'_>) -> u32 {
        self.forgotten.get(group(place)).copied().unwrap_or(0)
    }

    pub(super) fn forget(&mut self, place: &Place<'_>) {
        if self.forgotten.is_empty() {
            self.forgotten = vec![0; GROUPS].into();
        }
        let forgotten = &mut self.forgotten[group(place)];
        *forgotten = forgotten.wrapping_add(1);
        self.remove(place);
    }

    /// Removes the denial, and the cell if there is nothing else in it.
    fn remove(&mut self, place: &Place<'_>) {
        if let Ok(mut found) = self.table.find_entry(place.hash, |entry| entry.is(place)) {
            found.get_mut().denial = None;
            if found.get().lease.is_none() {
                found.remove();
            }
        }
    }

    #[inline(always)]
    pub(super) fn find(&mut self, place: &Place<'_>) -> Option<&mut Entry> {
        self.table.find_mut(place.hash, |entry| entry.is(place))
    }

    /// The cell of a key under a rule as it is now.
    pub(super) fn of_rule(&mut self, place: &Place<'_>, rule: &Arc<Rule>) -> Option<&mut Entry> {
        self.find(place).filter(|entry| Arc::ptr_eq(&entry.rule, rule))
    }

    pub(super) fn keep(&mut self, place: &Place<'_>, rule: &Arc<Rule>, denial: Denial, now: Instant) {
        match self.of_rule(place, rule) {
            Some(Entry { denial: Some(kept), .. }) if kept.outlasts(&denial, now) => {}
            Some(entry) if entry.lease.is_some() => entry.denial = Some(denial),
            _ => self.insert(place, rule, (Some(denial), None)),
        }
    }

    pub(super) fn insert(
        &mut self,
        place: &Place<'_>,
        rule: &Arc<Rule>,
        (denial, lease): (Option<Denial>, Option<Box<Held>>),
    ) {
        if let Ok(found) = self.table.find_entry(place.hash, |entry| entry.is(place)) {
            let (gone, _) = found.remove();
            self.returned.extend(gone.end());
        }
        let (stamp, hash) = (self.stamps, place.hash);
        self.stamps += 1;
        if self.table.len() == MOST_OF_SHARD {
            self.forget_oldest();
        }
        let (number, name, rule) = (place.limit, place.name.into(), Arc::clone(rule));
        let entry = Entry { hash, stamp, number, name, rule, denial, lease };
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
                let (gone, _) = found.remove();
                self.returned.extend(gone.end());
                return;
            }
        }
    }
}
