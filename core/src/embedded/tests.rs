use super::*;
use crate::catalog::Catalog;
use crate::request::Check;
use crate::rules::Rules;

const SECOND: Micros = 1_000_000;

fn catalog(limit: &str) -> Catalog {
    let text = format!(r#"[{{"rule_id": "r", {limit}}}]"#);
    Catalog::new(Rules::from_json(&text).unwrap())
}

fn check(engine: &Engine, catalog: &Catalog, key: &str, now: Micros) -> bool {
    let plan = Plan::new(catalog, &[Check::new("r", key)]).unwrap();
    engine.run(&plan, Op::Check, || now)[0].fits
}

#[test]
fn memory_follows_the_keys_that_are_alive() {
    let (engine, catalog) =
        (Engine::new(), catalog(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": 1"#));
    const KEYS: usize = 1_000_000;
    for key in 0..KEYS {
        assert!(check(&engine, &catalog, &key.to_string(), 0));
    }
    assert_eq!(engine.len(), KEYS);
    let full = engine.places();
    // All have expired; one key that lives on sweeps the others out.
    for call in 0..KEYS as Micros {
        check(&engine, &catalog, "alive", (call + 2) * SECOND);
    }
    assert!(engine.len() <= 65 * engine.shards.len(), "{} states are left", engine.len());
    assert!(engine.places() < full / 100, "{} of {full} places are left", engine.places());
}

#[test]
fn keys_that_come_and_go_do_not_pile_up() {
    let (engine, catalog) =
        (Engine::new(), catalog(r#""algorithm": "fixed_window", "limit": 9, "window_size_seconds": 1"#));
    for call in 0..500_000 {
        // A thousand keys a second, each seen once.
        check(&engine, &catalog, &call.to_string(), call * SECOND / 1000);
    }
    assert!(engine.len() < 10_000, "{} states are kept", engine.len());
}

#[test]
fn a_denial_keeps_nothing() {
    let (engine, catalog) =
        (Engine::new(), catalog(r#""algorithm": "sliding_log", "limit": 2, "window_size_seconds": 1"#));
    let dear = Check::new("r", "k").with(crate::CheckOptions::new().cost(3));
    let plan = Plan::new(&catalog, &[dear]).unwrap();
    assert!(!engine.run(&plan, Op::Check, || 0)[0].fits);
    assert_eq!(engine.len(), 0);
}

#[test]
fn a_reset_forgets_one_key() {
    let (engine, catalog) =
        (Engine::new(), catalog(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": 1"#));
    for key in ["a", "b"] {
        assert!(check(&engine, &catalog, key, 0));
        assert!(!check(&engine, &catalog, key, 0));
    }
    engine.reset(&Plan::new(&catalog, &[Check::new("r", "a")]).unwrap());
    assert!(check(&engine, &catalog, "a", 0));
    assert!(!check(&engine, &catalog, "b", 0));
}
