//! Processes that borrow units of a key, and the server that lends them: the code that decides in production, without a server.

use crate::algorithm::{Micros, Op, Policy, State};
use crate::catalog::{Catalog, Share};
use crate::cells::{Lease, Spending, Unspent};
use crate::error::Result;
use crate::keys::secret::SecretNames;
use crate::plan::Plan;
use crate::regions::Deposit;
use crate::regions::lending::lend;
use crate::request::Check;
use crate::rules::{LeaseTerms, Rule, Rules};
use crate::sequence::Borrower;

/// A key at the server, which decides checks and lends units. Times are microseconds since 1970.
#[derive(Debug, Clone)]
pub struct Lender {
    policy: Policy,
    borrower: Borrower,
    state: Option<State>,
}

/// A check that the server decides, with how much the process borrows in the same round trip.
#[derive(Debug, Clone, Copy)]
pub struct LoanRequest {
    cost: u64,
    want: Option<u64>,
    sent_at: Micros,
}

/// What the server answers.
#[derive(Debug, Clone, Copy)]
pub struct LoanReply {
    /// Whether it admits the check itself.
    pub allowed: bool,
    /// What is left.
    pub remaining: u64,
    /// When the cost fits, in microseconds from now; `None`: never.
    pub retry_after_us: Option<u64>,
    /// How many units it lends.
    pub lent: u64,
    deposit: Deposit,
}

/// Units that were not spent in time.
#[derive(Debug, Clone, Copy)]
pub struct UnspentUnits(Unspent);

/// What a process decides about a check.
#[derive(Debug, Clone, Copy)]
pub enum ProcessDecision {
    /// Admitted by borrowed units, of which so many are left.
    Spent(u64),
    /// Denied until the next request, in so many microseconds.
    Denied(u64),
    /// The server decides.
    Server(LoanRequest),
}

/// What a process has borrowed of a key.
#[derive(Debug, Clone)]
pub struct BorrowingProcess {
    lease: Lease,
    terms: LeaseTerms,
    most: u64,
}

fn micros(us: u64) -> Micros {
    Micros::try_from(us).unwrap_or(Micros::MAX)
}

impl Lender {
    /// A key of a rule that nobody has asked for yet; `None`: the rule has no `lease`.
    ///
    /// # Errors
    /// As `check`.
    pub fn new(rules: &Rules, rule: &str) -> Result<Option<Self>> {
        let catalog = Catalog::new(rules.clone(), SecretNames::default(), Share::default());
        let plan = Plan::new(&catalog, &[Check::new(rule, "key")], Op::Check)?;
        let lent = plan.charges.first().and_then(|charge| Some((charge, charge.rule.rule.lease?)));
        Ok(lent.map(|(charge, terms)| Self {
            policy: charge.policy.as_ref().clone(),
            borrower: Borrower::leasing(charge, "", terms.max_age_us as f64, None),
            state: None,
        }))
    }

    /// Decides a check, and lends.
    pub fn decide(&mut self, now_us: u64, request: &LoanRequest) -> LoanReply {
        let (now, cost, want) = (micros(now_us), request.cost as f64, request.want.unwrap_or(0) as f64);
        let state = self.state.get_or_insert_with(|| self.policy.fresh(now));
        let mut before = state.clone();
        self.policy.advance(&mut before, now);
        let (lent, outcome) = lend(&self.policy, state, now, Some(cost), want);
        let allowed = outcome.is_some_and(|outcome| outcome.fits);
        let asked = (want, request.sent_at);
        let (deposit, outcome) = self.borrower.follow(before, (lent, now), Some((cost, allowed)), asked);
        let figures = outcome.map(|outcome| outcome.figures);
        LoanReply {
            allowed,
            remaining: figures.map_or(0, |figures| figures.remaining),
            retry_after_us: figures.and_then(|figures| figures.retry_after).map(Micros::unsigned_abs),
            lent: lent as u64,
            deposit,
        }
    }

    /// Takes back what was not spent.
    pub fn take_back(&mut self, now_us: u64, unspent: UnspentUnits) {
        if let Some(state) = &mut self.state {
            let Unspent { units, granted_at } = unspent.0;
            self.policy.refund(state, micros(now_us), units as f64, Some(granted_at as Micros));
        }
    }
}

impl UnspentUnits {
    /// How many.
    pub fn count(&self) -> u64 {
        self.0.units
    }
}

impl BorrowingProcess {
    /// A process that has borrowed nothing of a key yet; `None`: the rule has no `lease`.
    pub fn new(rule: &Rule, now_us: u64) -> Option<Self> {
        let (terms, limit) = (rule.lease?, rule.limits.first()?);
        let most = Policy::new(rule, limit, None).most();
        Some(Self { lease: Lease::new(micros(now_us)), terms, most })
    }

    /// Decides a check, or says what to send to the server.
    pub fn check(&mut self, now_us: u64, cost: u64) -> ProcessDecision {
        let (now, cost_and_most) = (micros(now_us), (cost, self.most));
        match self.lease.spend(now, cost_and_most, &self.terms) {
            Spending::Spent { left, .. } => ProcessDecision::Spent(left),
            Spending::Denied { retry_after, .. } => ProcessDecision::Denied(retry_after.unsigned_abs()),
            Spending::Elsewhere => {
                let want = self.lease.ask(now, cost_and_most, &self.terms);
                ProcessDecision::Server(LoanRequest { cost, want, sent_at: now })
            }
        }
    }

    /// Keeps what the server has lent. Answers what is to be given back of the last loan.
    pub fn receive(&mut self, now_us: u64, request: &LoanRequest, reply: &LoanReply) -> Option<UnspentUnits> {
        let asked = (request.want?, request.sent_at);
        self.lease.deposit(micros(now_us), asked, &reply.deposit, &self.terms).map(UnspentUnits)
    }

    /// What was not spent in time; nothing while it may still be spent.
    pub fn end(&mut self, now_us: u64) -> Option<UnspentUnits> {
        if self.lease.valid_until() > micros(now_us) {
            return None;
        }
        self.lease.end().map(UnspentUnits)
    }
}
