//! A check of several items of which some are counted in other regions: spent from what those have lent, and decided with
//! all others by one script of the near server.
//!
//! Where units are lacking, that script changes nothing but to take note of it. Then the regions in charge are asked, all at
//! once and each for its own item, and the near script again: what they have charged stands for units. Where another item
//! denies, what they have charged is kept in the allotment, for the calls that follow: nothing has to be taken back over the
//! distance.

use redis::Value;
use sluicegate_lua::{KernelSet, allotment};
use smallvec::SmallVec;

use super::borrower::{Borrower, Spending, Spent};
use super::borrowing::Later;
use super::protocol::{self, Clocks, ScriptsOfSets, unexpected};
use super::settings::CallSettings;
use super::{Decided, ScriptSequence, located, outside, unanswered};
use crate::algorithm::Micros;
use crate::decision::Source;
use crate::error::{Error, Result};
use crate::keys::slots::slot_of;
use crate::metrics::LoanUse;
use crate::plan::{Charge, ENFORCED, Op, Outcome, Plan, SmallList, gather};
use crate::regions::Deposit;
use crate::script::ScriptCall;

/// Such a check under way.
#[derive(Debug)]
pub(crate) struct BorrowingTogether<'a> {
    plan: &'a Plan<'a>,
    wire: &'a CallSettings,
    clocks: Clocks,
    /// The charges that near limits decide.
    near: SmallList<usize>,
    loans: Vec<Loan>,
    step: Step,
    /// The loans whose regions in charge are to be asked, the nearest first.
    lacking: Vec<usize>,
    failure: Option<Error>,
    cut_off: Vec<usize>,
    is_admitted: bool,
    /// Once all is decided: one outcome per charge.
    outcomes: Option<SmallList<Outcome>>,
}

#[derive(Debug)]
enum Step {
    Near,
    /// The regions in charge of what is lacking decide.
    Ask,
    Done,
}

/// One charge that another region is in charge of.
#[derive(Debug)]
struct Loan {
    charge: usize,
    region: usize,
    borrower: Borrower,
    cost: f64,
    /// What the allotment lacks: how much to borrow, and the time of that.
    want: (f64, Micros),
    /// What the region in charge said of the call.
    there: Option<(Deposit, Outcome)>,
    later: Later,
}

impl Loan {
    fn is_charged(&self) -> Option<bool> {
        self.there.as_ref().map(|(_, outcome)| outcome.fits)
    }

    /// What is kept in the allotment: with what was charged for the call, if that was not admitted.
    fn finish(mut self, is_admitted: bool) -> (Borrower, usize, Later) {
        if let Some((deposit, outcome)) = self.there {
            let deposit = deposit.after_call(self.cost, outcome.fits, is_admitted);
            self.borrower.note(LoanUse::Granted, deposit.granted);
            self.later.lent = deposit.says_something().then_some(deposit);
        }
        (self.borrower, self.region, self.later)
    }
}

