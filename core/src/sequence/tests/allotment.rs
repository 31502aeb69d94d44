//! What is lent to other regions: the scripts do what the pure functions do.

use redis::Value;
use sluicegate_lua::{KernelSet, allotment as scripts};

use super::super::borrower::Borrower;
use super::super::protocol::{self, Clocks};
use super::server::Server;
use crate::algorithm::{Demand, Micros};
use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::plan::{Charge, Op, Plan};
use crate::random::Random;
use crate::regions::Deposit;
use crate::regions::allotment::{Allotment, Asked, LoanTerms, Spending, Spent, spend_together};
use crate::regions::lending::lend;
use crate::request::Check;
use crate::rules::Rules;
use crate::script::{Script, ScriptCall};

const START: Micros = 1_700_000_000_000_000;
const STEPS: usize = 2_000;

fn catalog(rule: &str) -> Catalog {
    let rules = format!(r#"[{{"rule_id": "r", "global": {{"max_age_ms": 800}}, {rule}}}]"#);
    Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default())
}

pub(super) fn numbers(reply: &Value) -> Vec<f64> {
    let Value::BulkString(bytes) = reply else { panic!("{reply:?}") };
    bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

/// A time not long after, or now and then before.
fn next(random: &mut Random, now: Micros) -> Micros {
    match random.below(100) {
        0 => now - random.below(5_000_000) as Micros,
        1..=5 => now + random.below(3_000_000) as Micros,
        _ => now + random.below(30_000) as Micros,
    }
}

fn verdict(spent: &Spent) -> f64 {
    match spent.spending {
        Spending::Denied => 0.0,
        Spending::Spent => 1.0,
        Spending::Elsewhere => 2.0,
    }
}

/// The reply that says the same.
pub(super) fn as_numbers(spent: &Spent, at: f64) -> Vec<f64> {
    let mut numbers = vec![verdict(spent), at, spent.left, spent.wait, spent.fresh, spent.want];
    numbers.extend(spent.ended.iter().flat_map(|&(units, granted_at)| [units, granted_at]));
    numbers
}

fn deposit(random: &mut Random, at: f64) -> Deposit {
    let later = |random: &mut Random, spread: u64| at - 100_000.0 + random.below(spread) as f64;
    let or_none = |random: &mut Random, value: f64| if random.below(3) > 0 { 0.0 } else { value };
    let soon = later(random, 300_000);
    Deposit {
        granted: random.below(60) as f64,
        granted_at: later(random, 200_000),
        valid_until: later(random, 1_000_000),
        denied_until: or_none(random, soon),
        denied_cost: 1.0,
        contended_until: or_none(random, soon),
        fits_at: or_none(random, soon),
        fresh_at: later(random, 2_000_000),
    }
}

#[test]
fn an_allotment_is_spent_and_filled_as_the_pure_function_says() {
    let mut server = Server::start();
    let catalog = catalog(r#""rate": "1000/s""#);
    for (seed, trip) in [(1, 300), (2, 40_000), (3, 150_000)] {
        let (mut random, mut now, key) = (Random::new(seed), START, format!("key-{seed}"));
        let terms =
            LoanTerms { most: 1_000.0, age: 800_000.0, span: 2_000_000.0, trip: trip as f64, pace: 20_000.0 };
        let mut allotment = None;
        let mut seen = [false; 3];
        for step in 0..STEPS {
            now = next(&mut random, now);
            let checks = [Check::new("r", &key)];
            let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
            let borrower = Borrower::new(&plan.charges[0], "p", trip, Some(now)).unwrap();
            let at = now as f64;
            let allotment = allotment.get_or_insert_with(|| Allotment::fresh(at));
            if random.below(4) > 0 {
                let cost = (1 + random.below(4)) as f64;
                let spent = allotment.spend(at, cost, &terms);
                seen[verdict(&spent) as usize] = true;
                assert_eq!(
                    numbers(&server.send(&borrower.spend(cost))),
                    as_numbers(&spent, at),
                    "seed {seed}, step {step}"
                );
            } else {
                let deposit = deposit(&mut random, at);
                let dropped = allotment.deposit(at, &deposit, &terms);
                let reply = server.send(&borrower.deposit(&deposit));
                assert_eq!(numbers(&reply), [dropped], "seed {seed}, step {step}");
            }
        }
        assert_eq!(seen, [true; 3], "seed {seed}");
    }
}

#[test]
fn allotments_and_near_limits_are_decided_together_as_the_pure_function_says() {
    let mut server = Server::start();
    let rules = r#"[{"rule_id": "r", "rate": "1000/s", "global": {"max_age_ms": 800}}, {"rule_id": "n", "rate": "90/s"}]"#;
    let catalog = Catalog::new(Rules::from_json(rules).unwrap(), SecretNames::default(), Share::default());
    let terms =
        LoanTerms { most: 1_000.0, age: 800_000.0, span: 2_000_000.0, trip: 40_000.0, pace: 20_000.0 };
    let (mut random, mut now) = (Random::new(5), START);
    let mut allotments = [(); 2].map(|()| Allotment::fresh(START as f64));
    let (mut admitted, mut open, mut refused) = (0, 0, 0);
    let mut state = None;
    for step in 0..STEPS {
        now += random.below(30_000) as Micros;
        let at = now as f64;
        let checks = [Check::new("r", "a"), Check::new("r", "b"), Check::new("n", "a")];
        let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
        let [one, other, near] = &*plan.charges else { panic!() };
        let borrowers = [one, other].map(|charge| Borrower::new(charge, "p", 40_000, Some(now)).unwrap());
        // Both begin at a time that both know.
        if step < 2 || random.below(3) == 0 {
            let place = if step < 2 { step } else { random.below(2) as usize };
            let deposit = deposit(&mut random, at);
            if step < 2 {
                allotments[place] = Allotment::fresh(at);
            }
            let dropped = allotments[place].deposit(at, &deposit, &terms);
            assert_eq!(numbers(&server.send(&borrowers[place].deposit(&deposit))), [dropped], "step {step}");
            continue;
        }
        let asked = [(); 2].map(|()| {
            let cost = (1 + random.below(4)) as f64;
            let asked = match random.below(8) {
                0 => Asked::after(cost, true),
                1 => Asked::after(cost, false),
                _ => Asked::near(cost, &terms),
            };
            (asked, terms)
        });
        let state = state.get_or_insert_with(|| near.policy.fresh(now));
        // The server keeps nothing of a key that is as if never seen.
        if near.policy.reset_after(state, now) == 0 {
            *state = near.policy.fresh(now);
        }
        let fits = near.policy.fits(state, now, 1.0);
        let said = spend_together(&mut allotments, at, &asked, fits);
        let is_admitted = fits && said.iter().all(|spent| spent.spending == Spending::Spent);
        near.policy.decide(state, Demand { op: Op::Check, cost: 1.0, now }, is_admitted);
        let reply = server.send(&together(near, &borrowers, &asked, now));
        let Value::Array(replies) = reply else { panic!("{reply:?}") };
        assert_eq!(numbers(&replies[0])[0] >= 1.0, fits, "step {step}");
        let is_open = said.iter().any(|spent| spent.spending == Spending::Elsewhere);
        for (reply, spent) in replies[1..].iter().zip(&said) {
            assert_eq!(numbers(reply), as_numbers(spent, at), "step {step}");
        }
        admitted += usize::from(is_admitted);
        open += usize::from(is_open);
        refused += usize::from(!is_open && !is_admitted);
    }
    assert!(admitted > 50 && open > 25 && refused > 50, "{admitted}, {open}, {refused}");
}

/// The call of the script that decides a near limit and allotments.
pub(super) fn together(
    near: &Charge<'_>,
    borrowers: &[Borrower],
    asked: &[(Asked, LoanTerms)],
    now: Micros,
) -> ScriptCall {
    let kernels = KernelSet::default().with(near.policy.kernel());
    let clocks = Clocks { manual: Some(now), server_now: None };
    let script = Box::leak(Box::new(Script::new(scripts::several(kernels))));
    let mut call = ScriptCall::new(script, [near.name("p")].into(), [].into_iter().collect());
    call.args.push(protocol::header_of_several(clocks));
    call.args.push(protocol::one_of_several(near, kernels, clocks));
    for (borrower, (asked, _)) in borrowers.iter().zip(asked) {
        let (key, numbers) = borrower.one_of_several(asked.cost, asked.there);
        call.keys.push(key);
        call.args.push(numbers);
    }
    call
}

#[test]
fn the_region_in_charge_lends_as_the_pure_function_says() {
    let mut server = Server::start();
    let rules = [
        r#""rate": "50/s""#,
        r#""rate": "50/s", "burst": 7"#,
        r#""algorithm": "fixed_window", "limit": 30, "window_size_seconds": 1"#,
        r#""algorithm": "fixed_window", "window_start": "first_request", "limit": 30, "window_size_seconds": 1"#,
        r#""algorithm": "uniform", "rate": "20/s""#,
    ];
    for (seed, rule) in rules.into_iter().enumerate() {
        let (catalog, mut random, mut now) = (catalog(rule), Random::new(seed as u64), START);
        let checks = [Check::new("r", "key")];
        let plan = Plan::new(&catalog, &checks, Op::Check).unwrap();
        let policy = plan.charges[0].policy.as_ref();
        server.wire.prefix = format!("p{seed}");
        let mut state = policy.fresh(now);
        let (mut admitted, mut lent) = (0, 0.0);
        for step in 0..STEPS {
            now += random.below(60_000) as Micros;
            let borrower = Borrower::new(&plan.charges[0], &server.wire.prefix, 0, Some(now)).unwrap();
            let own = (random.below(3) > 0).then(|| (1 + random.below(3)) as f64);
            let want = (random.below(2) * random.below(40)) as f64;
            // The server keeps nothing of a key that is as if never seen.
            if policy.reset_after(&state, now) == 0 {
                state = policy.fresh(now);
            }
            let said = server.send(&borrower.lend(own, want));
            let (loan, outcome) = borrower.lent(said, own, (want, now)).unwrap();
            let expected = lend(policy, &mut state, now, own, want);
            assert_eq!(loan.granted, expected.0, "{rule}, step {step}");
            let is_admitted = |outcome: &crate::plan::Outcome| outcome.fits;
            assert_eq!(
                outcome.as_ref().map(is_admitted),
                expected.1.as_ref().map(is_admitted),
                "{rule}, {step}"
            );
            admitted += usize::from(outcome.is_some_and(|outcome| outcome.fits));
            lent += loan.granted;
            if random.below(4) == 0 && loan.granted > 0.0 {
                let granted_at = now;
                now += random.below(60_000) as Micros;
                let borrower = Borrower::new(&plan.charges[0], &server.wire.prefix, 0, Some(now)).unwrap();
                server.send(&borrower.give_back(loan.granted, granted_at as f64));
                policy.refund(&mut state, now, loan.granted, Some(granted_at));
            }
        }
        assert!(admitted > 50 && lent > 50.0, "{rule}: {admitted}, {lent}");
    }
}
