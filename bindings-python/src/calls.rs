//! The calls of an async limiter that wait for the end of this turn of the loop.

use std::mem::{replace, take};

use sluicegate::bridge::{Ask, Bridge};

/// Calls with their tokens.
pub(crate) struct Calls {
    queue: Vec<(u64, Ask)>,
    last: u64,
    closed: bool,
}

impl Calls {
    pub(crate) fn new() -> Self {
        Self { queue: Vec::new(), last: Bridge::OPENED, closed: false }
    }

    /// Adds a call, unless closed; answers its token.
    pub(crate) fn add(&mut self, ask: Ask) -> Option<u64> {
        if self.closed {
            return None;
        }
        self.last += 1;
        self.queue.push((self.last, ask));
        Some(self.last)
    }

    pub(crate) fn take(&mut self) -> Vec<(u64, Ask)> {
        take(&mut self.queue)
    }

    /// Takes a call back; answers whether it had not been sent yet.
    pub(crate) fn remove(&mut self, token: u64) -> bool {
        let place = self.queue.iter().position(|(queued, _)| *queued == token);
        place.map(|place| self.queue.remove(place)).is_some()
    }

    /// Forgets all calls and allows no more; answers whether that is new.
    pub(crate) fn close(&mut self) -> bool {
        self.queue.clear();
        !replace(&mut self.closed, true)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}