impl<'a> BorrowingTogether<'a> {
    /// `None`: nothing is borrowed for, or an item has to be decided by its region in charge, or, on a near Cluster, no script
    /// may touch all keys. Then each item is decided where it is counted. `trip` says how long it takes to a region and back.
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        wire: &'a CallSettings,
        op: Op,
        clock: Option<Micros>,
        trip: impl Fn(usize) -> Micros,
    ) -> Option<Self> {
        wire.regions.as_ref()?;
        let is_apart = plan.request.is_some() || plan.is_beside();
        if op != Op::Check || plan.charges.len() < 2 || is_apart || !is_in_one_slot(plan, wire) {
            return None;
        }
        let (mut near, mut loans) = (SmallList::new(), Vec::new());
        for (place, charge) in plan.charges.iter().enumerate() {
            match wire.region_of(charge) {
                None => near.push(place),
                Some(region) => {
                    let is_lent = charge.amount.is_none() && charge.group == ENFORCED;
                    let borrower =
                        Borrower::new(charge, &wire.prefix, trip(region), clock).filter(|_| is_lent)?;
                    loans.push(Loan {
                        charge: place,
                        region,
                        borrower,
                        cost: charge.cost,
                        want: (0.0, 0),
                        there: None,
                        later: Later::default(),
                    });
                }
            }
        }
        (!loans.is_empty()).then(|| Self {
            plan,
            wire,
            clocks: Clocks { manual: clock, server_now: None },
            near,
            loans,
            step: Step::Near,
            lacking: Vec::new(),
            failure: None,
            cut_off: Vec::new(),
            is_admitted: false,
            outcomes: None,
        })
    }

    fn near_charges(&self) -> SmallList<&'a Charge<'a>> {
        gather(self.near.iter().map(|&place| &self.plan.charges[place]))
    }

    fn near_call(&self) -> ScriptCall {
        static SCRIPTS: ScriptsOfSets = [const { once_cell::race::OnceBox::new() }; _];
        let charges = self.near_charges();
        let kernels =
            charges.iter().fold(KernelSet::default(), |set, charge| set.with(charge.policy.kernel()));
        let script = protocol::script(&SCRIPTS, allotment::several, kernels);
        let mut call = ScriptCall::new(script, SmallVec::new(), SmallVec::new());
        call.args.push(protocol::header_of_several(self.clocks));
        for charge in &charges {
            call.keys.push(charge.name(&self.wire.prefix));
            call.args.push(protocol::one_of_several(charge, kernels, self.clocks));
        }
        for loan in &self.loans {
            let (key, numbers) = loan.borrower.one_of_several(loan.cost, loan.is_charged());
            call.keys.push(key);
            call.args.push(numbers);
        }
        call
    }

    /// What the near script said: of each limit, and of each allotment.
    fn near_said(&mut self, reply: Value) -> Result<()> {
        let Value::Array(mut limits) = reply else { return Err(unexpected("it is about one limit")) };
        if limits.len() != self.near.len() + self.loans.len() {
            return Err(unexpected("it is about another number of limits"));
        }
        let allotments = limits.split_off(self.near.len());
        let said = self.loans.iter().zip(allotments).map(|(loan, reply)| loan.borrower.spent(reply));
        let said: Vec<Spent> = said.collect::<Result<_>>()?;
        if said.iter().any(|spent| spent.spending == Spending::Elsewhere) {
            return self.lack(said);
        }
        self.decided(limits, said)
    }

    /// Takes note of what is lacking.
    fn lack(&mut self, said: Vec<Spent>) -> Result<()> {
        for (place, spent) in said.into_iter().enumerate() {
            let loan = &mut self.loans[place];
            if spent.spending == Spending::Elsewhere && loan.there.is_none() {
                loan.borrower.note(LoanUse::Asked, spent.want);
                loan.want = (spent.want, spent.now);
                loan.later.ended.extend(spent.ended);
                self.lacking.push(place);
            }
        }
        if self.lacking.is_empty() {
            return Err(unexpected("it lacks what it was given"));
        }
        let trip = |place: &usize| self.loans[*place].borrower.trip();
        self.lacking.sort_by(|one, other| trip(one).total_cmp(&trip(other)));
        self.step = Step::Ask;
        Ok(())
    }

    /// What to send to regions in charge, by their places, before the near server is asked again: in the order in which
    /// they are likely to answer.
    pub(crate) fn asks(&self) -> Vec<(usize, ScriptCall)> {
        let ask = |&place: &usize| {
            let loan = &self.loans[place];
            (loan.region, loan.borrower.lend(Some(loan.cost), loan.want.0))
        };
        self.lacking.iter().map(ask).collect()
    }

    /// Takes the replies to what [`asks`](Self::asks) gave. What was charged where others failed is kept.
    pub(crate) fn answered(&mut self, replies: Vec<Result<Value>>) {
        self.step = Step::Near;
        for (place, reply) in std::mem::take(&mut self.lacking).into_iter().zip(replies) {
            if let Err(error) = reply.and_then(|reply| self.loans[place].lent(reply)) {
                self.cut_off.push(self.loans[place].region);
                let charge = SmallList::from_buf([self.loans[place].charge]);
                let error = located(error, self.plan, &charge, self.wire);
                // One that no part of the limit makes good is the one to tell.
                let is_graver =
                    self.failure.as_ref().is_none_or(|known| known.is_undecided() && !error.is_undecided());
                if is_graver {
                    self.failure = Some(error);
                }
            }
        }
    }

    fn decided(&mut self, limits: Vec<Value>, said: Vec<Spent>) -> Result<()> {
        let replies = protocol::read(&self.near_charges(), (Op::Check, false), Value::Array(limits))?;
        let near = self.near.iter().copied();
        let places: SmallList<usize> = near.chain(self.loans.iter().map(|loan| loan.charge)).collect();
        let spent = self.loans.iter().zip(&said);
        let spent = spent.map(|(loan, said)| loan.is_charged().unwrap_or(said.spending == Spending::Spent));
        let fits: SmallList<bool> = replies.iter().map(|reply| reply.fits).chain(spent).collect();
        let permitted = self.plan.permitted(&places, &fits);
        let is_admitted = places.iter().zip(&fits).all(|(&place, fits)| *fits || self.is_in_shadow(place));
        let mut outcomes: SmallList<Option<Outcome>> = gather(self.plan.charges.iter().map(|_| None));
        for ((&place, reply), permitted) in self.near.iter().zip(replies).zip(&permitted) {
            let outcome = reply.outcome(&self.plan.charges[place], Op::Check, *permitted);
            outcomes[place] = Some(outcome.0);
        }
        for (loan, said) in self.loans.iter_mut().zip(said) {
            outcomes[loan.charge] = Some(loan.outcome(&said, is_admitted));
            loan.keep(said, is_admitted);
        }
        (self.is_admitted, self.outcomes) = (is_admitted, outcomes.into_iter().collect());
        Ok(())
    }

    fn is_in_shadow(&self, place: usize) -> bool {
        self.plan.charges[place].group != ENFORCED
    }

    /// The places of the regions in charge that failed to decide.
    pub(crate) fn cut_off(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.cut_off)
    }

    /// What was decided, and what is yet to be sent to each region in charge, or kept.
    pub(crate) fn finish(self) -> (Result<Decided>, Vec<(Borrower, usize, Later)>) {
        let is_far = self.loans.iter().any(|loan| loan.there.is_some());
        let source = if is_far { Source::Server } else { Source::Allotment };
        let decided = match (self.failure, self.outcomes) {
            (Some(error), _) => Err(error),
            (None, None) => Err(unanswered()),
            (None, Some(outcomes)) => {
                Ok(Decided { outcomes, forecast: None, token: None, is_beside: false, origin: source.into() })
            }
        };
        (decided, self.loans.into_iter().map(|loan| loan.finish(self.is_admitted)).collect())
    }
}

