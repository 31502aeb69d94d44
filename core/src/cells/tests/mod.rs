//! Histories of one key: calls of this process, which take time to reach the server and back, and those of others.

mod steps;
mod together;

use std::collections::VecDeque;
use std::time::Instant;

use smallvec::smallvec;

use super::denial::Now;
use super::table::Cells;
use super::together::Parts;
use super::watch::Watch;
use crate::algorithm::Micros;
use crate::catalog::{Catalog, Share};
use crate::decision::Source;
use crate::keys::secret::SecretNames;
use crate::memory::Engine;
use crate::plan::{Item, Op, Outcome, Plan, RawDecision, SmallList};
use crate::random::Random;
use crate::request::{Check, CheckOptions};
use crate::rules::Rules;

const RULES: [&str; 9] = [
    r#""rate": "5/s""#,
    r#""rate": "10/s", "burst": 3"#,
    r#""algorithm": "fixed_window", "rate": "4/s""#,
    r#""algorithm": "fixed_window", "window_start": "first_request", "rate": "4/s""#,
    r#""algorithm": "sliding_window", "rate": "4/s""#,
    r#""algorithm": "sliding_log", "rate": "4/s""#,
    r#""algorithm": "sliding_buckets", "rate": "6/s""#,
    r#""algorithm": "decay", "limit": 4, "resolution_seconds": 0.3"#,
    r#""limits": [{"rate": "3/s"}, {"rate": "5/2s"}]"#,
];
const AGE: u64 = 700_000;
const COSTS: u64 = 3;

fn catalog(fields: &str) -> Catalog {
    let rules = format!(
        r#"[{{"rule_id": "r", {fields}}}, {{"rule_id": "q", "rate": "6/s", "burst": 4}}, {{"rule_id": "s", "rate": "3/s", "shadow": true}},
            {{"rule_id": "counts", "rate": "5/s", "algorithm": "fixed_window", "count_denied": true}}]"#
    );
    Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default())
}

/// This time by a limiter's clock.
fn at(own: Micros) -> Now {
    Now { own, truly: Instant::now() }
}

/// Under each of these rules, the same key.
fn plan<'a>(catalog: &'a Catalog, rules: &[&'a str], cost: u64) -> Plan<'a> {
    let check = |rule: &&'a str| Check::new(rule, "k").with(CheckOptions::new().cost(cost));
    let checks: Vec<_> = rules.iter().map(check).collect();
    Plan::new(catalog, &checks, Op::Check).unwrap()
}

/// Of the first of which there is one for each cost.
fn plans(catalog: &Catalog) -> Vec<Plan<'_>> {
    let alone = (1..=COSTS).map(|cost| plan(catalog, &["r"], cost));
    let together = [&["r", "q"][..], &["q", "r"], &["s", "r", "q"], &["s", "q"], &["r", "r"]];
    alone
        .chain(together.iter().zip((1..=2).cycle()).map(|(rules, cost)| plan(catalog, rules, cost)))
        .collect()
}

/// A call of this process under way.
struct Call<'a> {
    op: Op,
    plan: &'a Plan<'a>,
    watch: Option<Watch<'a>>,
    /// `None`: the server has not carried it out.
    outcomes: Option<SmallList<Outcome>>,
}

/// What a history has come to.
#[derive(Default)]
struct Seen {
    cached: usize,
    stale: usize,
    /// Those of several items.
    together: usize,
}

struct World<'a> {
    cells: &'a Cells,
    server: Engine,
    now: Micros,
    calls: VecDeque<Call<'a>>,
    /// When somebody else last gave back or forgot.
    raised_at: Micros,
    seen: Seen,
}

impl<'a> World<'a> {
    fn on_server(&self, plan: &Plan<'_>, op: Op) -> SmallList<Outcome> {
        self.server.run(plan, op, || self.now)
    }

    /// What is said without the server of each item of a check.
    fn found(&self, plan: &'a Plan<'a>) -> Option<Parts<'a>> {
        let [item] = &*plan.items else { return self.cells.decide(plan, || at(self.now)) };
        let raw = self.cells.find(item.rule, "k", (item.cost, None), || at(self.now))?;
        Some(smallvec![Some(raw)])
    }

    /// Sends a call, unless it is a check that is denied here.
    fn send(&mut self, op: Op, plan: &'a Plan<'a>, others_charge: bool) {
        let found = if op == Op::Check { self.found(plan) } else { None };
        let Some(parts) = found else {
            let watch = self.cells.watch(plan, op, || self.now, false);
            self.calls.push_back(Call { op, plan, watch, outcomes: None });
            return;
        };
        let is_decided = |(raw, item): (&Option<RawDecision<'_>>, &Item<'_>)| {
            raw.is_some_and(|raw| !raw.allowed) || raw.is_some() && item.rule.rule.shadow
        };
        assert!(parts.iter().zip(&*plan.items).any(is_decided), "nothing is borrowed here");
        self.seen.together += usize::from(plan.items.len() > 1);
        let outcomes = self.on_server(plan, Op::Peek);
        for (item, denied) in plan.items.iter().zip(parts).filter_map(|(item, raw)| Some((item, raw?))) {
            let true_one = plan.raw_decision(item, &outcomes, Source::Server);
            self.compare(&denied, &true_one, others_charge);
        }
    }

    fn compare(&mut self, denied: &RawDecision<'_>, true_one: &RawDecision<'_>, others_charge: bool) {
        self.seen.cached += 1;
        let figures =
            |raw: &RawDecision<'_>| (raw.limit, raw.window_us, raw.remaining, raw.allowed, raw.shadow_denied);
        if true_one.allowed && !true_one.shadow_denied {
            self.seen.stale += 1;
            let own = self.calls.iter().any(|call| call.op == Op::Refund && call.outcomes.is_some());
            let passed = (self.now - self.raised_at).unsigned_abs();
            assert!(own || passed < AGE, "wrongly denied {passed} us after an intervention");
        } else if self.calls.is_empty() && !others_charge && self.now - self.raised_at > AGE as Micros {
            assert_eq!(figures(denied), figures(true_one));
            // A call takes time to reach the server, and by so much waits are too short.
            assert!(denied.retry_after_us <= true_one.retry_after_us);
            assert!(denied.reset_after_us <= true_one.reset_after_us);
        }
    }

    /// The server carries out a call, or its answer arrives, or never does.
    fn go_on(&mut self, at: usize, is_lost: bool) {
        let Some(call) = self.calls.get(at) else { return };
        if call.outcomes.is_none() {
            let outcomes = self.server.run(call.plan, call.op, || self.now);
            self.calls[at].outcomes = Some(outcomes);
        } else if let Some(Call { op, plan: _, watch: Some(watch), outcomes: Some(outcomes) }) =
            self.calls.remove(at)
            && op == Op::Check
            && !is_lost
        {
            watch.decided(&outcomes, Instant::now());
        }
    }
}

