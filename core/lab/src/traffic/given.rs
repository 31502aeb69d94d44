//! Calls that are given one by one.

use std::collections::HashMap;

use super::stream::DueCall;

/// One call of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Microseconds since the beginning of the run.
    pub at_us: u64,
    /// Who calls; not empty.
    pub key: String,
    /// At least 1.
    pub cost: u64,
    /// How long it is under way if it is admitted, in microseconds; rules of `concurrency` need it.
    pub duration_us: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct GivenCall {
    at_us: u64,
    key: u32,
    cost: u64,
    duration_us: Option<u64>,
}

/// Calls in order of time, with each key once.
#[derive(Debug, Clone)]
pub(super) struct GivenCalls {
    keys: Vec<Box<str>>,
    calls: Vec<GivenCall>,
}

impl GivenCalls {
    pub(super) fn new(calls: impl IntoIterator<Item = Call>) -> Self {
        let (mut numbers, mut keys) = (HashMap::<Box<str>, u32>::new(), Vec::new());
        let number = |call: Call| {
            let key: Box<str> = call.key.into();
            let number = *numbers.entry(key.clone()).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            });
            GivenCall { at_us: call.at_us, key: number, cost: call.cost, duration_us: call.duration_us }
        };
        let mut calls: Vec<_> = calls.into_iter().map(number).collect();
        calls.sort_by_key(|call| call.at_us);
        Self { keys, calls }
    }

    pub(super) fn length_us(&self) -> u64 {
        self.calls.last().map_or(0, |last| last.at_us + 1)
    }

    /// The place of the first call that does not say how long it is under way.
    pub(super) fn without_duration(&self) -> Option<usize> {
        self.calls.iter().position(|call| call.duration_us.is_none())
    }

    pub(super) fn play(&self) -> Playing<'_> {
        Playing { given: self, place: 0 }
    }
}

/// Given calls during a run.
pub(crate) struct Playing<'a> {
    given: &'a GivenCalls,
    place: usize,
}

impl<'a> Playing<'a> {
    /// When the next call comes.
    pub(super) fn next(&self) -> Option<u64> {
        self.given.calls.get(self.place).map(|call| call.at_us)
    }

    pub(super) fn due(&mut self) -> DueCall<'a> {
        let GivenCall { key, cost, duration_us, .. } = self.given.calls[self.place];
        self.place += 1;
        DueCall { key: &self.given.keys[key as usize], cost, resource: "resource", duration_us }
    }
}
