//! Calls that are given one by one.

use std::collections::HashMap;

use super::stream::Due;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Microseconds since the beginning of the run.
    pub at_us: u64,
    /// Who calls; not empty.
    pub key: String,
    /// At least 1.
    pub cost: u64,
}

/// Calls in order of time, with each key once.
#[derive(Debug, Clone)]
pub(super) struct Given {
    keys: Vec<Box<str>>,
    calls: Vec<(u64, u32, u64)>,
}

impl Given {
    pub(super) fn new(calls: impl IntoIterator<Item = Call>) -> Self {
        let (mut numbers, mut keys) = (HashMap::<Box<str>, u32>::new(), Vec::new());
        let number = |call: Call| {
            let key: Box<str> = call.key.into();
            let number = *numbers.entry(key.clone()).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            });
            (call.at_us, number, call.cost)
        };
        let mut calls: Vec<_> = calls.into_iter().map(number).collect();
        calls.sort_by_key(|call| call.0);
        Self { keys, calls }
    }

    pub(super) fn length_us(&self) -> u64 {
        self.calls.last().map_or(0, |last| last.0 + 1)
    }

    pub(super) fn play(&self) -> Playing<'_> {
        Playing { given: self, place: 0 }
    }
}

/// Given calls during a run.
pub(crate) struct Playing<'a> {
    given: &'a Given,
    place: usize,
}

impl<'a> Playing<'a> {
    /// When the next call comes.
    pub(super) fn next(&self) -> Option<u64> {
        self.given.calls.get(self.place).map(|call| call.0)
    }

    pub(super) fn due(&mut self) -> Due<'a> {
        let (_, key, cost) = self.given.calls[self.place];
        self.place += 1;
        Due { key: &self.given.keys[key as usize], cost, resource: "resource" }
    }
}
