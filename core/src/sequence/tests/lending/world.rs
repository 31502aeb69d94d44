//! Plays a history, event by event.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::plan::Plan;
use crate::algorithm::{Micros, Policy, State};
use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::plan::{Op, Plan as CallPlan};
use crate::random::Random;
use crate::regions::Deposit;
use crate::regions::allotment::{Allotment, Asked, LoanTerms, Spending, Spent, spend_together};
use crate::regions::lending::lend;
use crate::request::Check;
use crate::rules::Rules;
use crate::sequence::Borrower;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Told {
    /// By the region in charge.
    There(bool),
    /// By what was lent.
    Near(bool),
    /// By another limit of the same call.
    Refused,
    /// Nobody answered.
    Lost,
}

/// What callers were told, and when they were.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// When it was decided, in truth.
    pub(super) at: f64,
    pub(super) region: usize,
    pub(super) cost: f64,
    pub(super) told: Told,
    /// How long the denial of the region in charge had been known.
    pub(super) known_for: f64,
}

pub(super) struct Story(pub(super) Vec<Call>);

impl Story {
    pub(super) fn near(&self) -> usize {
        self.0.iter().filter(|call| call.told == Told::Near(true)).count()
    }

    pub(super) fn asked(&self) -> f64 {
        self.0.iter().map(|call| call.cost).sum()
    }

    pub(super) fn admitted(&self) -> f64 {
        self.0.iter().filter(|call| call.is_admitted()).map(|call| call.cost).sum()
    }

    /// The share of the calls of other regions, from then on, that the region in charge decided.
    pub(super) fn far_after(&self, at: f64) -> f64 {
        let calls: Vec<_> = self.0.iter().filter(|call| call.region > 0 && call.at >= at).collect();
        let far = calls.iter().filter(|call| matches!(call.told, Told::There(_) | Told::Lost)).count();
        far as f64 / calls.len().max(1) as f64
    }
}

impl Call {
    pub(super) fn is_admitted(&self) -> bool {
        matches!(self.told, Told::There(true) | Told::Near(true))
    }
}

enum Happening {
    Call(usize),
    /// The region in charge is asked: by whom, the cost of its call, how much it wants, and the time of that near.
    Ask {
        region: usize,
        own: Option<f64>,
        want: f64,
        marked: Micros,
        /// Whether the call has other items, which are decided near when the answer is there.
        has_others: bool,
    },
    Answer {
        region: usize,
        deposit: Deposit,
        /// The cost of a call with other items, whether the region in charge has charged it, and when.
        call: Option<(f64, bool, f64)>,
    },
    GiveBack {
        units: f64,
        granted_at: f64,
    },
}

struct Event {
    at: f64,
    number: usize,
    what: Happening,
}

impl Ord for Event {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

pub(super) struct World<'a> {
    plan: &'a Plan,
    random: Random,
    policy: Policy,
    borrowers: Vec<Borrower>,
    terms: Vec<LoanTerms>,
    /// Of the region in charge.
    state: Option<State>,
    /// Of the others.
    allotments: Vec<Option<Allotment>>,
    /// When each last heard that something was denied, or that less was lent than was asked for.
    heard: Vec<f64>,
    events: BinaryHeap<Event>,
    number: usize,
    lost: usize,
    calls: Vec<Call>,
}

