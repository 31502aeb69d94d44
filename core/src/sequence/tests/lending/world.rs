//! Plays a history, event by event.

use std::collections::BinaryHeap;

use super::event::{Event, Happening};
use super::plan::Plan;
use super::story::{Call, Story, Told};
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

pub(super) struct World<'a> {
    plan: &'a Plan,
    random: Random,
    policy: Policy,
    borrowers: Vec<Borrower>,
    terms: Vec<LoanTerms>,
    /// What each region knows of the key while it is in charge, of which one is at a time, and by two maps two are.
    states: Vec<Option<State>>,
    allotments: Vec<Option<Allotment>>,
    /// What each decides by while it is cut off, and what it has decided.
    part: Policy,
    parts: Vec<Option<State>>,
    /// When each last heard that something was denied, or that less was lent than was asked for.
    heard: Vec<f64>,
    events: BinaryHeap<Event>,
    number: usize,
    lost: usize,
    calls: Vec<Call>,
}

const PACE: f64 = 20_000.0;
/// So long a caller waits for the region in charge.
const TIMEOUT: f64 = 50_000.0;
/// What a process takes for the trip before it has measured it.
const UNKNOWN_TRIP: f64 = 50_000.0;

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
        let part = call.by_part(plan.part(), |_| true);
        let mut world = Self {
            plan,
            random: Random::new(seed ^ 0x5eed),
            policy: call.charges[0].policy.as_ref().clone(),
            borrowers: plan.trips.iter().map(borrower).collect(),
            terms: plan.trips.iter().map(terms).collect(),
            states: vec![None; plan.trips.len()],
            allotments: vec![None; plan.trips.len()],
            part: part.charges[0].policy.as_ref().clone(),
            parts: vec![None; plan.trips.len()],
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
                Happening::Ask { region, owner, own, want, marked, has_others } => {
                    self.ask((region, owner), (own, want, marked, has_others), at)
                }
                Happening::InVain { region, cost } => self.decide_by_part(region, cost, at),
                Happening::Answer { region, sent, call, .. } if self.plan.is_restarted(region, sent, at) => {
                    // Nobody is there any more who would keep what was lent.
                    self.terms[region].trip = UNKNOWN_TRIP;
                    if let Some((cost, _, when)) = call {
                        self.told(when, region, cost, Told::Lost);
                    }
                }
                Happening::Answer { region, mut deposit, call, .. } => {
                    self.terms[region].trip = self.plan.trips[region];
                    if let Some(call) = call {
                        self.decide_others(region, call, &mut deposit, at);
                    }
                    if deposit.says_something() {
                        self.answer(region, &deposit, at);
                    }
                }
                Happening::GiveBack { owner, units, granted_at } => {
                    let now = self.plan.clock(owner, at) as Micros;
                    if let Some(state) = &mut self.states[owner] {
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
            self.states[*region] = None;
            self.allotments[*region] = None;
            self.parts[*region] = None;
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
        let owner = self.owner(at);
        if region == owner {
            let (admitted, _) = self.decide(owner, at, Some(cost), 0.0);
            return self.told(at, region, cost, Told::There(admitted == Some(true)));
        }
        let has_others = self.plan.others > 0 && self.random.below(3) == 0;
        let others_fit = !has_others || !self.refuse();
        let asked = Asked::near(cost, &self.terms[region]);
        let (near, mut spent) = self.spend((region, owner), asked, others_fit, at);
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
            self.send(region, at, Happening::Ask { region, owner, own, want, marked, has_others });
        }
    }

    /// The region in charge by the map of the process that calls.
    fn owner(&mut self, at: f64) -> usize {
        let are_two = self.plan.second_map.as_ref().is_some_and(|used| used.contains(&at));
        if are_two { self.random.below(2) as usize } else { 0 }
    }

    /// Whether another item of a call is denied.
    fn refuse(&mut self) -> bool {
        self.random.below(100) < self.plan.others
    }

    /// Spends near, at the time of the near server.
    fn spend(
        &mut self,
        (region, owner): (usize, usize),
        asked: Asked,
        others_fit: bool,
        at: f64,
    ) -> (f64, Spent) {
        let near = self.plan.clock(region, at).floor();
        let allotment = self.allotments[region].get_or_insert_with(|| Allotment::fresh(near));
        let asked = [(asked, self.terms[region])];
        let mut spent = spend_together(std::slice::from_mut(allotment), near, &asked, others_fit).remove(0);
        for (units, granted_at) in std::mem::take(&mut spent.ended) {
            self.send(region, at, Happening::GiveBack { owner, units, granted_at });
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
        let (others_fit, owner) = (!self.refuse(), self.owner(at));
        self.spend((region, owner), Asked::after(cost, is_charged), others_fit, at);
        let told = if others_fit { Told::There(is_charged) } else { Told::Refused };
        self.told(when, region, cost, told);
        *deposit = deposit.after_call(cost, is_charged, others_fit);
    }

    /// To the region in charge.
    fn send(&mut self, region: usize, at: f64, what: Happening) {
        let arrives = at + self.plan.trips[region] / 2.0;
        let is_lost = self.plan.is_cut(region, at, 0) || self.plan.is_cut(region, arrives, 0);
        match what {
            Happening::Ask { own: Some(cost), .. } if is_lost => {
                self.push(at + TIMEOUT, Happening::InVain { region, cost })
            }
            _ if is_lost => {}
            what => self.push(arrives, what),
        }
    }

    /// What the region in charge does with a request.
    fn decide(
        &mut self,
        owner: usize,
        at: f64,
        own: Option<f64>,
        want: f64,
    ) -> (Option<bool>, (State, f64, Micros)) {
        let now = self.plan.clock(owner, at) as Micros;
        let state = self.states[owner].get_or_insert_with(|| self.policy.fresh(now));
        let mut before = state.clone();
        self.policy.advance(&mut before, now);
        let (lent, outcome) = lend(&self.policy, state, now, own, want);
        (outcome.map(|outcome| outcome.fits), (before, lent, now))
    }

    /// A region that waited for the one in charge in vain decides by its part.
    fn decide_by_part(&mut self, region: usize, cost: f64, at: f64) {
        let now = self.plan.clock(region, at) as Micros;
        let state = self.parts[region].get_or_insert_with(|| self.part.fresh(now));
        let (_, outcome) = lend(&self.part, state, now, Some(cost), 0.0);
        self.told(at, region, cost, Told::Part(outcome.is_some_and(|outcome| outcome.fits)));
    }

    fn ask(
        &mut self,
        (region, owner): (usize, usize),
        (own, want, marked, has_others): (Option<f64>, f64, Micros, bool),
        at: f64,
    ) {
        let (admitted, (before, lent, now)) = self.decide(owner, at, own, want);
        let back = at + self.plan.trips[region] / 2.0;
        let is_lost = self.plan.is_cut(region, at, 1) || self.plan.is_cut(region, back, 1);
        let call = own.zip(admitted).filter(|_| has_others).map(|(cost, admitted)| (cost, admitted, at));
        if let (Some(cost), Some(admitted)) = (own, admitted)
            && (is_lost || !has_others)
        {
            match is_lost {
                true => self.push(back + TIMEOUT, Happening::InVain { region, cost }),
                false => self.told(at, region, cost, Told::There(admitted)),
            }
        }
        let (deposit, _) =
            self.borrowers[region].follow(before, (lent, now), own.zip(admitted), (want, marked));
        if !is_lost && (call.is_some() || deposit.says_something()) {
            self.push(
                back,
                Happening::Answer { region, sent: back - self.plan.trips[region], deposit, call },
            );
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
            let owner = self.owner(at);
            let what = Happening::GiveBack { owner, units: dropped, granted_at: deposit.granted_at };
            self.send(region, at, what);
        }
    }
}
