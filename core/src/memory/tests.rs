use super::*;
use crate::catalog::{Catalog, Share};
use crate::decision::Source;
use crate::effort::by_day;
use crate::keys::secret::SecretNames;
use crate::plan::Form;
use crate::request::Check;
use crate::rules::Rules;

const SECOND: Micros = 1_000_000;
const MAX_KEYS: usize = 1 << 30;

fn catalog(limit: &str) -> Catalog {
    let text = format!(r#"[{{"rule_id": "r", {limit}}}]"#);
    Catalog::new(Rules::from_json(&text).unwrap(), SecretNames::default(), Share::default())
}

fn check(engine: &Engine, catalog: &Catalog, key: &str, now: Micros) -> bool {
    let plan = Plan::new(catalog, &[Check::new("r", key)], Op::Peek).unwrap();
    engine.run(&plan, Op::Check, || now)[0].fits
}

#[test]
fn memory_follows_the_keys_that_are_alive() {
    let (engine, catalog) =
        (Engine::new(MAX_KEYS), catalog(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": 1"#));
    let keys = by_day(1_000_000) as usize;
    for key in 0..keys {
        assert!(check(&engine, &catalog, &key.to_string(), 0));
    }
    assert_eq!(engine.len(), keys);
    let full = engine.places();
    // All have expired; one key that lives on sweeps the others out.
    for call in 0..keys as Micros {
        check(&engine, &catalog, "alive", (call + 2) * SECOND);
    }
    assert!(engine.len() <= 65 * engine.shards.len(), "{} states are left", engine.len());
    assert!(engine.places() < full / 100, "{} of {full} places are left", engine.places());
}

#[test]
fn keys_that_come_and_go_do_not_pile_up() {
    let (engine, catalog) = (
        Engine::new(MAX_KEYS),
        catalog(r#""algorithm": "fixed_window", "limit": 9, "window_size_seconds": 1"#),
    );
    for call in 0..500_000 {
        // A thousand keys a second, each seen once.
        check(&engine, &catalog, &call.to_string(), call * SECOND / 1000);
    }
    assert!(engine.len() < 10_000, "{} states are kept", engine.len());
}

#[test]
fn a_denial_keeps_nothing() {
    let (engine, catalog) = (
        Engine::new(MAX_KEYS),
        catalog(r#""algorithm": "sliding_log", "limit": 2, "window_size_seconds": 1"#),
    );
    let expensive = Check::new("r", "k").with(crate::CheckOptions::new().cost(3));
    let plan = Plan::new(&catalog, &[expensive], Op::Peek).unwrap();
    assert!(!engine.run(&plan, Op::Check, || 0)[0].fits);
    assert_eq!(engine.len(), 0);
}

#[test]
fn a_reset_forgets_one_key() {
    let (engine, catalog) =
        (Engine::new(MAX_KEYS), catalog(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": 1"#));
    for key in ["a", "b"] {
        assert!(check(&engine, &catalog, key, 0));
        assert!(!check(&engine, &catalog, key, 0));
    }
    engine.reset(&Plan::new(&catalog, &[Check::new("r", "a")], Op::Peek).unwrap(), || 0);
    assert!(check(&engine, &catalog, "a", 0));
    assert!(!check(&engine, &catalog, "b", 0));
}

fn run(engine: &Engine, catalog: &Catalog, check: Check<'_>, op: Op) -> Outcome {
    engine.run(&Plan::new(catalog, &[check], Op::Peek).unwrap(), op, || 0)[0]
}

/// Keys that expire one after the other, the first of them last.
fn fill(engine: &Engine, catalog: &Catalog, keys: usize) {
    for key in 0..keys {
        let expensive = crate::CheckOptions::new().cost((keys - key) as u64);
        assert!(run(engine, catalog, Check::new("r", &key.to_string()).with(expensive), Op::Check).fits);
    }
}

fn is_kept(engine: &Engine, catalog: &Catalog, key: usize) -> bool {
    run(engine, catalog, Check::new("r", &key.to_string()), Op::Peek).figures.reset_after > 0
}

const SLOW: &str = r#""algorithm": "gcra", "limit": 100000, "window_size_seconds": 100000"#;

#[test]
fn what_is_nearest_to_its_reset_goes_first() {
    let (engine, catalog) = (Engine::new(3), catalog(SLOW));
    fill(&engine, &catalog, 3);
    assert!((0..3).all(|key| is_kept(&engine, &catalog, key)));
    // Key 2 is nearest, then whoever came in its place: a cost of 1 is gone sooner than what key 1 was charged.
    assert!(check(&engine, &catalog, "new", 0) && check(&engine, &catalog, "newer", 0));
    assert_eq!([0, 1, 2].map(|key| is_kept(&engine, &catalog, key)), [true, true, false]);
    assert_eq!((engine.len(), engine.room.evicted()), (3, 2));
}

#[test]
fn no_more_states_are_kept_than_may_be() {
    const MAX: usize = 20_000;
    let (engine, catalog) = (Engine::new(MAX), catalog(SLOW));
    assert!(engine.shards.len() > 1);
    fill(&engine, &catalog, MAX * 3);
    assert!(engine.len() <= MAX && engine.len() > MAX * 9 / 10, "{} states", engine.len());
    // The first keys have the longest way to their reset: all but a few of them are still there.
    let kept = (0..MAX / 2).filter(|key| is_kept(&engine, &catalog, *key)).count();
    assert!(kept > MAX / 2 * 99 / 100, "{kept} of the first {} are kept", MAX / 2);
    assert_eq!(engine.room.evicted() as usize, MAX * 3 - engine.len());
}

#[test]
fn what_is_charged_again_stays() {
    let (engine, catalog) = (Engine::new(2_000), catalog(SLOW));
    for key in 0..20_000 {
        assert!(check(&engine, &catalog, "regular", 0));
        check(&engine, &catalog, &key.to_string(), 0);
    }
    let left = run(&engine, &catalog, Check::new("r", "regular"), Op::Peek).figures.remaining;
    assert_eq!(left, 100_000 - 20_000);
}

#[test]
fn what_has_expired_makes_room() {
    let (engine, catalog) = (Engine::new(2_000), catalog(SLOW));
    for round in 0..50 {
        for key in 0..1_000 {
            check(&engine, &catalog, &format!("{round}-{key}"), round * 10 * SECOND);
        }
    }
    assert_eq!(engine.room.evicted(), 0);
}

fn key() -> [Check<'static>; 1] {
    [Check::new("r", "k")]
}

/// What the answer to a plan about one limit states.
fn limit_and_remaining(plan: &Plan<'_>, outcomes: &[Outcome]) -> (u64, u64) {
    let raw = plan.raw_decision(&plan.items[0], outcomes, Source::Memory);
    (raw.limit, raw.remaining)
}

#[test]
fn a_repeated_call_is_answered_with_the_limit_of_the_first() {
    let (engine, before) = (Engine::new(MAX_KEYS), catalog(r#""rate": "9/m""#));
    let after = before.after(Rules::from_json(r#"[{"rule_id": "r", "rate": "5/m"}]"#).unwrap());
    let counts = |catalog: &Catalog| {
        let plan = Plan::repeatable(catalog, &key(), (Op::Check, Form::Single), Some("id")).unwrap();
        let known_by = (plan.request.as_ref().unwrap().fingerprint, SECOND);
        let outcomes = engine.run_once(&plan, Op::Check, known_by, || 0).unwrap();
        limit_and_remaining(&plan, &outcomes)
    };
    assert_eq!([counts(&before), counts(&after)], [(9, 8), (9, 8)]);
}

#[test]
fn a_reset_forgets_what_the_rule_has_lost() {
    let (engine, with) = (Engine::new(MAX_KEYS), catalog(r#""rate": "9/m", "overrides": true"#));
    for left in ["", r#", "block": {}"#, r#", "reservations": true"#] {
        let rule = format!(r#"[{{"rule_id": "r", "rate": "9/m"{left}}}]"#);
        let without = with.after(Rules::from_json(&rule).unwrap());
        let plan = Plan::new(&with, &key(), Op::Peek).unwrap();
        let limit = || limit_and_remaining(&plan, &engine.run(&plan, Op::Peek, || 0)).0;
        engine.change(&plan, KeyRecordChange::SetLimit(3, None), || 0);
        engine.reset(&plan, || 0);
        assert_eq!(limit(), 3, "{left}");
        engine.reset(&Plan::new(&without, &key(), Op::Peek).unwrap(), || 0);
        assert_eq!(limit(), 9, "{left}");
    }
}
