//! A call on a server, as a conversation without I/O: what to send next, and what its reply means.
//!
//! Nearly always one script is sent and its reply is the answer. Only a call that touches several hash slots of a Cluster, or
//! several regions, takes more: [`stages`] has the order, and what a denial has to undo.

mod borrower;
mod borrowing;
mod borrowing_together;
mod detached_loan;
mod ending;
mod held;
mod key_records;
mod protocol;
mod recorded;
mod reset;
mod settings;
mod stages;
mod stated;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use redis::Value;

use crate::algorithm::{HoldId, Micros, State};
use crate::decision::{Origin, Source};
use crate::error::{Error, Result};
use crate::plan::{Charge, ENFORCED, End, Forecast, Op, Outcome, Plan, RecordedKey, SmallList, gather};
use crate::script::ScriptCall;
use crate::tracking::Registration;
pub(crate) use borrower::Borrower;
pub(crate) use borrowing::{Borrowing, Later};
pub(crate) use borrowing_together::BorrowingTogether;
pub(crate) use detached_loan::DetachedLoan;
pub(crate) use ending::Ending;
use held::SlotPart;
pub(crate) use key_records::{change, changed};
use protocol::{Clocks, Step};
pub(crate) use reset::{Reset, lent_names, reset};
pub(crate) use settings::CallSettings;
pub(crate) use stated::{look_terms_up, state_terms, stated_terms};

/// A call under way.
#[derive(Debug)]
pub(crate) struct DecisionSequence<'a> {
    plan: &'a Plan<'a>,
    wire: &'a CallSettings,
    /// A manual clock's time; `None` for the server's.
    clock: Option<Micros>,
    /// The server's time, once it turned out to be far from that of this process; the windows of a calendar are
    /// named by it.
    server_now: Option<Micros>,
    /// What is yet to be sent, the next first: nearly always one.
    pending: SmallList<Step>,
    outcomes: SmallList<Option<Outcome>>,
    /// The first stage that had no room when it was looked at, by its first charge: stages share none.
    full: Option<usize>,
    /// Steps that undo what was charged in slots that are done.
    compensations: Vec<Step>,
    /// The name of what is reserved, and the fencing token that it was given.
    id: HoldId,
    token: Option<u64>,
    /// Whether it reserves.
    is_reserving: bool,
    /// Whether something was held already.
    found_held: bool,
    /// Set when a slot failed to answer, while those before it are given back their charges.
    failure: Option<Error>,
    /// The place of the region where it failed, if that is not the near one.
    cut_off: Option<usize>,
    /// The state that each charge left behind, and its time; nothing unless it is wanted.
    states: Option<Vec<Option<(State, Micros)>>>,
    /// Where the server is to watch the keys.
    registration: Option<Arc<Registration>>,
}

/// What a server has decided.
#[derive(Debug)]
pub(crate) struct Decided {
    /// One outcome per charge.
    pub(crate) outcomes: SmallList<Outcome>,
    /// What the states will admit next, if that was wanted.
    pub(crate) forecast: Option<Forecast>,
    /// The fencing token of what was reserved.
    pub(crate) token: Option<u64>,
    /// Whether something was held already beside the states, which makes a wait an estimate.
    pub(crate) is_beside: bool,
    /// Who decided.
    pub(crate) origin: Origin,
}

impl Decided {
    /// The same, of charges of which is known whether replicas have them.
    pub(crate) fn replicated(mut self, is_replicated: bool) -> Self {
        self.origin.is_replicated = is_replicated;
        self
    }
}

/// A call on a server that takes one script or more.
pub(crate) trait ScriptSequence {
    /// The script to send next; `None` when there is an answer.
    fn next(&self) -> Option<ScriptCall>;

    /// The place of the region whose server it is for, where that is not the near one.
    fn region(&self) -> Option<usize>;

    /// Whether what is to be sent next takes back what the call has charged.
    fn is_undoing(&self) -> bool;

