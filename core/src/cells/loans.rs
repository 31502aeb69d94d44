//! Which cells have borrowed units, and when the first of these end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::algorithm::Micros;

/// One loan for each cell, or for some cells that are gone.
#[derive(Debug, Default)]
pub(super) struct Loans {
    ends: BinaryHeap<Reverse<Loan>>,
    /// Whether somebody looks for what has ended.
    is_watched: bool,
}

/// Where units are, and until when they may be spent: or until later, where more was lent since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Loan {
    pub(super) valid_until: Micros,
    pub(super) hash: u64,
    pub(super) stamp: u64,
}

impl Loans {
    pub(super) fn add(&mut self, loan: Loan) {
        self.ends.push(Reverse(loan));
    }

    /// Takes the first that has ended; with `None` for the time, any.
    #[inline]
    pub(super) fn take_ended(&mut self, now: Option<Micros>) -> Option<Loan> {
        let first = self.ends.peek_mut()?;
        let has_ended = now.is_none_or(|now| first.0.valid_until <= now);
        has_ended.then(|| PeekMut::pop(first).0)
    }

    /// Whether somebody has to begin to watch for ends.
    pub(super) fn begins_watch(&mut self) -> bool {
        !self.ends.is_empty() && !std::mem::replace(&mut self.is_watched, true)
    }

    /// Whether anything is lent. If not, nobody has to watch any more.
    pub(super) fn are_watched(&mut self) -> bool {
        self.is_watched = !self.ends.is_empty();
        self.is_watched
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }
}
