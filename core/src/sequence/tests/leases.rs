//! Histories of processes that borrow of one server: what they admit in any interval stays within the bound.

mod setting;

use std::collections::BTreeMap;

use self::setting::{MS, Setting, Spikes};
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
            }
        }
        self
    }

    fn give_back(&mut self, units: u64, granted_at: f64, now: Micros) {
        let at = now + self.trip();
        self.push(at, Event::GiveBack(units, granted_at));
    }

    fn call(&mut self, process: usize, now: Micros) {
        let pause = self.pause(process, now);
        let now_or_later = now.max(self.stopped_until[process]);
        self.push(now_or_later + pause, Event::Call(process));
        if now < self.stopped_until[process] {
            return;
        }
        if self.setting.fails {
            match self.random.below(3_000) {
                0 => self.cells[process] = Lease::new(now),
                1 => self.stopped_until[process] = now + self.random.below(SECOND as u64) as Micros,
                2 => {
                    if let Some(unspent) = self.cells[process].end() {
                        self.give_back(unspent.units, unspent.granted_at, now);
                    }
                }
                _ => {}
            }
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

/// The cases of the design: even and skewed, half the limit to twice of it.
#[test]
fn nearly_all_is_admitted_and_few_calls_reach_the_server() {
    for (is_skewed, offered) in [(false, 0.5), (false, 0.9), (false, 2.0), (true, 0.5), (true, 2.0)] {
        let setting = Setting {
            algorithm: "gcra",
            limit: 20_000,
            burst: 2_000,
            age_ms: 20,
            pace_ms: 10,
            processes: 10,
            offered,
            is_skewed,
            spikes: None,
            most_cost: 1,
            trip: 100,
            fails: false,
        };
        let world = World::new(setting, 1).play(3 * SECOND);
        world.check_bound();
        let ideal = (3 * setting.limit + setting.burst).min(world.calls) as f64;
        let (part, calls) = (world.sum() as f64 / ideal, world.calls as f64 / world.requests as f64);
        assert!(calls > 5.0, "seed 1: requests: one for {calls} checks: {setting:?}");
        assert!(part >= 0.97, "seed 1: ideal: {part} of it: {setting:?}");
    }
}

/// Half of what is left, which a loan is at most, is no sign of others.
#[test]
fn one_process_that_asks_for_less_than_the_limit_is_denied_nothing() {
    for (algorithm, limit, age_ms, offered) in [
        ("fixed_window", 1_000, 1_000, 0.8),
        ("fixed_window", 1_000, 500, 0.8),
        ("fixed_window", 1_000, 20, 0.8),
        ("gcra", 1_000, 1_000, 0.8),
        ("gcra", 20_000, 20, 0.9),
    ] {
        let setting = Setting {
            algorithm,
            limit,
            burst: limit,
            age_ms,
            pace_ms: age_ms / 2,
            processes: 1,
            offered,
            is_skewed: false,
            spikes: None,
            most_cost: 1,
            trip: 100,
            fails: false,
        };
        let world = World::new(setting, 1).play(5 * SECOND);
        assert!(
            world.by_lease * 2 > world.calls,
            "seed 1: {} of {}: {setting:?}",
            world.by_lease,
            world.calls
        );
        assert_eq!((world.denied_by_lease, world.sum()), (0, world.calls), "seed 1: {setting:?}");
    }
}

/// Demand that comes in spikes above the limit: with nothing between them, or with calls that need a part of what is there.
#[test]
fn spikes_admit_nearly_as_much_as_a_limiter_that_decides_each_call() {
    let spikes = [
        (0.97, 1.2, 1_000, (40, 300, 0.0)),
        (0.97, 1.5, 2_000, (100, 500, 0.0)),
        (0.97, 2.0, 10_000, (200, 1_500, 0.0)),
        (0.97, 3.0, 5_000, (300, 2_000, 0.0)),
        (0.97, 0.8, 1_000, (50, 1_200, 0.0)),
        (0.97, 1.5, 1_000, (100, 1_000, 0.6)),
        // Units that are not spent in time have leaked: what is lent between the spikes lacks in them.
        (0.87, 1.5, 1_000, (40, 200, 0.6)),
        (0.88, 1.2, 2_000, (40, 400, 0.8)),
        (0.91, 1.2, 2_000, (40, 400, 0.3)),
    ];
    for (is_skewed, (least, offered, burst, spikes)) in
        [false, true].into_iter().flat_map(|it| spikes.map(|of| (it, of)))
    {
        let (lasting, every, beside) = spikes;
        let setting = Setting {
            algorithm: "gcra",
            limit: 10_000,
            burst,
            age_ms: 20,
            pace_ms: 10,
            processes: 10,
            offered,
            is_skewed,
            spikes: Some(Spikes { lasting: lasting * MS, every: every * MS, beside }),
            most_cost: 1,
            trip: 500,
            fails: false,
        };
        let world = World::new(setting, 1).play(6 * SECOND);
        world.check_bound();
        let part = world.sum() as f64 / world.ideal as f64;
        assert!(part >= least, "seed 1: ideal: {part} of it: {setting:?}");
    }
}