    /// Whether that may be sent again when it is not known whether it was carried out: the server knows it by its name.
    fn may_repeat(&self) -> bool;

    /// Takes the reply to what [`next`](Self::next) gave.
    fn feed(&mut self, reply: Result<Value>);
}

impl<'a> DecisionSequence<'a> {
    /// `id` names what is reserved.
    pub(crate) fn named(
        plan: &'a Plan<'a>,
        wire: &'a CallSettings,
        op: Op,
        clock: Option<Micros>,
        id: HoldId,
    ) -> Self {
        let everything = gather(0..plan.charges.len());
        let mut sequence = Self {
            id,
            token: None,
            is_reserving: op == Op::Reserve,
            found_held: false,
            plan,
            wire,
            clock,
            server_now: None,
            pending: SmallList::from_buf([Step::new(own_op(plan, op, &everything), everything, None)]),
            full: None,
            outcomes: gather(plan.charges.iter().map(|_| None)),
            compensations: Vec::new(),
            failure: None,
            cut_off: None,
            states: None,
            registration: None,
        };
        if !wire.take_one_script(plan) {
            sequence.divide(op);
        }
        sequence
    }

    /// Lets it also return what the states will admit next.
    pub(crate) fn want_forecast(&mut self) {
        self.states = Some(vec![None; self.plan.charges.len()]);
    }

    /// Has the server watch the keys.
    #[inline(always)]
    pub(crate) fn register(&mut self, registration: Option<Arc<Registration>>) {
        self.registration = registration;
    }

    fn clocks(&self) -> Clocks {
        Clocks { manual: self.clock, server_now: self.server_now }
    }

    /// The script to send next, by these clocks.
    fn next_by(&self, clocks: Clocks) -> Option<ScriptCall> {
        let step = self.pending.first()?;
        let call = if let Some(charge) = self.stands_alone(step) {
            let looks = step.op == Op::Peek;
            key_records::call(charge, self.recorded_key(charge)?, looks, clocks, &self.wire.prefix)
        } else if self.is_beside(step) {
            let part = SlotPart::new(self.plan, &step.charges);
            match (step.op, step.charged_at) {
                (Op::Reserve, Some(_)) => part.ending(End::Release, (&self.id, &self.id), clocks, self.wire),
                _ => part.call(step, &self.id, clocks, &self.wire.prefix),
            }
        } else {
            let charges = gather(step.charges.iter().map(|&index| &self.plan.charges[index]));
            protocol::call(step, &charges, clocks, &self.wire.prefix)
        };
        let call = ScriptCall { registration: self.registration.clone(), ..call };
        Some(self.recorded(step, call, clocks.manual))
    }

    /// Whether something may be held, or stand, beside the states of a step.
    #[inline(always)]
    fn is_beside(&self, step: &Step) -> bool {
        step.charges.iter().any(|&index| {
            let charge = &self.plan.charges[index];
            charge.holder.is_some() || charge.recorded_key.is_some()
        })
    }

    /// The one charge of a step that checks or looks, beside whose state something may stand and nothing is held: nearly
    /// every call about such a rule.
    #[inline(always)]
    fn stands_alone(&self, step: &Step) -> Option<&'a Charge<'a>> {
        let (&[index], Op::Check | Op::Peek) = (step.charges.as_slice(), step.op) else { return None };
        let charge = &self.plan.charges[index];
        (charge.recorded_key.is_some() && charge.holder.is_none()).then_some(charge)
    }

    fn recorded_key(&self, charge: &Charge<'_>) -> Option<&'a RecordedKey<'a>> {
        charge.recorded_key.and_then(|recorded_key| self.plan.recorded_keys.get(recorded_key))
    }

    fn region_of(&self, step: &Step) -> Option<usize> {
        step.charges.first().and_then(|&index| self.wire.region_of(&self.plan.charges[index]))
    }

