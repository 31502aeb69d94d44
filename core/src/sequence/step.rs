//! One script of a call, and what all scripts of a limiter have in common.

use crate::algorithm::Micros;
use crate::plan::{Op, SmallList};
use crate::time::clock::SystemClock;

/// Asks for the server's clock.
pub(super) const SERVER_CLOCK: f64 = -1.0;

/// What all calls of a limiter on a server have in common.
#[derive(Debug, Clone)]
pub(crate) struct CallSettings {
    pub(crate) prefix: String,
    /// Whether keys of different hash slots need calls of their own.
    pub(crate) cluster: bool,
    /// The time that a call may take unless it says otherwise, in microseconds.
    pub(crate) default_timeout: Micros,
    /// How long the answer to a request is kept.
    pub(crate) request_lifetime: Micros,
}

/// One script to send: an operation on some of the plan's charges, all in one slot.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) op: Op,
    pub(super) charges: SmallList<usize>,
    /// Of a compensation: when the charges were made. That of a `Reserve` is a release.
    pub(super) charged_at: Option<Micros>,
    /// Whether it was sent before, with windows of a calendar in which the server's time was not.
    pub(super) is_again: bool,
}

impl Step {
    pub(super) fn new(op: Op, charges: SmallList<usize>, charged_at: Option<Micros>) -> Self {
        Self { op, charges, charged_at, is_again: false }
    }
}

/// What a call is timed by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clocks {
    /// A manual clock's time; `None` for the server's.
    pub(super) manual: Option<Micros>,
    /// The server's time, once it turned out to be far from that of this process.
    pub(super) server_now: Option<Micros>,
}

impl Clocks {
    /// The time by which windows of a calendar are named: a script chooses among neighbours.
    pub(super) fn caller_now(self) -> Micros {
        let system = || SystemClock::new().now();
        self.server_now.or(self.manual).unwrap_or_else(system)
    }

    /// As scripts receive it.
    pub(super) fn for_script(self) -> f64 {
        self.manual.map_or(SERVER_CLOCK, |now| now as f64)
    }
}
