//! The end of a reservation on a server, as a conversation without I/O: one script for each hash slot.

use redis::Value;

use super::held::SlotPart;
use super::protocol::{self, Clocks, unexpected};
use super::settings::CallSettings;
use super::{ScriptSequence, located, outside, stages};
use crate::algorithm::{HoldId, Micros};
use crate::error::{Error, Result};
use crate::plan::{End, Plan, SmallList};
use crate::script::ScriptCall;

/// A reservation that is being ended or renewed.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    plan: &'a Plan<'a>,
    wire: &'a CallSettings,
    end: End,
    id: HoldId,
    /// The name of this call, by which the server knows it when it is sent again.
    call_id: HoldId,
    clocks: Clocks,
    stages: SmallList<SmallList<usize>>,
    done: usize,
    is_held: bool,
    failure: Option<Error>,
}

impl<'a> Ending<'a> {
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        wire: &'a CallSettings,
        end: End,
        (id, call_id): (HoldId, HoldId),
        clock: Option<Micros>,
    ) -> Self {
        let stages = stages::of(plan, wire);
        let clocks = Clocks { manual: clock, server_now: None };
        Self { plan, wire, end, id, call_id, clocks, stages, done: 0, is_held: true, failure: None }
    }

    /// Whether the reservation was held wherever it should be.
    pub(crate) fn finish(self) -> Result<bool> {
        self.failure.map_or(Ok(self.is_held), Err)
    }
}

impl ScriptSequence for Ending<'_> {
    fn next(&self) -> Option<ScriptCall> {
        let part = SlotPart::new(self.plan, self.stages.get(self.done)?);
        Some(part.ending(self.end, (&self.id, &self.call_id), self.clocks, self.wire))
    }

    fn region(&self) -> Option<usize> {
        let first = *self.stages.get(self.done)?.first()?;
        self.wire.region_of(&self.plan.charges[first])
    }

    fn is_undoing(&self) -> bool {
        false
    }

    fn may_repeat(&self) -> bool {
        true
    }

    /// A slot that fails keeps no other from being asked: what
    /// was used is to be charged wherever it can be.
    fn feed(&mut self, reply: Result<Value>) {
        if protocol::unsettled(&reply) {
            return;
        }
        if let Some(now) = outside(&reply)
            && self.clocks.server_now.is_none()
        {
            self.clocks.server_now = Some(now);
            return;
        }
        let done = self.done;
        self.done += 1;
        let overdrawn = || {
            let cost = self.plan.charges.iter().map(|charge| charge.cost).fold(0.0, f64::max);
            self.plan.items[0].rule.overdrawn(cost)
        };
        let failure = match reply {
            Ok(Value::Int(held @ 0..=1)) => {
                self.is_held &= held == 1;
                return;
            }
            Ok(Value::Int(-1)) => overdrawn(),
            Ok(_) => unexpected("it does not say whether the reservation was held"),
            // The reservation may have ended, and nothing been charged.
            Err(error) => located(error.unmended(), self.plan, &self.stages[done], self.wire),
        };
        self.failure.get_or_insert(failure);
    }
}
