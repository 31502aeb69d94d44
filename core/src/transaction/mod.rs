//! A call on a server, as a conversation without I/O: what to send next, and what its reply means.
//!
//! Nearly always one script is sent and its reply is the answer. Only a `check_all` whose items lie in
//! several hash slots of a Cluster takes more: its slots are looked at, and if all have room they are charged
//! one after the other in order of priority. When one denies all the same, since somebody else came first,
//! those before it are compensated: given back what they were charged. In between a third caller may be denied
//! needlessly; nobody is ever admitted wrongly. For a compensation says when the charge was made, and takes
//! back what is surely left of that one: never what somebody else was charged in the meantime, rather too
//! little where that cannot be told, and that is why slots are looked at first: callers who are denied all the
//! time would leave something behind all the time. (A reset, or a refund by its user, of the same key in
//! between is not noticed.)

mod protocol;
mod stages;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use redis::Value;
use smallvec::smallvec;

use crate::algorithm::{Micros, State};
use crate::decision::{Decision, Source};
use crate::error::{Error, Result};
use crate::plan::{ENFORCED, Few, Forecast, Form, Op, Outcome, Plan, answer};
use crate::script::Call;

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
    outcomes: Few<Option<Outcome>>,
    /// The first stage that had no room when it was looked at, by its first charge: stages share none.
    full: Option<usize>,
    /// Steps that undo what was charged in slots that are done.
    compensations: Vec<Step>,
    /// Set when a slot failed to answer, while those before it are given back their charges.
    failure: Option<Error>,
    /// The state that each charge left behind, and its time; nothing unless it is wanted.
    states: Option<Few<Option<(State, Micros)>>>,
}

/// One script to send: an operation on some of the plan's charges, all in one slot.
#[derive(Debug)]
struct Step {
    op: Op,
    charges: Few<usize>,
    /// Of a compensation: when the charges were made.
    charged_at: Option<Micros>,
}

impl<'a> Transaction<'a> {
    pub(crate) fn new(plan: &'a Plan<'a>, wire: &'a Wire, op: Op, clock: Option<Micros>) -> Self {
        let stages = if wire.cluster { stages::by_slot(plan) } else { stages::together(plan) };
        let looks = if op == Op::Check && stages.len() > 1 { stages.clone() } else { Few::new() };
        let steps = |op, stages: Few<Few<usize>>| {
            stages.into_iter().map(move |charges| Step { op, charges, charged_at: None })
        };
        Self {
            plan,
            wire,
            clock,
            pending: steps(Op::Peek, looks).chain(steps(op, stages)).collect(),
            full: None,
            outcomes: smallvec![None; plan.charges.len()],
            compensations: Vec::new(),
            failure: None,
            states: None,
        }
    }

    /// The same, which also tells what the states will admit next.
    pub(crate) fn with_forecast(self) -> Self {
        Self { states: Some(smallvec![None; self.plan.charges.len()]), ..self }
    }

    /// The script to send next; `None` when there is an answer.
    pub(crate) fn next(&self) -> Option<Call> {
        let step = self.pending.front()?;
        let charges: Few<_> = step.charges.iter().map(|&index| &self.plan.charges[index]).collect();
        Some(protocol::call(step, &charges, self.clock, &self.wire.prefix))
    }

    /// Whether what is to be sent next takes back what the call has charged.
    pub(crate) fn is_undoing(&self) -> bool {
        self.pending.front().is_some_and(|step| step.charged_at.is_some())
    }

    /// Takes the reply to what [`next`](Self::next) gave.
    pub(crate) fn feed(&mut self, reply: Result<Value>) {
        let Some(step) = self.pending.pop_front() else { return };
        match reply.and_then(|reply| self.read(&step, reply)) {
            Ok((now, outcomes)) => self.note(step, now, outcomes),
            Err(error) if self.failure.is_none() => {
                self.failure = Some(self.located(error, &step));
                // What was to be given back still is, and then whatever was charged since.
                self.pending.retain(|step| step.op == Op::Refund);
                self.pending.extend(self.compensations.drain(..).rev());
            }
            // The first failure is the one to tell; this one left a charge that could not be undone.
            Err(_) => {}
        }
    }

