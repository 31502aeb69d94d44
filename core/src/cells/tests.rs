//! Histories of one key: calls of this process, which take time to reach the server and back, and those of others.

use std::collections::VecDeque;

use super::table::{Cells, Watch};
use crate::algorithm::Micros;
use crate::catalog::{Catalog, Share};
use crate::decision::Source;
use crate::keys::secret::SecretNames;
use crate::memory::Engine;
use crate::plan::{Op, Outcome, Plan, RawDecision, SmallList};
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
        r#"[{{"rule_id": "r", {fields}}}, {{"rule_id": "counts", "rate": "5/s", "algorithm": "fixed_window", "count_denied": true}}]"#
    );
    Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default())
}

fn plan(catalog: &Catalog, cost: u64) -> Plan<'_> {
    let check = Check::new("r", "k").with(CheckOptions::new().cost(cost));
    Plan::new(catalog, &[check], Op::Check).unwrap()
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
}

struct World<'a> {
    catalog: &'a Catalog,
    plans: &'a [Plan<'a>],
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

    fn raw(plan: &'a Plan<'a>, outcomes: &[Outcome]) -> RawDecision<'a> {
        plan.raw_decision(&plan.items[0], outcomes, Source::Server)
    }

    /// Sends a call, unless it is a check that is denied here.
    fn send(&mut self, op: Op, cost: u64, others_charge: bool) {
        let plan = &self.plans[cost as usize - 1];
        let now = self.now;
        let rule = self.catalog.find("r").unwrap();
        let found = (op == Op::Check).then(|| self.cells.find(rule, "k", (cost, None), || now)).flatten();
        match found {
            None => {
                let watch = self.cells.watch(plan, op, now);
                self.calls.push_back(Call { op, plan, watch, outcomes: None });
            }
            Some(denied) => self.compare(plan, &denied, others_charge),
        }
    }

    fn compare(&mut self, plan: &'a Plan<'a>, denied: &RawDecision<'_>, others_charge: bool) {
        self.seen.cached += 1;
        let true_one = Self::raw(plan, &self.on_server(plan, Op::Peek));
        if true_one.allowed {
            self.seen.stale += 1;
            let own = self.calls.iter().any(|call| call.op == Op::Refund && call.outcomes.is_some());
            let passed = (self.now - self.raised_at).unsigned_abs();
            assert!(own || passed < AGE, "wrongly denied {passed} us after an intervention");
        } else if self.calls.is_empty() && !others_charge && self.now - self.raised_at > AGE as Micros {
            let figures = |raw: &RawDecision<'_>| (raw.limit, raw.window_us, raw.remaining, raw.allowed);
            assert_eq!(figures(denied), figures(&true_one));
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
        } else if let Some(Call { op, plan, watch: Some(watch), outcomes: Some(outcomes) }) =
            self.calls.remove(at)
            && op == Op::Check
            && !is_lost
        {
            watch.decided(&Self::raw(plan, &outcomes));
        }
    }
}

fn play(fields: &str, seed: u64, others: bool) -> Seen {
    let catalog = catalog(fields);
    let plans: Vec<_> = (1..=COSTS).map(|cost| plan(&catalog, cost)).collect();
    let cells = Cells::new(AGE);
    let mut random = Random::new(seed);
    let mut world = World {
        catalog: &catalog,
        plans: &plans,
        cells: &cells,
        server: Engine::new(100),
        now: 1_700_000_000_000_000,
        calls: VecDeque::new(),
        raised_at: 0,
        seen: Seen::default(),
    };
    for _ in 0..600 {
        world.now += [0, 1, 500, 5_000, 40_000][random.below(5) as usize];
        let cost = 1 + random.below(COSTS);
        match random.below(if others { 26 } else { 23 }) {
            0..=9 if world.calls.len() < 3 => world.send(Op::Check, cost, others),
            10 if random.below(4) == 0 => world.send(Op::Refund, 1, others),
            0..=22 => {
                let at = random.below(world.calls.len().max(1) as u64) as usize;
                world.go_on(at, random.below(8) == 0);
            }
            23 => {
                world.on_server(&plans[0], Op::Refund);
                world.raised_at = world.now;
            }
            24 => {
                world.server.reset(&plans[0], || world.now);
                world.raised_at = world.now;
            }
            _ => drop(world.on_server(&plans[0], Op::Check)),
        }
    }
    world.seen
}

#[test]
fn no_denial_is_wrong_for_longer_than_its_age() {
    for fields in RULES {
        let seen: Vec<_> = (0..60).map(|seed| play(fields, seed, true)).collect();
        let [cached, stale]: [usize; 2] =
            [seen.iter().map(|seen| seen.cached).sum(), seen.iter().map(|seen| seen.stale).sum()];
        assert!(cached > 100 && stale > 10, "{fields}: {cached} from memory, {stale} of them stale");
    }
}

#[test]
fn without_others_every_denial_is_that_of_the_server() {
    for fields in RULES {
        let cached: usize = (0..60).map(|seed| play(fields, seed, false).cached).sum();
        assert!(cached > 100, "{fields}: {cached} from memory");
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
        let watch = cells.watch(&plan, Op::Check, 0).unwrap();
        let outcomes = engine.run(&plan, Op::Check, || 0);
        watch.decided(&plan.raw_decision(&plan.items[0], &outcomes, Source::Server));
    };
    (0..50_000).for_each(|key| deny(&key.to_string()));
    assert!((9_900..=10_000).contains(&cells.len()), "{}", cells.len());
    let is_kept = |key: u32| cells.find(rule, &key.to_string(), (6, None), || 1).is_some();
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
