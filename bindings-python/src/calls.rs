//! The calls of an async limiter that are under way.

use std::collections::HashMap;
use std::mem::{replace, take};

use pyo3::prelude::*;
use sluicegate::bridge::{Ask, Bridge};

/// Calls by token. Nothing here runs any Python.
#[derive(Default)]
pub(crate) struct Calls {
    /// Those of this turn of the loop, which are sent together at its end.
    queue: Vec<(u64, Ask)>,
    /// The futures of all that were not answered yet.
    futures: HashMap<u64, Py<PyAny>>,
    last: u64,
    closed: bool,
}

impl Calls {
    /// The future that says whether the limiter is connected.
    pub(crate) fn opening(future: Py<PyAny>) -> Self {
        Self { futures: HashMap::from([(Bridge::OPENED, future)]), last: Bridge::OPENED, ..Self::default() }
    }

    /// Whether no call may be added any more, and whether the next one is the first of this turn.
    pub(crate) fn state(&self) -> (bool, bool) {
        (self.closed, self.queue.is_empty())
    }

    /// Allows no more calls; answers whether that is new.
    pub(crate) fn close(&mut self) -> bool {
        !replace(&mut self.closed, true)
    }

    /// Adds a call; answers its token.
    pub(crate) fn add(&mut self, ask: Ask, future: Py<PyAny>) -> u64 {
        self.last += 1;
        self.futures.insert(self.last, future);
        self.queue.push((self.last, ask));
        self.last
    }

    pub(crate) fn take_queue(&mut self) -> Vec<(u64, Ask)> {
        take(&mut self.queue)
    }

    /// The future of a call that was answered.
    pub(crate) fn answered(&mut self, token: u64) -> Option<Py<PyAny>> {
        self.futures.remove(&token)
    }

    /// Forgets a call, and says whether it has been sent.
    pub(crate) fn give_up(&mut self, token: u64) -> bool {
        self.futures.remove(&token);
        let place = self.queue.iter().position(|(queued, _)| *queued == token);
        place.map(|place| self.queue.remove(place)).is_none()
    }

    /// Forgets all calls; answers their futures.
    pub(crate) fn clear(&mut self) -> Vec<Py<PyAny>> {
        self.queue.clear();
        take(&mut self.futures).into_values().collect()
    }

    pub(crate) fn futures(&self) -> impl Iterator<Item = &Py<PyAny>> {
        self.futures.values()
    }
}
