//! Histories of processes that borrow of one server: what they admit in any interval stays within the bound.

mod ideal;
mod setting;

use std::collections::BTreeMap;

use self::setting::{Fault, Setting, Spikes};
use crate::algorithm::{Micros, Policy, State};
use crate::catalog::{Catalog, Share};
use crate::cells::{Lease, Spending};
use crate::keys::secret::SecretNames;
use crate::plan::{Op, Plan};
use crate::random::Random;
use crate::regions::Deposit;
use crate::regions::lending::lend;
use crate::request::Check;
use crate::rules::{LeaseTerms, Rules};
use crate::sequence::Borrower;

const SECOND: Micros = 1_000_000;
const BEGIN: Micros = 1_700_000_000_000_000;

enum Event {
    Call(usize),
    /// At the server: of whom, with which cost, how much is wanted, and when it was sent.
    Request(usize, u64, Option<u64>, Micros),
    Reply(usize, u64, Micros, Deposit),
    GiveBack(u64, f64),
    /// At the server: of who neither spends what it borrows nor gives it back.
    Hoard,
}

struct World {
    seed: u64,
    setting: Setting,
    random: Random,
    policy: Policy,
    borrower: Borrower,
    terms: LeaseTerms,
    state: Option<State>,
    cells: Vec<Lease>,
    stopped_until: Vec<Micros>,
    /// When the server lent what each process has.
    lent_at: Vec<Micros>,
    events: BTreeMap<(Micros, u64), Event>,
    number: u64,
    /// When what was admitted.
    admitted: Vec<(Micros, u64)>,
    by_lease: u64,
    denied_by_lease: u64,
    requests: u64,
    calls: u64,
    /// What a limiter that decides each call at once would have, and how much it would have admitted.
    exact: State,
    ideal: u64,
}

impl World {
    fn new(setting: Setting, seed: u64) -> Self {
        let rules = Rules::from_json(&setting.rule()).unwrap();
        let terms = rules.find("r").unwrap().lease.unwrap();
        let catalog = Catalog::new(rules, SecretNames::default(), Share::default());
        let plan = Plan::new(&catalog, &[Check::new("r", "k")], Op::Check).unwrap();
        let charge = &plan.charges[0];
        let mut world = Self {
            seed,
            random: Random::new(seed),
            policy: charge.policy.as_ref().clone(),
            borrower: Borrower::leasing(charge, "p", terms.max_age_us as f64, None),
            terms,
            state: None,
            cells: vec![Lease::new(BEGIN); setting.processes],
            stopped_until: vec![0; setting.processes],
            lent_at: vec![0; setting.processes],
            events: BTreeMap::new(),
            number: 0,
            admitted: Vec::new(),
            by_lease: 0,
            denied_by_lease: 0,
            requests: 0,
            calls: 0,
            exact: charge.policy.fresh(BEGIN),
            ideal: 0,
            setting,
        };
        (0..world.setting.processes).for_each(|process| world.push(BEGIN, Event::Call(process)));
        world
    }

    fn push(&mut self, at: Micros, event: Event) {
        self.number += 1;
        self.events.insert((at, self.number), event);
    }

    fn trip(&mut self) -> Micros {
        1 + self.random.below(self.setting.trip as u64) as Micros
    }

    /// Microseconds from a call of a process to its next one.
    fn pause(&mut self, process: usize, now: Micros) -> Micros {
        let Setting { processes, is_skewed, offered, spikes, limit, most_cost, .. } = self.setting;
        let weight = |process: usize| if is_skewed { process as f64 + 1.0 } else { 1.0 };
        let all: f64 = (0..processes).map(weight).sum();
        let own = limit as f64 * 2.0 / (most_cost as f64 + 1.0) * weight(process) / all;
        let Spikes { lasting, every, beside } =
            spikes.unwrap_or(Spikes { lasting: 1, every: 1, beside: 0.0 });
        let part = lasting as f64 / every as f64;
        let within = (offered - beside * (1.0 - part)) / part;
        let mut at = now;
        loop {
            let into = (at - BEGIN) % every;
            let (rate, rest) = if into < lasting || part == 1.0 {
                (within * own, if part == 1.0 { Micros::MAX } else { lasting - into })
            } else {
                (beside * own, every - into)
            };
            let chance = (1 + self.random.below(1 << 30)) as f64 / f64::from(1 << 30);
            let pause = (-chance.ln() / rate * 1e6) as Micros;
            if pause < rest {
                return at + pause + 1 - now;
            }
            at += rest;
        }
    }

    fn play(mut self, lasts: Micros) -> Self {
        while let Some(((now, _), event)) = self.events.pop_first() {
            if now > BEGIN + lasts {
                break;
            }
            match event {
                Event::Call(process) => self.call(process, now),
                Event::Request(process, cost, want, sent_at) => {
                    self.decide(process, (cost, want, sent_at), now)
                }
                Event::Reply(process, want, sent_at, deposit) => {
                    let terms = self.terms;
                    if deposit.granted > 0.0 && now < sent_at + terms.max_age_us as Micros {
                        self.lent_at[process] = deposit.granted_at as Micros;
                    }
                    let unspent = self.cells[process].deposit(now, (want, sent_at), &deposit, &terms);
                    if let Some(unspent) = unspent {
                        self.give_back(unspent.units, unspent.granted_at, now);
                    }
                }
                Event::GiveBack(units, granted_at) => {
                    if let Some(state) = &mut self.state {
                        self.policy.refund(state, now, units as f64, Some(granted_at as Micros));
                    }
                }
                Event::Hoard => {
                    let state = self.state.get_or_insert_with(|| self.policy.fresh(now));
                    let ahead = self.setting.limit as f64 / 1e6 * self.terms.max_age_us as f64;
                    lend(&self.policy, state, now, None, ahead);
                }
            }
        }
        self
    }

