//! A call on a server, as a conversation without I/O: what to send next, and what its reply means.
//!
//! Nearly always one script is sent and its reply is the answer. Only a `check_all` whose items lie in
//! several hash slots of a Cluster takes more: its slots are charged one after the other in order of
//! priority, and when one denies, those before it are given back what they were charged. Between the
//! two a third caller may be denied needlessly; nobody is ever admitted wrongly.

mod protocol;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use redis::Value;

use crate::algorithm::Micros;
use crate::decision::{Decision, Source};
use crate::error::{Error, Result};
use crate::plan::{ENFORCED, Form, Op, Outcome, Plan, answer};
pub(crate) use protocol::Request;

/// What all calls of a limiter on a server have in common.
#[derive(Debug, Clone)]
pub(crate) struct Wire {
    pub(crate) prefix: String,
    /// Whether keys of different hash slots need calls of their own.
    pub(crate) cluster: bool,
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    plan: &'a Plan<'a>,
    wire: &'a Wire,
    /// A manual clock's time; `None` for the server's.
    clock: Option<Micros>,
    pending: VecDeque<Step>,
    outcomes: Vec<Option<Outcome>>,
    /// What was charged in slots that are done.
    charged: Vec<Vec<usize>>,
    /// Set when a slot failed to answer, while those before it are given back their charges.
    failure: Option<Error>,
}

/// One script to send: an operation on some of the plan's charges, all in one slot.
#[derive(Debug)]
struct Step {
    op: Op,
    charges: Vec<usize>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(plan: &'a Plan<'a>, wire: &'a Wire, op: Op, clock: Option<Micros>) -> Self {
        let stages = if wire.cluster { stages::by_slot(plan) } else { stages::together(plan) };
        Self {
            plan,
            wire,
            clock,
            pending: stages.into_iter().map(|charges| Step { op, charges }).collect(),
            outcomes: vec![None; plan.charges.len()],
            charged: Vec::new(),
            failure: None,
        }
    }

    /// The script to send next; `None` when there is an answer.
    pub(crate) fn next(&self) -> Option<Request> {
        let step = self.pending.front()?;
        let charges: Vec<_> = step.charges.iter().map(|&index| &self.plan.charges[index]).collect();
        Some(Request::new(&charges, step.op, self.clock, &self.wire.prefix))
    }

    /// Takes the reply to what [`next`](Self::next) gave.
    pub(crate) fn feed(&mut self, reply: Result<Value>) {
        let Some(step) = self.pending.pop_front() else { return };
        match reply.and_then(|reply| self.read(&step, reply)) {
            Ok(outcomes) => self.note(step, outcomes),
            Err(error) if self.failure.is_none() => {
                self.failure = Some(self.located(error, &step));
                // What was to be given back still is, and then whatever was charged since.
                self.pending.retain(|step| step.op == Op::Refund);
                let refunds = self.refunds();
                self.pending.extend(refunds);
            }
            // The first failure is the one to tell; this one left a charge that could not be undone.
            Err(_) => {}
        }
    }

    /// The decision, once there is nothing left to send.
    pub(crate) fn finish(self, form: Form) -> Result<Decision> {
        match (self.failure, self.outcomes.into_iter().collect::<Option<Vec<_>>>()) {
            (None, Some(outcomes)) => Ok(answer(self.plan, &outcomes, Source::Server, form)),
            (Some(error), _) => Err(error),
            (None, None) => Err(protocol::unexpected("a reply is missing")),
        }
    }

    fn read(&self, step: &Step, reply: Value) -> Result<Vec<Outcome>> {
        let charges: Vec<_> = step.charges.iter().map(|&index| &self.plan.charges[index]).collect();
        let replies = protocol::read(&charges, reply)?;
        let fits: Vec<_> = replies.iter().map(|reply| reply.fits).collect();
        let permitted = self.plan.permitted(&step.charges, &fits);
        let each = charges.iter().zip(replies).zip(permitted);
        Ok(each.map(|((charge, reply), permitted)| reply.conclude(charge, step.op, permitted)).collect())
    }

    fn note(&mut self, step: Step, outcomes: Vec<Outcome>) {
        let mut charged = Vec::new();
        let mut denied = false;
        for (&index, outcome) in step.charges.iter().zip(outcomes) {
            denied |= !outcome.fits && self.plan.charges[index].group == ENFORCED;
            if outcome.fits && outcome.changed {
                charged.push(index);
            }
            self.outcomes[index] = Some(outcome);
        }
        if step.op != Op::Check {
            return;
        }
        if denied {
            let after = self.pending.drain(..).map(|step| Step { op: Op::Peek, ..step }).collect::<Vec<_>>();
            self.pending = self.refunds();
            self.pending.extend(after);
        } else {
            self.charged.push(charged);
        }
    }

    /// Steps that undo what was charged so far, the last first.
    fn refunds(&mut self) -> VecDeque<Step> {
        let charged = self.charged.drain(..).rev().filter(|charges| !charges.is_empty());
        charged.map(|charges| Step { op: Op::Refund, charges }).collect()
    }

    /// An error of a step, with the keys it was about.
    fn located(&self, error: Error, step: &Step) -> Error {
        let names = step.charges.iter().map(|&index| self.plan.charges[index].name(&self.wire.prefix));
        error.at_keys(names)
    }
}

/// The names of the states that a reset deletes; all of one check share a slot.
pub(crate) fn names_to_reset(plan: &Plan<'_>, wire: &Wire) -> Vec<String> {
    plan.to_reset().map(|charge| charge.name(&wire.prefix)).collect()
}