impl Loan {
    /// What its region in charge said.
    fn lent(&mut self, reply: Value) -> Result<()> {
        let (deposit, outcome) = self.borrower.lent(reply, Some(self.cost), self.want)?;
        self.there = Some((deposit, outcome.ok_or_else(unanswered)?));
        Ok(())
    }

    fn outcome(&self, said: &Spent, is_admitted: bool) -> Outcome {
        let may_fit = self.borrower.may_fit(self.cost);
        let near = || said.outcome(may_fit);
        let mut outcome = self.there.as_ref().map_or_else(near, |(_, outcome)| *outcome);
        if outcome.fits && !is_admitted {
            // What was charged for the call is kept for others.
            outcome.figures.remaining += if self.there.is_some() { self.cost as u64 } else { 0 };
            outcome.changed = false;
        }
        outcome
    }

    /// Keeps what is yet to be done about it.
    fn keep(&mut self, said: Spent, is_admitted: bool) {
        self.borrower.note(LoanUse::Asked, said.want);
        if is_admitted && self.there.is_none() {
            self.borrower.note(LoanUse::Spent, self.cost);
        }
        self.later.want = (said.want > 0.0).then_some((said.want, said.now));
        self.later.ended.extend(said.ended);
    }
}

/// Whether one script may touch all keys.
fn is_in_one_slot(plan: &Plan<'_>, wire: &CallSettings) -> bool {
    let mut slots = plan.charges.iter().map(|charge| slot_of(charge.tag.as_bytes()));
    let first = slots.next();
    !wire.near_cluster || slots.all(|slot| Some(slot) == first)
}

impl ScriptSequence for BorrowingTogether<'_> {
    fn next(&self) -> Option<ScriptCall> {
        (self.failure.is_none() && matches!(self.step, Step::Near)).then(|| self.near_call())
    }

    fn region(&self) -> Option<usize> {
        None
    }

    fn is_undoing(&self) -> bool {
        false
    }

    fn may_repeat(&self) -> bool {
        false
    }

    fn feed(&mut self, reply: Result<Value>) {
        if let (Some(now), None) = (outside(&reply), self.clocks.server_now) {
            self.clocks.server_now = Some(now);
            return;
        }
        self.step = Step::Done;
        if let Err(error) = reply.and_then(|reply| self.near_said(reply)) {
            let places: SmallList<usize> = gather(0..self.plan.charges.len());
            self.failure = Some(located(error.unmended(), self.plan, &places, self.wire));
        }
    }
}
