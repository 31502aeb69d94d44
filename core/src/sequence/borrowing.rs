//! A check with which units are borrowed: of the region in charge of its key, where it is spent from what that region has
//! lent or decided there, or of the near server for a process.

use redis::Value;
use smallvec::SmallVec;

use super::borrower::{Borrower, Spending};
use super::settings::CallSettings;
use super::{Decided, ScriptSequence, located, unanswered};
use crate::algorithm::Micros;
use crate::decision::Source;
use crate::error::{Error, Result};
use crate::metrics::LoanUse;
use crate::plan::{ENFORCED, Op, Outcome, Plan, SmallList};
use crate::regions::Deposit;
use crate::script::ScriptCall;

/// Such a check under way.
#[derive(Debug)]
pub(crate) struct Borrowing<'a> {
    plan: &'a Plan<'a>,
    wire: &'a CallSettings,
    borrower: Borrower,
    cost: f64,
    /// The place of the region in charge; `None`: the near server lends.
    region: Option<usize>,
    step: Step,
    failure: Option<Error>,
    outcome: Option<(Outcome, Source)>,
    later: Later,
}

#[derive(Debug)]
enum Step {
    Spend,
    /// Who lends decides. How much to borrow, and the time of that.
    Lend(f64, Micros),
    Done,
}

/// What nobody waits for.
#[derive(Debug, Default)]
pub(crate) struct Later {
    /// What was not spent in time: units, and when they were granted.
    pub(crate) ended: SmallVec<[(f64, f64); 1]>,
    /// A loan to ask for: how much, and the time of that.
    pub(crate) want: Option<(f64, Micros)>,
    /// What the region in charge has lent, or said.
    pub(crate) lent: Option<Deposit>,
}

impl<'a> Borrowing<'a> {
    /// `None`: the region in charge decides all by itself, or this one is in charge. `trip` says how long it takes to a region
    /// and back.
    pub(crate) fn new(
        plan: &'a Plan<'a>,
        wire: &'a CallSettings,
        op: Op,
        clock: Option<Micros>,
        trip: impl Fn(usize) -> Micros,
    ) -> Option<Self> {
        let [charge] = &*plan.charges else { return None };
        let region = wire.region_of(charge)?;
        let is_apart = charge.holder.is_some() || charge.recorded_key.is_some() || charge.amount.is_some();
        if op != Op::Check || plan.request.is_some() || is_apart || charge.group != ENFORCED {
            return None;
        }
        let borrower = Borrower::new(charge, &wire.prefix, trip(region), clock)?;
        Some(Self {
            plan,
            wire,
            borrower,
            cost: charge.cost,
            region: Some(region),
            step: Step::Spend,
            failure: None,
            outcome: None,
            later: Later::default(),
        })
    }

    /// A check with which a process borrows `want` units of the near server, `sent_at`, to be spent for `age` microseconds.
    pub(crate) fn leasing(
        plan: &'a Plan<'a>,
        wire: &'a CallSettings,
        clock: Option<Micros>,
        (want, sent_at): (f64, Micros),
        age: Micros,
    ) -> Self {
        let charge = &plan.charges[0];
        let borrower = Borrower::leasing(charge, &wire.prefix, age as f64, clock);
        borrower.note(LoanUse::Asked, want);
        Self {
            plan,
            wire,
            borrower,
            cost: charge.cost,
            region: None,
            step: Step::Lend(want, sent_at),
            failure: None,
            outcome: None,
            later: Later::default(),
        }
    }

    fn spent(&mut self, reply: Value) -> Result<()> {
        let mut spent = self.borrower.spent(reply)?;
        self.later.ended = std::mem::take(&mut spent.ended);
        self.borrower.note(LoanUse::Asked, spent.want);
        if spent.spending == Spending::Spent {
            self.borrower.note(LoanUse::Spent, self.cost);
        }
        match spent.spending {
            Spending::Elsewhere => self.step = Step::Lend(spent.want, spent.now),
            Spending::Denied | Spending::Spent => {
                self.later.want = (spent.want > 0.0).then_some((spent.want, spent.now));
                let may_fit = self.borrower.may_fit(self.cost);
                self.outcome = Some((spent.outcome(may_fit), Source::Allotment));
            }
        }
        Ok(())
    }

    fn lent(&mut self, asked: (f64, Micros), reply: Value) -> Result<()> {
        let (lent, outcome) = self.borrower.lent(reply, Some(self.cost), asked)?;
        self.borrower.note(LoanUse::Granted, lent.granted);
        self.outcome = outcome.map(|outcome| (outcome, Source::Server));
        self.later.lent = lent.says_something().then_some(lent);
        Ok(())
    }

    /// The place of the region in charge, where it failed to decide.
    pub(crate) fn cut_off(&self) -> Option<usize> {
        self.region().filter(|_| self.failure.is_some())
    }

    /// What was decided, and what is yet to be sent to the region in charge, or kept.
    pub(crate) fn finish(self) -> (Result<Decided>, Borrower, Option<usize>, Later) {
        let decided = match (self.failure, self.outcome) {
            (Some(error), _) => Err(error),
            (None, None) => Err(unanswered()),
            (None, Some((outcome, source))) => Ok(Decided {
                outcomes: SmallList::from_buf([outcome]),
                forecast: None,
                token: None,
                is_beside: false,
                origin: source.into(),
            }),
        };
        (decided, self.borrower, self.region, self.later)
    }
}

impl ScriptSequence for Borrowing<'_> {
    fn next(&self) -> Option<ScriptCall> {
        match &self.step {
            _ if self.failure.is_some() => None,
            Step::Spend => Some(self.borrower.spend(self.cost)),
            Step::Lend(want, _) => Some(self.borrower.lend(Some(self.cost), *want)),
            Step::Done => None,
        }
    }

    fn region(&self) -> Option<usize> {
        if matches!(self.step, Step::Lend(..)) { self.region } else { None }
    }

    fn is_undoing(&self) -> bool {
        false
    }

    fn may_repeat(&self) -> bool {
        false
    }

    fn feed(&mut self, reply: Result<Value>) {
        let step = std::mem::replace(&mut self.step, Step::Done);
        let done = reply.and_then(|reply| match &step {
            Step::Spend => self.spent(reply),
            &Step::Lend(want, asked_at) => self.lent((want, asked_at), reply),
            Step::Done => Ok(()),
        });
        if let Err(error) = done {
            self.failure = Some(located(error, self.plan, &[0], self.wire));
            self.step = step;
        }
    }
}