const PACE: f64 = 20_000.0;

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, seed: u64) -> Self {
        let catalog =
            Catalog::new(Rules::from_json(&plan.rule()).unwrap(), SecretNames::default(), Share::default());
        let checks = [Check::new("r", "key")];
        let call = CallPlan::new(&catalog, &checks, Op::Check).unwrap();
        let borrower = |trip: &f64| Borrower::new(&call.charges[0], "p", *trip as Micros, None).unwrap();
        let terms = |trip: &f64| LoanTerms {
            most: plan.burst,
            age: plan.max_age,
            span: plan.max_age.max(2e6),
            trip: *trip,
            pace: PACE,
        };
        let mut world = Self {
            plan,
            random: Random::new(seed ^ 0x5eed),
            policy: call.charges[0].policy.as_ref().clone(),
            borrowers: plan.trips.iter().map(borrower).collect(),
            terms: plan.trips.iter().map(terms).collect(),
            state: None,
            allotments: vec![None; plan.trips.len()],
            heard: vec![f64::NEG_INFINITY; plan.trips.len()],
            events: BinaryHeap::new(),
            number: 0,
            lost: 0,
            calls: Vec::new(),
        };
        for region in 0..plan.demand.len() {
            world.push(0.0, Happening::Call(region));
        }
        world
    }

    pub(super) fn play(mut self) -> Story {
        while let Some(Event { at, what, .. }) = self.events.pop() {
            if at > self.plan.lasts {
                break;
            }
            self.lose(at);
            match what {
                Happening::Call(region) => self.call(region, at),
                Happening::Ask { region, own, want, marked, has_others } => {
                    self.ask(region, (own, want, marked, has_others), at)
                }
                Happening::Answer { region, mut deposit, call } => {
                    if let Some(call) = call {
                        self.decide_others(region, call, &mut deposit, at);
                    }
                    if deposit.says_something() {
                        self.answer(region, &deposit, at);
                    }
                }
                Happening::GiveBack { units, granted_at } => {
                    let now = self.plan.clock(0, at) as Micros;
                    if let Some(state) = &mut self.state {
                        self.policy.refund(state, now, units, Some(granted_at as Micros));
                    }
                }
            }
        }
        Story(self.calls)
    }

    fn push(&mut self, at: f64, what: Happening) {
        self.number += 1;
        self.events.push(Event { at, number: self.number, what });
    }

    /// A number from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.random.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    /// Lets servers forget what was due.
    fn lose(&mut self, at: f64) {
        let mut losses = self.plan.losses.clone();
        losses.sort_by(|one, other| one.1.total_cmp(&other.1));
        while let Some((region, _)) = losses.get(self.lost).filter(|(_, when)| *when <= at) {
            if *region == 0 {
                self.state = None
            } else {
                self.allotments[*region] = None
            }
            self.lost += 1;
        }
    }

    fn told(&mut self, at: f64, region: usize, cost: f64, told: Told) {
        self.calls.push(Call { at, region, cost, told, known_for: at - self.heard[region] });
    }

    fn call(&mut self, region: usize, at: f64) {
        let rate = self.plan.demand[region].at(at);
        let pause = if rate > 0.0 { -(1.0 - self.chance()).ln() / rate } else { 10_000.0 };
        self.push(at + pause, Happening::Call(region));
        if rate <= 0.0 {
            return;
        }
        let cost = (1 + self.random.below(self.plan.most_cost)) as f64;
        if region == 0 {
            let (admitted, _) = self.decide(at, Some(cost), 0.0);
            return self.told(at, region, cost, Told::There(admitted == Some(true)));
        }
        let has_others = self.plan.others > 0 && self.random.below(3) == 0;
        let others_fit = !has_others || !self.refuse();
        let asked = Asked::near(cost, &self.terms[region]);
        let (near, mut spent) = self.spend(region, asked, others_fit, at);
        let own = match spent.spending {
            Spending::Spent => {
                self.told(at, region, cost, if others_fit { Told::Near(true) } else { Told::Refused });
                None
            }
            Spending::Denied => {
                self.told(at, region, cost, Told::Near(false));
                None
            }
            Spending::Elsewhere => Some(cost),
        };
        if own.is_some() || spent.want > 0.0 {
            let (want, marked) = (std::mem::take(&mut spent.want), near as Micros);
            self.send(region, at, Happening::Ask { region, own, want, marked, has_others });
        }
    }

    /// Whether another item of a call is denied.
    fn refuse(&mut self) -> bool {
        self.random.below(100) < self.plan.others
    }

    /// Spends near, at the time of the near server.
    fn spend(&mut self, region: usize, asked: Asked, others_fit: bool, at: f64) -> (f64, Spent) {
        let near = self.plan.clock(region, at).floor();
        let allotment = self.allotments[region].get_or_insert_with(|| Allotment::fresh(near));
        let asked = [(asked, self.terms[region])];
        let mut spent = spend_together(std::slice::from_mut(allotment), near, &asked, others_fit).remove(0);
        for (units, granted_at) in std::mem::take(&mut spent.ended) {
            self.send(region, at, Happening::GiveBack { units, granted_at });
        }
        (near, spent)
    }

    /// The region in charge has answered: the near servers decide all items of the call.
    fn decide_others(
        &mut self,
        region: usize,
        (cost, is_charged, when): (f64, bool, f64),
        deposit: &mut Deposit,
        at: f64,
    ) {
        let others_fit = !self.refuse();
        self.spend(region, Asked::after(cost, is_charged), others_fit, at);
        let told = if others_fit { Told::There(is_charged) } else { Told::Refused };
        self.told(when, region, cost, told);
        *deposit = deposit.after_call(cost, is_charged, others_fit);
    }

    /// To the region in charge.
    fn send(&mut self, region: usize, at: f64, what: Happening) {
        let arrives = at + self.plan.trips[region] / 2.0;
        let is_lost = self.plan.is_cut(region, at, 0) || self.plan.is_cut(region, arrives, 0);
        match what {
            Happening::Ask { own: Some(cost), .. } if is_lost => self.told(at, region, cost, Told::Lost),
            _ if is_lost => {}
            what => self.push(arrives, what),
        }
    }

    /// What the region in charge does with a request.
    fn decide(&mut self, at: f64, own: Option<f64>, want: f64) -> (Option<bool>, (State, f64, Micros)) {
        let now = self.plan.clock(0, at) as Micros;
        let state = self.state.get_or_insert_with(|| self.policy.fresh(now));
        let mut before = state.clone();
        self.policy.advance(&mut before, now);
        let (lent, outcome) = lend(&self.policy, state, now, own, want);
        (outcome.map(|outcome| outcome.fits), (before, lent, now))
    }

    fn ask(
        &mut self,
        region: usize,
        (own, want, marked, has_others): (Option<f64>, f64, Micros, bool),
        at: f64,
    ) {
        let (admitted, (before, lent, now)) = self.decide(at, own, want);
        let back = at + self.plan.trips[region] / 2.0;
        let is_lost = self.plan.is_cut(region, at, 1) || self.plan.is_cut(region, back, 1);
        let call = own.zip(admitted).filter(|_| has_others).map(|(cost, admitted)| (cost, admitted, at));
        if let (Some(cost), Some(admitted)) = (own, admitted)
            && (is_lost || !has_others)
        {
            self.told(at, region, cost, if is_lost { Told::Lost } else { Told::There(admitted) });
        }
        let (deposit, _) =
            self.borrowers[region].follow(before, (lent, now), own.zip(admitted), (want, marked));
        if !is_lost && (call.is_some() || deposit.says_something()) {
            self.push(back, Happening::Answer { region, deposit, call });
        }
    }

    fn answer(&mut self, region: usize, deposit: &Deposit, at: f64) {
        let near = self.plan.clock(region, at).floor();
        if deposit.denied_until > 0.0 || deposit.contended_until > 0.0 {
            self.heard[region] = at;
        }
        let allotment = self.allotments[region].get_or_insert_with(|| Allotment::fresh(near));
        let dropped = allotment.deposit(near, deposit, &self.terms[region]);
        if dropped > 0.0 {
            let what = Happening::GiveBack { units: dropped, granted_at: deposit.granted_at };
            self.send(region, at, what);
        }
    }
}
