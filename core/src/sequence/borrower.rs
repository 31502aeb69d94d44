//! What a region sends to spend, to borrow and to give back of one key, and what the replies mean: `allotment` of the crate
//! `sluicegate-lua`.

use std::sync::Arc;

use once_cell::race::OnceBox;
use redis::Value;
use sluicegate_lua::{Kernel, KernelSet, allotment};
use smallvec::{SmallVec, smallvec};

use super::protocol::{self, NEWEST, SERVER_CLOCK, Scripts, bytes, doubles, no_numbers, unexpected};
use crate::algorithm::{Demand, Figures, Micros, Numbers, Policy, State, micros};
use crate::error::Result;
use crate::metrics::{LoanUse, RuleCounters};
use crate::plan::{Charge, ENFORCED, Op, Outcome};
use crate::regions::Deposit;
use crate::script::{Argument, Script, ScriptCall};
use crate::time::clock::LATEST;

/// Between two requests for a loan.
const PACE: f64 = 20_000.0;
/// The rate is taken over the time that a loan lasts, and over this at least.
const LEAST_SPAN: f64 = 2_000_000.0;
/// After a loan of less than was asked for, all are small for so long, and for so many trips.
const LEAST_CONTENTION: f64 = 1_000_000.0;
const TRIPS: f64 = 4.0;
/// A wait as long as this ends with the limit alone.
const ENDLESS: f64 = LATEST as f64 / 2.0;
/// In place of the place of a kernel: an allotment.
const ALLOTMENT: f64 = 0.0;

/// All that is needed to spend and to borrow of one key. Holds no reference to the call: loans arrive after it.
#[derive(Debug, Clone)]
pub(crate) struct Borrower {
    policy: Policy,
    /// The name of the allotment, at the near server.
    near: String,
    /// The name of the state, in the region in charge.
    far: String,
    /// How long a loan lasts.
    age: f64,
    /// To the region in charge and back.
    trip: f64,
    /// As scripts receive it.
    clock: f64,
    counters: Arc<RuleCounters>,
}

pub(super) use Spending::{Denied, Elsewhere};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spending {
    Denied,
    Spent,
    Elsewhere,
}

/// What an allotment answered.
#[derive(Debug)]
pub(super) struct Spent {
    pub(super) spending: Spending,
    /// The near server's time.
    pub(super) now: Micros,
    left: f64,
    wait: f64,
    fresh: f64,
    pub(super) want: f64,
    pub(super) ended: SmallVec<[(f64, f64); 1]>,
}

impl Spent {
    /// That of a call which may ever fit, or may not: an allotment knows nothing of the limit itself.
    pub(super) fn outcome(&self, may_fit: bool) -> Outcome {
        let figures = Figures {
            remaining: self.left as u64,
            retry_after: (may_fit && self.wait < ENDLESS).then(|| self.wait.ceil() as Micros),
            reset_after: self.fresh.ceil().max(1.0) as Micros,
        };
        let fits = self.spending == Spending::Spent;
        Outcome { fits, figures, changed: fits, blocked_for: 0, stored_limit: 0, stored_ends: false }
    }
}

impl Borrower {
    /// `None`: what the limit counts by is not lent.
    pub(super) fn new(
        charge: &Charge<'_>,
        prefix: &str,
        trip: Micros,
        clock: Option<Micros>,
    ) -> Option<Self> {
        let age = charge.rule.rule.global_us?;
        allotment::LENDING.contains(&charge.policy.kernel()).then(|| Self {
            policy: charge.policy.as_ref().clone(),
            near: charge.name_of_allotment(prefix),
            far: charge.name(prefix),
            age: age as f64,
            trip: trip as f64,
            clock: clock.map_or(SERVER_CLOCK, |now| now as f64),
            counters: Arc::clone(&charge.rule.counters),
        })
    }

    /// Counts what becomes of units.
    pub(crate) fn note(&self, what: LoanUse, units: f64) {
        if units > 0.0 {
            self.counters.lent(what, units);
        }
    }

    /// To borrow of the near server itself.
    pub(crate) fn leasing(charge: &Charge<'_>, prefix: &str, age: f64, clock: Option<Micros>) -> Self {
        Self {
            policy: charge.policy.as_ref().clone(),
            near: String::new(),
            far: charge.name(prefix),
            age,
            trip: 0.0,
            clock: clock.map_or(SERVER_CLOCK, |now| now as f64),
            counters: Arc::clone(&charge.rule.counters),
        }
    }

    pub(super) fn trip(&self) -> f64 {
        self.trip
    }

    fn useful(&self) -> f64 {
        self.policy.longest_by(&self.policy) as f64
    }

