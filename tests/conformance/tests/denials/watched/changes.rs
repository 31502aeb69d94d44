//! What ends a denial although nobody has written the key: time, other rules, and a server that watches too many keys.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sluicegate::Source;
use sluicegate_conformance::Switch;
use sluicegate_test_servers::Redis;

use super::command;
use super::world::{OLD, RULES, World};

/// Nothing is written when a stored limit ends, and a server with many keys notices late that the record has expired: by a
/// clock that the test moves, it has not.
#[test]
fn a_stored_limit_that_ends_is_seen_at_once() {
    let server = Redis::start().unwrap();
    let world = World::on(server.url());
    for key in ["one", "two", "three"] {
        world.other().set_limit("stored", key, 1, Some(Duration::from_secs(20))).unwrap();
        while world.check("stored", key).unwrap().0 {}
        for _ in 0..4 {
            world.clock.advance(OLD);
            assert_eq!(world.check("stored", key).unwrap(), (false, Source::Server), "it may have ended");
            world.clock.advance(OLD / 4);
            assert!(world.is_remembered("stored", key));
        }
        world.clock.advance(Duration::from_secs(10) + OLD / 4);
        assert!(world.check("stored", key).unwrap().0);
        // Without such a limit it is watched as any other.
        world.deny("stored", key);
    }
}

/// By the clock of the server, which removes the record of the key.
#[test]
fn a_stored_limit_that_has_ended_on_the_server_is_seen() {
    let server = Redis::start().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let builder = sluicegate::RateLimiter::builder(format!("{}?protocol=resp3", server.url()))
        .rules(sluicegate::Rules::from_json(RULES).unwrap())
        .remember_denials(Duration::from_secs(600));
    let limiter = runtime.block_on(builder.connect()).unwrap();
    runtime.block_on(limiter.set_limit("stored", "k", 1, Some(Duration::from_secs(4)))).unwrap();
    let begun = Instant::now();
    let mut from_memory = 0;
    loop {
        let decision = runtime.block_on(limiter.check("stored", "k")).unwrap();
        // The first is admitted by the stored limit.
        if decision.allowed && begun.elapsed() > Duration::from_secs(4) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the end was not seen");
        from_memory += u32::from(decision.source == Source::Cache);
        sleep(Duration::from_millis(20));
    }
    assert!(from_memory > 0);
}

#[test]
fn a_rule_that_changes_ends_what_was_watched() {
    let server = Redis::start().unwrap();
    let switch = Switch::default();
    switch.put(RULES);
    let followed = switch.clone();
    let world = World::through(server.url(), server.url(), move |builder| builder.rules(followed.clone()));
    world.deny("bucket", "k");
    let mut rules = RULES.replacen("2/hour", "5/hour", 1);
    for is_denied in [false, true] {
        let before = world.limiter.rules_status().updates;
        switch.put(&rules);
        world.waits_until("was not read", || world.limiter.rules_status().updates > before);
        // Three more units, and then, under the first rule again, none.
        assert_eq!(world.check("bucket", "k").unwrap(), (!is_denied, Source::Server));
        world.deny("bucket", "k");
        RULES.clone_into(&mut rules);
    }
}

/// A server that watches one key at most: it announces the others as changed, and nothing else is different.
#[test]
fn a_server_that_watches_too_many_keys_costs_no_more_than_calls() {
    let server = Redis::start().unwrap();
    command(&mut server.client().unwrap(), &["CONFIG", "SET", "tracking-table-max-keys", "1"]);
    let world = World::on(server.url());
    let keys: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    for key in &keys {
        world.deny("bucket", key);
    }
    for key in &keys {
        assert!(!world.check("bucket", key).unwrap().0, "{key} was denied");
    }
    for key in &keys {
        world.deny("bucket", key);
        world.other().refund("bucket", key).unwrap();
        world.sees("bucket", key);
    }
}