    /// The place of the region whose server failed to decide, where that is not the near one.
    pub(crate) fn cut_off(&self) -> Option<usize> {
        self.cut_off
    }

    /// What was decided, once there is nothing left to send.
    pub(crate) fn finish(&mut self, is_replicated: bool) -> Result<Decided> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let mut outcomes = SmallList::with_capacity(self.outcomes.len());
        for outcome in self.outcomes.drain(..) {
            outcomes.push(outcome.ok_or_else(unanswered)?);
        }
        let states = self.states.take().and_then(|states| states.into_iter().collect::<Option<Vec<_>>>());
        let forecast = states.and_then(|states| Forecast::new(self.plan, states));
        Ok(Decided {
            outcomes,
            forecast,
            token: self.token,
            is_beside: self.found_held,
            origin: Origin { source: Source::Server, is_replicated },
        })
    }

    /// The time of a reply, and the outcome of each charge.
    fn read(&mut self, step: &Step, reply: Value) -> Result<(Micros, SmallList<Outcome>)> {
        let reply = self.first_answer(step, reply)?;
        if let (Op::Reserve, Some(now)) = (step.op, step.charged_at) {
            return Ok((now, SmallList::new()));
        }
        if let Some(charge) = self.stands_alone(step) {
            return key_records::read(charge, (step.op, self.is_recorded(step)), &reply);
        }
        if self.is_beside(step) {
            return self.read_beside(step, reply);
        }
        let charges = gather(step.charges.iter().map(|&index| &self.plan.charges[index]));
        let replies = protocol::read(&charges, (step.op, self.is_recorded(step)), reply)?;
        let fits = gather(replies.iter().map(|reply| reply.fits));
        let permitted = self.plan.permitted(&step.charges, &fits);
        let now = replies.first().map_or(0, |reply| reply.now);
        let (plan, states) = (self.plan, &mut self.states);
        let outcomes = step.charges.iter().zip(replies).zip(permitted).map(|((&index, reply), permitted)| {
            let (outcome, state) = reply.outcome(&plan.charges[index], step.op, permitted);
            if let Some(states) = states {
                states[index] = Some((state, now));
            }
            outcome
        });
        Ok((now, gather(outcomes)))
    }

    /// The same where something may be held.
    fn read_beside(&mut self, step: &Step, reply: Value) -> Result<(Micros, SmallList<Outcome>)> {
        let part = SlotPart::new(self.plan, &step.charges);
        let (replies, holders) = part.read((step.op, self.is_recorded(step)), reply)?;
        let fits: SmallList<_> = replies.iter().map(protocol::LimitReply::has_room).collect();
        let permitted = self.plan.permitted(&step.charges, &fits);
        let now = replies.first().map_or(0, |reply| reply.now);
        let token = self.token.or(holders.iter().find_map(|holder| holder.token));
        let mut outcomes = SmallList::with_capacity(replies.len());
        for ((&index, reply), permitted) in step.charges.iter().zip(replies).zip(permitted) {
            let charge = &self.plan.charges[index];
            let holder = part.place(charge).map(|place| (part.holder_at(place), &holders[place]));
            outcomes.push(reply.apply_beside(charge, step.op, permitted, holder));
        }
        self.token = token;
        self.found_held |= holders.iter().any(|holder| holder.held > 0.0);
        Ok((now, outcomes))
    }

    fn note(&mut self, step: Step, now: Micros, outcomes: SmallList<Outcome>) {
        let mut denied = false;
        for (&index, outcome) in step.charges.iter().zip(outcomes) {
            denied |= !outcome.is_admitted() && self.plan.charges[index].group == ENFORCED;
            self.outcomes[index] = Some(outcome);
        }
        match step.op {
            Op::Peek => self.looked(&step.charges, denied),
            Op::Check | Op::Reserve if denied => {
                self.pending.clear();
                // The last first.
                self.pending.extend(self.compensations.drain(..).rev());
            }
            // After the last step nothing is left that could deny.
            Op::Check | Op::Reserve if self.pending.is_empty() => {}
            Op::Check | Op::Reserve => self.note_charged(&step.charges, now),
            Op::Refund | Op::Charge => {}
        }
    }
}