    fn span(&self) -> f64 {
        self.age.max(LEAST_SPAN)
    }

    pub(super) fn spend(&self, cost: f64) -> ScriptCall {
        static SCRIPT: OnceBox<Script> = OnceBox::new();
        let script = SCRIPT.get_or_init(|| Box::new(Script::new(allotment::spend())));
        let demand = self.demand(cost);
        let numbers = [self.clock, cost, demand, self.age, self.useful(), self.span(), self.trip, PACE];
        call(script, &self.near, &numbers)
    }

    pub(super) fn may_fit(&self, cost: f64) -> bool {
        cost <= self.policy.most() as f64
    }

    /// What a cost says of what is needed: one that can never fit, no more than the most that does.
    fn demand(&self, cost: f64) -> f64 {
        cost.min(self.policy.most() as f64)
    }

    /// The key and the numbers of an allotment in a call of several items. `there`: whether the region in charge has
    /// charged this call, or denied it.
    pub(super) fn one_of_several(&self, cost: f64, there: Option<bool>) -> (String, Argument) {
        let demand = if there.is_none() { self.demand(cost) } else { 0.0 };
        let there = match there {
            Some(true) => 1.0,
            Some(false) => -1.0,
            None => 0.0,
        };
        let terms = [self.age, self.useful(), self.span(), self.trip, PACE];
        let mut numbers = Numbers::from_slice(&[ALLOTMENT, ENFORCED as f64, NEWEST, cost, demand, there]);
        numbers.extend_from_slice(&terms);
        (self.near.clone(), bytes(&numbers))
    }

    /// Has the region in charge decide a call of this cost, if there is one, and lend.
    pub(crate) fn lend(&self, own: Option<f64>, want: f64) -> ScriptCall {
        static SCRIPTS: Scripts<{ Kernel::ALL.len() }> = [const { OnceBox::new() }; _];
        let kernel = self.policy.kernel();
        let script = SCRIPTS[kernel as usize].get_or_init(|| Box::new(Script::new(allotment::lend(kernel))));
        let is_own = f64::from(u8::from(own.is_some()));
        let mut numbers = Numbers::from_slice(&[self.clock, is_own, want, self.policy.price()]);
        self.policy.numbers(own.unwrap_or(1.0), || 0, &mut numbers);
        call(script, &self.far, &numbers)
    }

    pub(crate) fn deposit(&self, lent: &Deposit) -> ScriptCall {
        static SCRIPT: OnceBox<Script> = OnceBox::new();
        let script = SCRIPT.get_or_init(|| Box::new(Script::new(allotment::deposit())));
        let &Deposit { granted, granted_at, valid_until, denied_until, denied_cost, .. } = lent;
        let &Deposit { contended_until, fits_at, fresh_at, .. } = lent;
        let numbers = [
            self.clock,
            self.age,
            self.useful(),
            self.span(),
            granted,
            granted_at,
            valid_until,
            denied_until,
            denied_cost,
            contended_until,
            fits_at,
            fresh_at,
        ];
        call(script, &self.near, &numbers)
    }

    /// Gives units back, as a refund of what was charged when they were granted.
    pub(crate) fn give_back(&self, units: f64, granted_at: f64) -> ScriptCall {
        let kernels = KernelSet::default().with(self.policy.kernel());
        let mut numbers = Numbers::from_slice(&[1.0, 0.0, granted_at.max(NEWEST)]);
        self.policy.sparing_denied().numbers(units, || 0, &mut numbers);
        let args = smallvec![bytes(&[self.clock, 1.0, 0.0]), bytes(&numbers)];
        ScriptCall::new(protocol::several(kernels, Op::Refund), smallvec![self.far.clone()], args)
    }

    /// Counts units that were given back, once the server says so: what it does not answer is lost.
    pub(crate) fn given_back(self, units: f64) -> Box<dyn FnOnce(Result<Value>) + Send> {
        let what = |reply: &Result<Value>| if reply.is_ok() { LoanUse::GivenBack } else { LoanUse::Lost };
        Box::new(move |reply| self.note(what(&reply), units))
    }

