//! Units of several cells, spent together or not at all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::*;
use crate::cells::may_borrow;
use crate::regions::Deposit;
use crate::sequence::DetachedLoan;

const LENT: &str = r#"[
    {"rule_id": "user", "limit": 1000, "window_size_seconds": 1, "lease": {"max_age_ms": 50}},
    {"rule_id": "tenant", "limit": 1000, "window_size_seconds": 1, "lease": {"max_age_ms": 50}},
    {"rule_id": "plain", "rate": "5/s"}
]"#;
const BEGIN: Micros = 1_700_000_000_000_000;
const MS: Micros = 1_000;

fn lent_catalog() -> Catalog {
    Catalog::new(Rules::from_json(LENT).unwrap(), SecretNames::default(), Share::default())
}

/// Calls as many as make a rate to borrow for. Answers the time of the last one.
fn warm_up(cells: &Cells, plan: &Plan<'_>) -> Micros {
    let end = BEGIN + 600 * MS;
    for now in (BEGIN..end).step_by(MS as usize) {
        assert!(cells.decide(plan, || at(now)).is_none());
        plan.items.iter().for_each(|item| _ = cells.ask(plan, item, now));
    }
    end
}

/// Has a process lent so many units, which is all that it asked for. Answers how many it had left.
fn lend(cells: &Cells, plan: &Plan<'_>, now: Micros, units: u64) -> u64 {
    let mut asked = cells.ask(plan, &plan.items[0], now + 50 * MS).unwrap();
    asked.want = units;
    let lender = DetachedLoan::new(&plan.charges[0], "p", None, (1.0, now), asked.age()).lender();
    let until = (now + 100 * MS) as f64;
    let lent = Deposit {
        granted: units as f64,
        granted_at: now as f64,
        valid_until: until,
        fresh_at: until,
        ..Deposit::default()
    };
    let (late, _) = cells.lent(&asked, now + 50 * MS, &lent, lender);
    late.map_or(0, |late| late.1.units)
}

/// The units that a cell has.
fn left(cells: &Cells, catalog: &Catalog, rule: &str, now: Micros) -> u64 {
    let rule = catalog.find(rule).unwrap();
    let raw = cells.spend(rule, &rule.lease.unwrap(), "k", 1, || at(now)).unwrap();
    assert_eq!((raw.allowed, raw.source), (true, Source::Lease));
    raw.remaining + 1
}

#[test]
fn nothing_is_spent_where_one_lacks_units() {
    let (catalog, cells) = (lent_catalog(), Cells::new(0));
    let both = plan(&catalog, &["user", "tenant"], 3);
    let now = warm_up(&cells, &both);
    lend(&cells, &plan(&catalog, &["user"], 1), now, 10);
    let now = now + 60 * MS;
    for _ in 0..5 {
        assert!(cells.decide(&both, || at(now)).is_none());
    }
    assert_eq!(left(&cells, &catalog, "user", now), 10);
    lend(&cells, &plan(&catalog, &["tenant"], 1), now - 50 * MS, 7);
    let spent = cells.decide(&both, || at(now)).unwrap();
    let figures: Vec<_> = spent.iter().map(|raw| raw.map(|raw| (raw.allowed, raw.remaining))).collect();
    assert_eq!(figures, [Some((true, 6)), Some((true, 4))]);
    assert!(cells.decide(&both, || at(now)).is_some());
    assert!(cells.decide(&both, || at(now)).is_none(), "the tenant has one unit left");
    assert_eq!((left(&cells, &catalog, "user", now), left(&cells, &catalog, "tenant", now)), (3, 1));
    let ended = cells.ended(None);
    assert_eq!(ended.iter().map(|(_, unspent)| unspent.units).sum::<u64>(), 2);
}

#[test]
fn threads_spend_no_unit_twice_and_lose_none() {
    let (catalog, cells) = (lent_catalog(), Cells::new(0));
    let now = warm_up(&cells, &plan(&catalog, &["user", "tenant"], 1));
    for (rule, units) in [("user", 900), ("tenant", 400)] {
        lend(&cells, &plan(&catalog, &[rule], 1), now, units);
    }
    let (now, admitted) = (now + 60 * MS, AtomicU64::new(0));
    thread::scope(|scope| {
        for rules in [["user", "tenant"], ["tenant", "user"]].iter().cycle().take(4) {
            scope.spawn(|| {
                let both = plan(&catalog, rules, 1);
                while cells.decide(&both, || at(now)).is_some() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 400);
    assert_eq!(left(&cells, &catalog, "user", now), 500);
}

#[test]
fn units_are_borrowed_where_they_are_of_use() {
    let catalog = lent_catalog();
    let lends = |checks: &[Check<'_>]| may_borrow(&Plan::new(&catalog, checks, Op::Check).unwrap());
    let [user, tenant, plain] = ["user", "tenant", "plain"].map(|rule| Check::new(rule, "k"));
    assert!(lends(&[user, tenant]) && lends(&[user, Check::new("user", "other")]));
    assert!(!lends(&[user, plain]), "every call needs the server");
    assert!(!lends(&[user, user]), "two of one key");
    assert!(!lends(&[user, tenant.with(CheckOptions::new().limit(9))]), "a limit of its own");
}

#[test]
fn the_table_of_loans_does_not_grow_with_loans() {
    let (catalog, cells) = (lent_catalog(), Cells::new(0));
    let user = plan(&catalog, &["user"], 1);
    let mut now = warm_up(&cells, &plan(&catalog, &["user", "tenant"], 1));
    let mut returned = 0;
    for _ in 0..100 {
        returned += lend(&cells, &user, now, 5);
        now += 55 * MS;
        assert!(cells.ended(Some(now)).is_empty());
        assert_eq!(cells.loans(), 1);
        // As many calls as make a rate.
        (0..100).for_each(|_| _ = cells.ask(&user, &user.items[0], now));
    }
    assert!(cells.is_lent());
    let ended = cells.ended(Some(now + 100 * MS));
    assert_eq!(returned + ended[0].1.units, 500);
    assert!(!cells.is_lent());
}
