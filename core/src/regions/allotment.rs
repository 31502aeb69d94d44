//! What a region was lent of one key, and how it spends that: what the scripts of an allotment do, as a pure function.

use super::deposit::Deposit;
use crate::time::clock::LATEST;

/// A rate at which fewer units are spent before a loan ends is none to lend for; nor is a loan that ends in fewer trips.
const LEAST_SPENT: f64 = 10.0;
/// A region borrows what its callers ask for in so many trips, and in this time.
const TRIPS: f64 = 4.0;
const AHEAD: f64 = 50_000.0;
const MOST_LOANS: usize = 16;
const QUARTERS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Loan {
    pub(crate) units: f64,
    pub(crate) valid_until: f64,
    /// By the clock of the region in charge.
    pub(crate) granted_at: f64,
}

/// What stays the same from call to call, in microseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoanTerms {
    /// The largest cost that fits at once.
    pub(crate) most: f64,
    /// How long a loan lasts.
    pub(crate) age: f64,
    /// Over which the rate is taken.
    pub(crate) span: f64,
    /// To the region in charge and back.
    pub(crate) trip: f64,
    /// Between two requests for a loan.
    pub(crate) pace: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spending {
    Denied,
    Spent,
    /// The region in charge decides.
    Elsewhere,
}

/// What a call asks of one allotment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) cost: f64,
    /// What it says of what is needed.
    pub(crate) demand: f64,
    /// Whether the region in charge has charged this call, or denied it; `None`: it was not asked.
    pub(crate) there: Option<bool>,
}

impl Asked {
    /// Of a call for which the region in charge was not asked. A cost that can never fit says nothing of what is needed.
    pub(crate) fn near(cost: f64, terms: &LoanTerms) -> Self {
        Self { cost, demand: cost.min(terms.most), there: None }
    }

    /// Of one that it has charged, or denied.
    pub(crate) fn after(cost: f64, is_charged: bool) -> Self {
        Self { cost, demand: 0.0, there: Some(is_charged) }
    }
}

/// An allotment as a call finds it.
struct Found {
    allotment: Allotment,
    spending: Spending,
    rate: f64,
    lends: bool,
    is_denied: bool,
    left: f64,
    ended: Vec<(f64, f64)>,
}

