//! What is lent to other regions: the scripts do what the pure functions do.

use redis::Value;

use super::super::borrower::Borrower;
use super::server::Server;
use crate::algorithm::Micros;
use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::plan::{Op, Plan};
use crate::random::Random;
use crate::regions::Deposit;
use crate::regions::allotment::{Allotment, LoanTerms, Spending};
use crate::regions::lending::lend;
use crate::request::Check;
use crate::rules::Rules;

const START: Micros = 1_700_000_000_000_000;
const STEPS: usize = 2_000;

fn catalog(rule: &str) -> Catalog {
    let rules = format!(r#"[{{"rule_id": "r", "global": {{"max_age_ms": 800}}, {rule}}}]"#);
    Catalog::new(Rules::from_json(&rules).unwrap(), SecretNames::default(), Share::default())
}

fn numbers(reply: &Value) -> Vec<f64> {
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
                let verdict = match spent.spending {
                    Spending::Denied => 0.0,
                    Spending::Spent => 1.0,
                    Spending::Elsewhere => 2.0,
                };
                seen[verdict as usize] = true;
                let mut expected = vec![verdict, at, spent.left, spent.wait, spent.fresh, spent.want];
                expected.extend(spent.ended.iter().flat_map(|&(units, granted_at)| [units, granted_at]));
                assert_eq!(
                    numbers(&server.send(&borrower.spend(cost))),
                    expected,
                    "seed {seed}, step {step}"
                );
            } else {
                let later = |random: &mut Random, spread: u64| at - 100_000.0 + random.below(spread) as f64;
                let or_none = |random: &mut Random, value: f64| if random.below(3) > 0 { 0.0 } else { value };
                let soon = later(&mut random, 300_000);
                let deposit = Deposit {
                    granted: random.below(60) as f64,
                    granted_at: later(&mut random, 200_000),
                    valid_until: later(&mut random, 1_000_000),
                    denied_until: or_none(&mut random, soon),
                    denied_cost: 1.0,
                    contended_until: or_none(&mut random, soon),
                    fits_at: or_none(&mut random, soon),
                    fresh_at: later(&mut random, 2_000_000),
                };
                let dropped = allotment.deposit(at, &deposit, &terms);
                let reply = server.send(&borrower.deposit(&deposit));
                assert_eq!(numbers(&reply), [dropped], "seed {seed}, step {step}");
            }
        }
        assert_eq!(seen, [true; 3], "seed {seed}");
    }
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
