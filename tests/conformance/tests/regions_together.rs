//! Calls of several items that several regions are in charge of.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, Check, RateLimiter, Rules, Source};
use sluicegate_test_servers::Regions;
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "near", "rate": "3/day"}
]"#;

/// No call is given up because a machine is slow.
const PATIENCE: Duration = Duration::from_secs(10);

fn builder(world: &Regions, place: usize) -> Builder {
    RateLimiter::builder("")
        .rules(Rules::from_json(RULES).unwrap())
        .regions(world.urls(place))
        .region(Regions::NAMES[place])
        .response_timeout(PATIENCE)
}

/// A key of the rule `day` that each region is in charge of, in the order of their places.
fn keys(world: &Regions) -> [String; 3] {
    [0, 1, 2].map(|place| {
        let limiter = builder(world, place).build().unwrap();
        let mut keys = (0..100).map(|number| format!("user-{number}"));
        // What is asked of another region comes over its relay.
        let arrived = || [0, 1, 2].map(|at| world.relay(at).arrived());
        let is_owned = |key: &String| {
            let before = arrived();
            limiter.peek("day", key).unwrap();
            arrived() == before
        };
        keys.find(is_owned).unwrap()
    })
}

/// Both regions in charge receive their requests before one of them has answered. `call` makes the call.
fn assert_asked_at_once(world: &Regions, call: impl FnOnce() + Send) {
    let relays = [world.relay(1), world.relay(2)];
    let before = relays.map(|relay| relay.arrived());
    relays.iter().for_each(|relay| relay.mute(true));
    thread::scope(|scope| {
        scope.spawn(call);
        let start = Instant::now();
        let all_have_it = || relays.iter().zip(before).all(|(relay, before)| relay.arrived() > before);
        while !all_have_it() && start.elapsed() < PATIENCE / 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let is_at_once = all_have_it();
        relays.iter().for_each(|relay| relay.mute(false));
        assert!(is_at_once, "one region is asked after another");
    });
}

#[test]
fn the_regions_in_charge_are_asked_at_the_same_time() {
    let world = Regions::start([Duration::from_millis(2); 3]).unwrap();
    let [home, one, other] = keys(&world);
    let items = [
        Check::new("near", "k"),
        Check::new("day", &home),
        Check::new("day", &one),
        Check::new("day", &other),
    ];
    let limiter = builder(&world, 0).build().unwrap();
    let admitted = |decision: &sluicegate::Decision, remaining: u64| {
        assert!(decision.allowed, "{decision:?}");
        assert_eq!(decision.source, Source::Server);
        assert!(decision.parts[1..].iter().all(|part| part.remaining == remaining), "{decision:?}");
    };
    // Opens the connections.
    admitted(&limiter.check_all(&items).unwrap(), 9);
    assert_asked_at_once(&world, || admitted(&limiter.check_all(&items).unwrap(), 8));
    let runtime = Runtime::new().unwrap();
    let tasks: AsyncRateLimiter = runtime.block_on(builder(&world, 0).connect()).unwrap();
    runtime.block_on(async {
        for key in [&one, &other] {
            assert_eq!(tasks.peek("day", key).await.unwrap().remaining, 8);
        }
    });
    assert_asked_at_once(&world, || {
        runtime.block_on(async { admitted(&tasks.check_all(&items).await.unwrap(), 7) });
    });
    assert!(!limiter.check_all(&items).unwrap().allowed, "three a day near");
}