impl Found {
    /// The answer to a call that has changed nothing, as it is going to be sent again.
    fn untouched(&self) -> Spent {
        Spent {
            spending: self.spending,
            left: self.left,
            wait: 0.0,
            fresh: 0.0,
            want: 0.0,
            ended: Vec::new(),
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Spent {
    pub(crate) spending: Spending,
    pub(crate) left: f64,
    pub(crate) wait: f64,
    pub(crate) fresh: f64,
    pub(crate) want: f64,
    /// What was not spent in time: units, and when they were granted.
    pub(crate) ended: Vec<(f64, f64)>,
}

/// The fields are those of `load.lua`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Allotment {
    begun: f64,
    /// Since it began, and in each quarter of a span before that.
    counts: [f64; QUARTERS + 1],
    asked_at: f64,
    denied_until: f64,
    denied_cost: f64,
    contended_until: f64,
    fits_at: f64,
    fresh_at: f64,
    loans: Vec<Loan>,
}

impl Allotment {
    pub(crate) fn fresh(now: f64) -> Self {
        Self {
            begun: now,
            counts: [0.0; QUARTERS + 1],
            asked_at: -(LATEST as f64),
            denied_until: 0.0,
            denied_cost: 0.0,
            contended_until: 0.0,
            fits_at: 0.0,
            fresh_at: 0.0,
            loans: Vec::new(),
        }
    }

    /// After a step of the clock back nothing lasts longer than it may.
    fn heal(&mut self, now: f64, terms: &LoanTerms) {
        if self.begun > now {
            *self = Self {
                denied_until: self.denied_until,
                denied_cost: self.denied_cost,
                loans: std::mem::take(&mut self.loans),
                ..Self::fresh(now)
            };
        }
        self.denied_until = self.denied_until.min(now + terms.age);
        self.loans.iter_mut().for_each(|loan| loan.valid_until = loan.valid_until.min(now + terms.age));
    }

    fn rate(&mut self, now: f64, cost: f64, span: f64) -> f64 {
        let quarter = span / QUARTERS as f64;
        let passed = ((now - self.begun) / quarter).floor();
        self.begun += passed * quarter;
        for _ in 0..(passed as usize).min(self.counts.len()) {
            self.counts.rotate_right(1);
            self.counts[0] = 0.0;
        }
        let [count, whole @ .., last] = &mut self.counts;
        *count += cost;
        let whole = whole.iter().fold(*count, |sum, count| sum + count);
        (whole + *last * (1.0 - (now - self.begun) / quarter)) / span
    }

    pub(crate) fn spend(&mut self, now: f64, cost: f64, terms: &LoanTerms) -> Spent {
        let asked = Asked::near(cost, terms);
        let found = self.find(now, asked, terms);
        self.settle(found, now, (asked, false), terms)
    }

    /// What `decide.lua` does.
    fn find(&self, now: f64, asked: Asked, terms: &LoanTerms) -> Found {
        let mut allotment = self.clone();
        allotment.heal(now, terms);
        let rate = allotment.rate(now, asked.demand, terms.span);
        let ended = allotment.loans.extract_if(.., |loan| loan.valid_until <= now);
        let ended = ended.map(|loan| (loan.units, loan.granted_at)).collect();
        let left: f64 = allotment.loans.iter().map(|loan| loan.units).sum();
        let lends = rate * terms.age >= LEAST_SPENT && terms.age >= TRIPS * terms.trip;
        // A contended limit is shared in small portions. What is larger than one of them, the region in charge decides.
        let is_contended = lends && now < allotment.contended_until && asked.cost <= rate * terms.pace;
        let is_denied = now < allotment.denied_until && asked.cost >= allotment.denied_cost;
        let spending = match asked.there {
            Some(true) => Spending::Spent,
            Some(false) => Spending::Denied,
            None if left >= asked.cost => Spending::Spent,
            None if is_contended || is_denied => Spending::Denied,
            None => Spending::Elsewhere,
        };
        Found { allotment, spending, rate, lends, is_denied, left, ended }
    }

    /// What `spend.lua` does.
    fn settle(
        &mut self,
        found: Found,
        now: f64,
        (asked, is_refused): (Asked, bool),
        terms: &LoanTerms,
    ) -> Spent {
        let Found { allotment, spending, rate, lends, is_denied, mut left, ended } = found;
        *self = allotment;
        if is_refused {
            self.counts[0] -= asked.demand;
        } else if spending == Spending::Spent && asked.there.is_none() {
            left -= asked.cost;
            self.take(asked.cost);
        }
        let is_low = left < rate * (terms.trip + terms.pace) * 1.5;
        // What was denied to a single unit is not lent. A call about which the region in charge was asked has borrowed.
        let is_lent = now >= self.denied_until || self.denied_cost > 1.0;
        let may_ask = is_lent && asked.there.is_none() && !is_refused;
        let mut want = 0.0;
        if lends && is_low && may_ask && now >= self.asked_at + terms.pace {
            let is_shared = now < self.contended_until;
            let ahead = if is_shared { terms.pace } else { terms.age.min(TRIPS * terms.trip + AHEAD) };
            want = (rate * ahead).floor().max(1.0);
            self.asked_at = now;
        }
        let until = if is_denied { self.fits_at.max(self.denied_until) } else { self.asked_at + terms.pace };
        let wait = if spending == Spending::Denied { until.max(now + 1.0) - now } else { 0.0 };
        Spent { spending, left, wait, fresh: (self.fresh_at - now).max(0.0), want, ended }
    }

    /// Takes units, those of the loans that end first before others.
    fn take(&mut self, mut due: f64) {
        for loan in &mut self.loans {
            let taken = loan.units.min(due);
            due -= taken;
            loan.units -= taken;
        }
        self.loans.retain(|loan| loan.units > 0.0);
    }

    /// Answers how many units came too late.
    pub(crate) fn deposit(&mut self, now: f64, deposit: &Deposit, terms: &LoanTerms) -> f64 {
        self.heal(now, terms);
        let Deposit { granted, granted_at, valid_until, .. } = *deposit;
        let is_full = self.loans.len() >= MOST_LOANS;
        let is_late = granted > 0.0 && valid_until <= now;
        match self.loans.last_mut() {
            _ if granted <= 0.0 || is_late => {}
            Some(last) if is_full || (last.valid_until - valid_until).abs() < terms.age / 8.0 => {
                last.units += granted;
                last.valid_until = last.valid_until.min(valid_until);
                last.granted_at = last.granted_at.min(granted_at);
            }
            _ => self.loans.push(Loan { units: granted, valid_until, granted_at }),
        }
        if deposit.denied_until > 0.0 {
            (self.denied_until, self.denied_cost) = (deposit.denied_until, deposit.denied_cost);
            self.fits_at = deposit.fits_at;
        }
        self.contended_until = self.contended_until.max(deposit.contended_until);
        self.fresh_at = deposit.fresh_at;
        if is_late { granted } else { 0.0 }
    }
}

/// What a call of several items does to its allotments: all are spent from, or none is. `others_fit` is whether its limits
/// that are decided near have room.
pub(crate) fn spend_together(
    allotments: &mut [Allotment],
    now: f64,
    asked: &[(Asked, LoanTerms)],
    others_fit: bool,
) -> Vec<Spent> {
    let found: Vec<_> =
        allotments.iter().zip(asked).map(|(it, (asked, terms))| it.find(now, *asked, terms)).collect();
    let is = |what: Spending| move |found: &Found| found.spending == what;
    let is_open = found.iter().any(is(Spending::Elsewhere));
    let is_admitted = others_fit && found.iter().all(is(Spending::Spent));
    let settle = |((allotment, (asked, terms)), found): ((&mut Allotment, &(Asked, LoanTerms)), Found)| {
        if is_open && found.spending != Spending::Elsewhere {
            return found.untouched();
        }
        let is_refused = found.spending == Spending::Spent && !is_admitted;
        allotment.settle(found, now, (*asked, is_refused), terms)
    };
    allotments.iter_mut().zip(asked).zip(found).map(settle).collect()
}
