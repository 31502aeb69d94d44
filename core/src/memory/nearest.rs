//! Which states are nearest to their reset, found without an order of all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::algorithm::Micros;

/// So many states are looked at to learn which part of them is due first.
const SAMPLE: usize = 1024;
/// This part of the states is found at once: a table is gone through once for so many evictions, and what was
/// found takes a byte for each state.
const PART: usize = 16;

/// When a state expires, and its hash.
type Due = (Micros, u64);

/// The states of a table that expire first. Every state that expires by `until` is among them, perhaps with an
/// earlier time than its own by now.
#[derive(Debug, Default)]
pub(super) struct Nearest {
    heap: BinaryHeap<Reverse<Due>>,
    until: Micros,
}

impl Nearest {
    /// The next to go.
    pub(super) fn pop(&mut self) -> Option<Due> {
        self.heap.pop().map(|Reverse(due)| due)
    }

    /// Adds a state that is new, or that expires later than it did, if it is among the nearest.
    pub(super) fn add(&mut self, due: Due) {
        if !self.heap.is_empty() && due.0 <= self.until {
            self.heap.push(Reverse(due));
        }
    }

    /// Begins anew with the nearest of all states, of which there are `len`.
    pub(super) fn refill(&mut self, all: impl Iterator<Item = Due> + Clone, len: usize) {
        let mut sample: Vec<Micros> = all.clone().take(SAMPLE).map(|due| due.0).collect();
        let part = sample.len() / PART;
        let Some((_, until, _)) = (part < sample.len()).then(|| sample.select_nth_unstable(part)) else {
            return;
        };
        self.until = *until;
        // Of windows that end together there may be any number.
        let most = 2 * len / PART + SAMPLE;
        self.heap = all.filter(|due| due.0 <= *until).take(most).map(Reverse).collect();
    }
}