    /// The decision, once there is nothing left to send.
    pub(crate) fn finish(self, form: Form) -> Result<Decision> {
        let plan = self.plan;
        Ok(answer(plan, &self.outcomes()?.0, Source::Server, form))
    }

    /// The outcome of each charge, once there is nothing left to send, and what the states will admit next.
    pub(crate) fn outcomes(self) -> Result<(Few<Outcome>, Option<Forecast>)> {
        match (self.failure, self.outcomes.into_iter().collect::<Option<Few<_>>>()) {
            (None, Some(outcomes)) => {
                let states = self.states.and_then(|states| states.into_iter().collect::<Option<Vec<_>>>());
                Ok((outcomes, states.and_then(|states| Forecast::new(self.plan, states))))
            }
            (Some(error), _) => Err(error),
            (None, None) => Err(unanswered()),
        }
    }

    /// The time of a reply, and the outcome of each charge with the state it left.
    fn read(&self, step: &Step, reply: Value) -> Result<(Micros, Few<(Outcome, State)>)> {
        let charges: Few<_> = step.charges.iter().map(|&index| &self.plan.charges[index]).collect();
        let replies = protocol::read(&charges, step.op, reply)?;
        let fits: Few<_> = replies.iter().map(|reply| reply.fits).collect();
        let permitted = self.plan.permitted(&step.charges, &fits);
        let now = replies.first().map_or(0, |reply| reply.now);
        let each = charges.iter().zip(replies).zip(permitted);
        let outcomes = each.map(|((charge, reply), permitted)| reply.conclude(charge, step.op, permitted));
        Ok((now, outcomes.collect()))
    }

    fn note(&mut self, step: Step, now: Micros, outcomes: Few<(Outcome, State)>) {
        let mut charged = Few::new();
        let mut denied = false;
        for (&index, (outcome, state)) in step.charges.iter().zip(outcomes) {
            if let Some(states) = &mut self.states {
                states[index] = Some((state, now));
            }
            denied |= !outcome.fits && self.plan.charges[index].group == ENFORCED;
            if outcome.fits && outcome.changed {
                charged.push(index);
            }
            self.outcomes[index] = Some(outcome);
        }
        match step.op {
            Op::Peek => self.looked(&step.charges, denied),
            Op::Check if denied => {
                self.pending.clear();
                // The last first.
                self.pending.extend(self.compensations.drain(..).rev());
            }
            Op::Check if !charged.is_empty() => {
                self.compensations.push(Step { op: Op::Refund, charges: charged, charged_at: Some(now) });
            }
            Op::Check | Op::Refund | Op::Charge => {}
        }
    }

    /// When all stages were looked at, one without room is asked first: it will deny, and may count that.
    fn looked(&mut self, stage: &[usize], denied: bool) {
        if denied && self.full.is_none() {
            self.full = stage.first().copied();
        }
        let Some(full) = self.full else { return };
        let is_full = |step: &Step| step.op == Op::Check && step.charges.first() == Some(&full);
        if self.pending.front().is_some_and(|step| step.op == Op::Check)
            && let Some(place) = self.pending.iter().position(is_full)
            && let Some(step) = self.pending.remove(place)
        {
            self.pending.push_front(step);
        }
    }

    /// An error of a step, with the rules and keys it was about.
    fn located(&self, error: Error, step: &Step) -> Error {
        let charges = || step.charges.iter().map(|&index| &self.plan.charges[index]);
        let mut rules: Vec<&str> = charges().map(|charge| charge.rule.rule.id.as_ref()).collect();
        rules.dedup();
        error.about(rules.into_iter(), charges().map(|charge| charge.name(&self.wire.prefix)))
    }
}

pub(crate) fn unanswered() -> Error {
    protocol::unexpected("a reply is missing")
}

/// The names of the states that a reset deletes; all of one check share a slot.
pub(crate) fn names_to_reset(plan: &Plan<'_>, wire: &Wire) -> Vec<String> {
    plan.to_reset().map(|charge| charge.name(&wire.prefix)).collect()
}
