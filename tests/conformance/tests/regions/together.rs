//! Calls of several items that several regions are in charge of, and calls with a request id.

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{
    AsyncRateLimiter, Builder, Check, CheckAllOptions, CheckOptions, Decision, ErrorKind, RateLimiter, Rules,
    Source,
};
use sluicegate_test_servers::{Cluster, Redis, Regions};
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "fast", "rate": "2000/s", "global": {}},
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

/// A key of a rule that each region is in charge of, in the order of their places.
fn keys(world: &Regions, rule: &str) -> [String; 3] {
    [0, 1, 2].map(|place| {
        let limiter = builder(world, place).build().unwrap();
        let mut keys = (0..100).map(|number| format!("user-{number}"));
        // What is asked of another region comes over its relay.
        let arrived = || [0, 1, 2].map(|at| world.relay(at).arrived());
        let is_owned = |key: &String| {
            let before = arrived();
            limiter.peek(rule, key).unwrap();
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
    let [home, one, other] = keys(&world, "day");
    let items = [
        Check::new("near", "k"),
        Check::new("day", &home),
        Check::new("day", &one),
        Check::new("day", &other),
    ];
    let limiter = builder(&world, 0).build().unwrap();
    let admitted = |decision: &Decision, remaining: u64| {
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

/// Where no time is left to decide by the own part, the error is that of the region in charge, which may have charged the call.
#[test]
fn a_call_whose_time_is_up_does_not_say_that_it_was_not_sent() {
    let world = Regions::start([Duration::from_millis(2); 3]).unwrap();
    let [_, one, other] = keys(&world, "day");
    let limiter = builder(&world, 0).build().unwrap();
    let items = [&one, &other].map(|key| {
        let options = CheckOptions::new().timeout(Duration::from_millis(200));
        Check::new("day", key).with(options)
    });
    // Opens the connections.
    assert!(limiter.check_all(&[Check::new("day", &one), Check::new("day", &other)]).unwrap().allowed);
    [1, 2].into_iter().for_each(|at| world.relay(at).mute(true));
    for asked in [&items[..1], &items[..]] {
        let error = limiter.check_all(asked).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(!error.to_string().contains("was not sent"), "{error}");
    }
    [1, 2].into_iter().for_each(|at| world.relay(at).mute(false));
    for key in [&one, &other] {
        assert!(remaining(&limiter, "day", key) < 10);
    }
}

fn names(server: &mut redis::Connection) -> Vec<String> {
    redis::cmd("KEYS").arg("*").query(server).unwrap()
}

fn remaining(limiter: &RateLimiter, rule: &str, key: &str) -> u64 {
    limiter.peek(rule, key).unwrap().remaining
}

/// No script may touch items in several hash slots of the near Cluster: each region decides its own, all or nothing.
#[test]
fn items_in_several_slots_of_a_cluster_are_decided_where_they_are_counted() {
    let (cluster, single) = (Cluster::start().unwrap(), Redis::start().unwrap());
    let urls = [("one", cluster.url().to_owned()), ("two", single.url().to_owned())];
    let [here, there] = ["one", "two"].map(|region| {
        let rules = Rules::from_json(RULES).unwrap();
        RateLimiter::builder("").rules(rules).regions(urls.clone()).region(region).build().unwrap()
    });
    let mut far = single.client().unwrap();
    let mut away = (0..100).map(|number| format!("user-{number}")).filter(|key| {
        here.check("day", key).unwrap();
        let is_away = names(&mut far).iter().any(|name| name.contains(&format!(":day:{{{key}}}:")));
        here.reset("day", key).unwrap();
        is_away
    });
    let keys: [String; 3] = std::array::from_fn(|_| away.next().unwrap());
    let items = |near| {
        let [one, two, three] = [0, 1, 2].map(|at| Check::new("day", &keys[at]));
        [Check::new("near", near), one, two, three]
    };
    let left = || keys.each_ref().map(|key| remaining(&there, "day", key));
    for admitted in 1..=3 {
        let decision = here.check_all(&items("k")).unwrap();
        assert_eq!((decision.allowed, decision.source), (true, Source::Server));
        assert_eq!(left(), [10 - admitted; 3]);
    }
    // Denied near: nothing stays charged in the other region, and nothing is lent.
    let denied = here.check_all(&items("k")).unwrap();
    assert_eq!((denied.allowed, denied.rule.as_str()), (false, "near"));
    assert_eq!(left(), [7; 3]);
    // Denied there: nothing is charged near.
    assert!(there.check_with("day", &keys[2], CheckOptions::new().cost(7)).unwrap().allowed);
    let denied = here.check_all(&items("l")).unwrap();
    assert_eq!((denied.allowed, denied.rule.as_str()), (false, "day"));
    assert_eq!((left(), remaining(&here, "near", "l")), ([7, 7, 0], 3));
    let lent = names(&mut far).into_iter().filter(|name| name.contains(":lent-"));
    assert_eq!(lent.count(), 0);
}

#[test]
fn a_call_with_a_request_id_goes_to_the_region_in_charge() {
    let world = Regions::start([Duration::from_millis(2); 3]).unwrap();
    let [here, there] = [0, 2].map(|place| builder(&world, place).build().unwrap());
    let [_, key, other] = keys(&world, "fast");
    // So much is asked for that units are lent.
    let start = Instant::now();
    while here.check("fast", &key).unwrap().source != Source::Allotment {
        assert!(start.elapsed() < PATIENCE, "nothing is lent");
    }
    thread::sleep(Duration::from_millis(100));
    let once = || CheckOptions::new().cost(50).request_id("one");
    let first = here.check_with("fast", &key, once()).unwrap();
    assert_eq!((first.allowed, first.source), (true, Source::Server), "not by what was lent");
    for limiter in [&here, &there] {
        let again = limiter.check_with("fast", &key, once()).unwrap();
        assert_eq!((again.allowed, again.remaining), (true, first.remaining), "one call, from any region");
    }
    let items = [Check::new("fast", &key), Check::new("fast", &key)];
    let once = CheckAllOptions::new().request_id("two");
    let first = here.check_all_with(&items, once).unwrap();
    assert_eq!((first.allowed, first.source), (true, Source::Server));
    assert_eq!(there.check_all_with(&items, once).unwrap().remaining, first.remaining);
    let apart = [Check::new("fast", &key), Check::new("fast", &other)];
    let error = here.check_all_with(&apart, once).unwrap_err();
    let expected =
        "rule \"fast\": request_id: the items are counted in several regions, which have no record in common";
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().starts_with(expected), "{error}");
    // Only the region in charge knows whether it decided the call before: no part of the limit does.
    let hasty = builder(&world, 0).response_timeout(Duration::from_millis(300)).build().unwrap();
    world.server(1).pause().unwrap();
    let error = hasty.check_with("fast", &key, CheckOptions::new().request_id("three")).unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(hasty.check("fast", &other).unwrap().source, Source::Server);
    world.server(1).resume().unwrap();
}
