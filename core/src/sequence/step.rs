//! One script of a call, and what all scripts of a limiter have in common.

use std::sync::Arc;

use crate::algorithm::Micros;
use crate::plan::{Charge, Op, Plan, SmallList};
use crate::regions::RegionMap;
use crate::rules::Rule;
use crate::time::clock::SystemClock;

/// Asks for the server's clock.
pub(super) const SERVER_CLOCK: f64 = -1.0;

/// What all calls of a limiter on a server have in common.
#[derive(Debug, Clone)]
pub(crate) struct CallSettings {
    pub(crate) prefix: String,
    /// Whether keys of different hash slots need calls of their own.
    pub(crate) cluster: bool,
    /// The same of the near server's, for a script that touches no other.
    pub(crate) near_cluster: bool,
    /// The time that a call may take unless it says otherwise, in microseconds.
    pub(crate) default_timeout: Micros,
    /// How long the answer to a request is kept.
    pub(crate) request_lifetime: Micros,
    /// Over which limits may hold.
    pub(crate) regions: Option<Arc<RegionMap>>,
}

impl CallSettings {
    /// The place of the region in charge of what is charged, where that is another one.
    #[inline(always)]
    pub(crate) fn region_of(&self, charge: &Charge<'_>) -> Option<usize> {
        if self.regions.is_none() || charge.is_part {
            return None;
        }
        charge.region.get_or(|| self.region_of_key(&charge.rule.rule, &charge.tag))
    }

    /// That of a call about one key.
    pub(crate) fn region_of_call(&self, plan: &Plan<'_>) -> Option<usize> {
        match (plan.charges.first(), plan.recorded_keys.first()) {
            (Some(charge), _) => self.region_of(charge),
            (None, Some(key)) => self.region_of_key(&key.rule.rule, &key.tag),
            (None, None) => None,
        }
    }

    #[inline(always)]
    fn region_of_key(&self, rule: &Rule, tag: &str) -> Option<usize> {
        let regions = self.regions.as_ref().filter(|_| rule.global_us.is_some())?;
        regions.elsewhere(&rule.id, tag)
    }
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