impl ScriptSequence for DecisionSequence<'_> {
    fn next(&self) -> Option<ScriptCall> {
        self.next_by(self.clocks())
    }

    #[inline(always)]
    fn region(&self) -> Option<usize> {
        self.region_of(self.pending.first()?)
    }

    fn is_undoing(&self) -> bool {
        self.pending.first().is_some_and(|step| step.charged_at.is_some())
    }

    #[inline(always)]
    fn may_repeat(&self) -> bool {
        let is_safe = |step: &Step| self.is_reserving && matches!(step.op, Op::Peek | Op::Reserve);
        self.pending.first().is_some_and(|step| is_safe(step) || self.is_recorded(step))
    }

    fn feed(&mut self, reply: Result<Value>) {
        // Then the same is sent again.
        if self.pending.is_empty() || protocol::unsettled(&reply) {
            return;
        }
        let step = self.pending.remove(0);
        if let Some(now) = outside(&reply)
            && !step.is_again
        {
            self.server_now = Some(now);
            self.pending.insert(0, Step { is_again: true, ..step });
            return;
        }
        match reply.and_then(|reply| self.read(&step, reply)) {
            Ok(_) if step.op == Op::Reserve && step.charged_at.is_some() => {}
            Ok((now, outcomes)) => self.note(step, now, outcomes),
            Err(error) if self.failure.is_none() => {
                // A script for one limit mends what it has begun, and one that looks begins nothing.
                let is_mended = step.charges.len() == 1 || step.op == Op::Peek;
                let error = if is_mended { error } else { error.unmended() };
                self.failure = Some(located(error, self.plan, &step.charges, self.wire));
                self.cut_off = self.region_of(&step);
                // What was to be given back still is, and then whatever was charged since.
                self.pending.retain(|step| step.charged_at.is_some());
                self.pending.extend(self.compensations.drain(..).rev());
            }
            // The first failure is the one to tell; this one left a charge that could not be undone.
            Err(_) => self.failure = self.failure.take().map(Error::maybe_done),
        }
    }
}

/// An error, with the rules and keys of the charges it was about.
pub(crate) fn located(error: Error, plan: &Plan<'_>, charges: &[usize], wire: &CallSettings) -> Error {
    let charges = || charges.iter().map(|&index| &plan.charges[index]);
    let rules = charges().map(|charge| charge.rule.rule.id.as_ref());
    error.about(rules, charges().map(|charge| charge.name(&wire.prefix)))
}

/// An error of a call by hand, with the one rule and the keys it was about.
pub(crate) fn located_by_hand(error: Error, plan: &Plan<'_>, keys: SmallList<String>) -> Error {
    error.about(plan.items.iter().map(|item| item.rule.rule.id.as_ref()), keys.into_iter())
}

/// The server's time, where a script did nothing since that is in none of the windows of a calendar that it was sent.
#[inline(always)]
fn outside(reply: &Result<Value>) -> Option<Micros> {
    reply.as_ref().ok().and_then(protocol::outside)
}

/// Whether an operation charges, or holds, what fits.
fn is_taking(op: Op) -> bool {
    matches!(op, Op::Check | Op::Reserve)
}

/// What a call does to the charges of one slot: where nothing can be held, they are charged at once.
fn own_op(plan: &Plan<'_>, op: Op, charges: &[usize]) -> Op {
    let holds = charges.iter().any(|&index| plan.charges[index].holder.is_some());
    if op == Op::Reserve && !holds { Op::Check } else { op }
}

pub(crate) fn unanswered() -> Error {
    protocol::unexpected("a reply is missing")
}