    fn give_back(&mut self, units: u64, granted_at: f64, now: Micros) {
        let at = now + self.trip();
        self.push(at, Event::GiveBack(units, granted_at));
    }

    fn call(&mut self, process: usize, now: Micros) {
        if self.setting.hoards && process == 0 {
            self.push(now + self.terms.pace_us as Micros, Event::Call(process));
            let at = now + self.trip();
            return self.push(at, Event::Hoard);
        }
        let pause = self.pause(process, now);
        let now_or_later = now.max(self.stopped_until[process]);
        self.push(now_or_later + pause, Event::Call(process));
        if now < self.stopped_until[process] {
            return;
        }
        if !self.setting.faults.is_empty() {
            self.fail(process, now);
        }
        self.calls += 1;
        let cost = 1 + self.random.below(self.setting.most_cost);
        let (terms, most) = (self.terms, self.policy.most());
        let (_, exactly) = lend(&self.policy, &mut self.exact, now, Some(cost as f64), 0.0);
        self.ideal += if exactly.is_some_and(|outcome| outcome.fits) { cost } else { 0 };
        match self.cells[process].spend(now, (cost, most), &terms) {
            Spending::Spent { .. } => {
                let age = now - self.lent_at[process];
                assert!(age <= terms.max_age_us as Micros, "seed {}: age: {age} us", self.seed);
                self.by_lease += cost;
                self.admitted.push((now, cost));
            }
            Spending::Denied { retry_after, .. } => {
                assert!(retry_after > 0 && cost <= most);
                self.denied_by_lease += 1;
            }
            Spending::Elsewhere => {
                let want = self.cells[process].ask(now, (cost, most), &terms);
                self.requests += 1;
                let at = now + self.trip();
                self.push(at, Event::Request(process, cost, want, now));
            }
        }
    }

    fn fail(&mut self, process: usize, now: Micros) {
        let place = self.random.below(self.setting.faults_every) as usize;
        match self.setting.faults.get(place) {
            Some(Fault::Crash) => self.cells[process] = Lease::new(now),
            Some(Fault::Stop) => {
                self.stopped_until[process] = now + self.random.below(SECOND as u64) as Micros;
            }
            Some(Fault::GiveBack) => {
                if let Some(unspent) = self.cells[process].end() {
                    self.give_back(unspent.units, unspent.granted_at, now);
                }
            }
            None => {}
        }
    }

    fn decide(&mut self, process: usize, (cost, want, sent_at): (u64, Option<u64>, Micros), now: Micros) {
        let state = self.state.get_or_insert_with(|| self.policy.fresh(now));
        let mut before = state.clone();
        self.policy.advance(&mut before, now);
        let wanted = want.unwrap_or(0) as f64;
        let (lent, outcome) = lend(&self.policy, state, now, Some(cost as f64), wanted);
        let is_granted = outcome.is_some_and(|outcome| outcome.fits);
        if is_granted {
            self.admitted.push((now, cost));
        }
        let Some(want) = want else { return };
        let own = Some((cost as f64, is_granted));
        let (deposit, _) = self.borrower.follow(before, (lent, now), own, (wanted, sent_at));
        let at = now + self.trip();
        self.push(at, Event::Reply(process, want, sent_at, deposit));
    }

    /// In any interval, what is admitted is at most the burst, what leaks in it, and what leaks while a lease lasts.
    fn check_bound(&self) {
        let (seed, Setting { algorithm, limit, burst, .. }) = (self.seed, self.setting);
        let rate = limit as f64 / 1e6;
        if algorithm == "fixed_window" {
            let mut windows = BTreeMap::<Micros, u64>::new();
            self.admitted.iter().for_each(|(at, cost)| *windows.entry(at / SECOND).or_default() += cost);
            let is_kept = windows.values().all(|admitted| *admitted <= limit);
            assert!(is_kept, "seed {seed}: window: {windows:?} {:?}", self.setting);
            return;
        }
        let ahead = rate * self.terms.max_age_us as f64;
        let (mut sum, mut least) = (0.0, f64::INFINITY);
        for &(at, cost) in &self.admitted {
            let leaked = rate * (at - BEGIN) as f64;
            least = f64::min(least, sum - leaked);
            sum += cost as f64;
            let excess = sum - leaked - least - burst as f64 - ahead;
            assert!(excess <= 1.0, "seed {seed}: bound: {excess} beyond it: {:?}", self.setting);
        }
    }

    fn sum(&self) -> u64 {
        self.admitted.iter().map(|(_, cost)| cost).sum()
    }
}

#[test]
fn what_is_admitted_stays_within_the_bound() {
    let (mut leased, mut sum) = (0, 0);
    for seed in 0..40 {
        let setting = Setting::random(&mut Random::new(seed));
        let world = World::new(setting, seed).play(2 * SECOND + SECOND / 2);
        world.check_bound();
        leased += world.by_lease;
        sum += world.sum();
    }
    assert!(leased * 5 > sum, "{leased} of {sum} by leases");
}