fn play(fields: &str, seed: u64, others: bool) -> Seen {
    let catalog = catalog(fields);
    let plans = plans(&catalog);
    let cells = Cells::new(AGE);
    let mut random = Random::new(seed);
    let mut world = World {
        cells: &cells,
        server: Engine::new(100),
        now: 1_700_000_000_000_000,
        calls: VecDeque::new(),
        raised_at: 0,
        seen: Seen::default(),
    };
    for _ in 0..600 {
        world.now += [0, 1, 500, 5_000, 40_000][random.below(5) as usize];
        let plan = &plans[random.below(plans.len() as u64) as usize];
        match random.below(if others { 26 } else { 23 }) {
            0..=9 if world.calls.len() < 3 => world.send(Op::Check, plan, others),
            10 if random.below(4) == 0 => world.send(Op::Refund, &plans[0], others),
            0..=22 => {
                let at = random.below(world.calls.len().max(1) as u64) as usize;
                world.go_on(at, random.below(8) == 0);
            }
            23 => {
                world.on_server(plan, Op::Refund);
                world.raised_at = world.now;
            }
            24 => {
                world.server.reset(plan, || world.now);
                world.raised_at = world.now;
            }
            _ => drop(world.on_server(plan, Op::Check)),
        }
    }
    world.seen
}

#[test]
fn no_denial_is_wrong_for_longer_than_its_age() {
    for fields in RULES {
        let seen: Vec<_> = (0..30).map(|seed| play(fields, seed, true)).collect();
        let sum = |what: fn(&Seen) -> usize| seen.iter().map(what).sum::<usize>();
        let [cached, stale, together] =
            [sum(|seen| seen.cached), sum(|seen| seen.stale), sum(|seen| seen.together)];
        assert!(
            cached > 100 && stale > 10 && together > 50,
            "{fields}: {cached} from memory, {stale} of them stale, {together} of several items"
        );
    }
}

#[test]
fn without_others_every_denial_is_that_of_the_server() {
    for fields in RULES {
        let seen: Vec<_> = (0..30).map(|seed| play(fields, seed, false)).collect();
        let [cached, together]: [usize; 2] =
            [seen.iter().map(|seen| seen.cached).sum(), seen.iter().map(|seen| seen.together).sum()];
        assert!(cached > 100 && together > 50, "{fields}: {cached} from memory, {together} of several items");
    }
}

#[test]
fn the_oldest_goes_and_entries_are_small() {
    let catalog = catalog(RULES[0]);
    let (rule, cells) = (catalog.find("r").unwrap(), Cells::new(AGE));
    let deny = |key: &str| {
        let check = Check::new("r", key).with(CheckOptions::new().cost(6));
        let plan = Plan::new(&catalog, &[check], Op::Check).unwrap();
        let engine = Engine::new(1);
        let watch = cells.watch(&plan, Op::Check, || 0, false).unwrap();
        let outcomes = engine.run(&plan, Op::Check, || 0);
        watch.decided(&outcomes, Instant::now());
    };
    (0..50_000).for_each(|key| deny(&key.to_string()));
    assert!((9_900..=10_000).contains(&cells.len()), "{}", cells.len());
    let is_kept = |key: u32| cells.find(rule, &key.to_string(), (6, None), || at(1)).is_some();
    assert!((45_000..50_000).all(is_kept) && !(0..30_000).any(is_kept));
    // Two for its place in the order; an index of a hash table takes one byte in eight sevenths of its places, doubled at most.
    const { assert!(Cells::ENTRY * 2 / 7 * 4 + 2 * 16 <= 200) };
}

#[test]
fn what_writes_when_it_denies_is_not_remembered() {
    let catalog = catalog(RULES[0]);
    assert!(catalog.find("r").unwrap().remembers_denials);
    assert!(!catalog.find("counts").unwrap().remembers_denials);
}