    pub(super) fn spent(&self, reply: Value) -> Result<Spent> {
        let numbers = doubles(&reply).ok_or_else(no_numbers)?;
        let [verdict, now, figures @ ..] = numbers.as_slice() else {
            return Err(unexpected("it is too short"));
        };
        let (&[left, wait, fresh, want], ended) =
            figures.split_first_chunk().ok_or_else(|| unexpected("it is too short"))?;
        let spending = match *verdict {
            0.0 => Denied,
            1.0 => Spending::Spent,
            2.0 => Elsewhere,
            _ => return Err(unexpected("it names no way to decide")),
        };
        let are_sensible =
            [left, wait, fresh, want].iter().all(|number| (0.0..LATEST as f64).contains(number));
        let (ended, []) = ended.as_chunks::<2>() else { return Err(unexpected("a loan is incomplete")) };
        let ended: SmallVec<_> = ended.iter().map(|&[units, granted_at]| (units, granted_at)).collect();
        let now = micros(*now).filter(|_| are_sensible);
        let now = now.ok_or_else(|| unexpected("what it says of an allotment makes no sense"))?;
        Ok(Spent { spending, now, left, wait, fresh, want, ended })
    }

    /// What the region in charge lent, and the outcome of the call that it decided. `asked` is for how much, and when.
    pub(crate) fn lent(
        &self,
        reply: Value,
        own: Option<f64>,
        asked: (f64, Micros),
    ) -> Result<(Deposit, Option<Outcome>)> {
        let numbers = doubles(&reply).ok_or_else(no_numbers)?;
        let [lent, grant, numbers @ ..] = numbers.as_slice() else {
            return Err(unexpected("it is too short"));
        };
        let (lent, is_granted) = (*lent, *grant >= 1.0);
        let cost = own.unwrap_or(0.0);
        let now = numbers.first().and_then(|&now| micros(now));
        let now = now.ok_or_else(|| unexpected("its time makes no sense"))?;
        let state = self.policy.parse(numbers, cost + lent.max(1.0));
        let state =
            state.filter(|state| !self.policy.is_ahead(state, now) && (0.0..=asked.0).contains(&lent));
        let state = state.ok_or_else(|| unexpected("its state makes no sense"))?;
        Ok(self.follow(state, (lent, now), own.map(|cost| (cost, is_granted)), asked))
    }

    /// What follows from a state as it was before the region in charge lent of it, at `now`, and granted a call or not.
    pub(crate) fn follow(
        &self,
        mut state: State,
        (lent, now): (f64, Micros),
        own: Option<(f64, bool)>,
        asked: (f64, Micros),
    ) -> (Deposit, Option<Outcome>) {
        let mut apply =
            |op, cost, fits: bool| self.policy.apply(&mut state, Demand { op, cost, now }, fits, true);
        let own = own.map(|(cost, is_granted)| (cost, apply(Op::Check, cost, is_granted)));
        if lent > 0.0 {
            apply(Op::Check, lent, true);
        }
        let has_room = self.policy.fits(&state, now, 1.0);
        let rest = self.policy.apply(&mut state, Demand { op: Op::Peek, cost: 1.0, now }, has_room, true);
        (self.said((lent, now), own, rest.figures, asked), own.map(|(_, outcome)| outcome))
    }

    /// The same in the words of an allotment.
    fn said(
        &self,
        (granted, granted_at): (f64, Micros),
        own: Option<(f64, Outcome)>,
        rest: Figures,
        (want, asked_at): (f64, Micros),
    ) -> Deposit {
        let asked_at = asked_at as f64;
        let span = |span: Option<Micros>| span.unwrap_or(LATEST) as f64;
        let denied = match own {
            Some((cost, outcome)) if !outcome.fits => Some((cost, span(outcome.figures.retry_after))),
            _ if want > 0.0 && granted <= 0.0 => Some((1.0, span(rest.retry_after))),
            _ => None,
        };
        // What is counted in a window can be spent in that one only.
        let lasts = match self.policy {
            Policy::FixedWindow(_) => self.age.min(rest.reset_after as f64),
            _ => self.age,
        };
        let contention = if granted < want { LEAST_CONTENTION.max(TRIPS * self.trip) } else { 0.0 };
        let until = |span: f64| if span > 0.0 { (asked_at + span).min(LATEST as f64) } else { 0.0 };
        Deposit {
            granted,
            granted_at: granted_at as f64,
            valid_until: until(lasts),
            denied_until: denied.map_or(0.0, |(_, wait)| until(wait.min(self.age))),
            denied_cost: denied.map_or(0.0, |(cost, _)| cost),
            contended_until: until(contention),
            fits_at: denied.map_or(0.0, |(_, wait)| until(wait)),
            fresh_at: until(rest.reset_after as f64),
        }
    }

    /// How many units a deposit was too late for.
    pub(crate) fn dropped(reply: &Value) -> f64 {
        doubles(reply)
            .and_then(|numbers| numbers.first().copied())
            .filter(|units| *units > 0.0)
            .unwrap_or(0.0)
    }
}

fn call(script: &'static Script, key: &str, numbers: &[f64]) -> ScriptCall {
    ScriptCall::new(script, smallvec![key.to_owned()], smallvec![bytes(numbers)])
}
