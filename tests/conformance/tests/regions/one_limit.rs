//! One limit over several regions, each with a server of its own.

use std::collections::HashSet;
use std::time::Duration;

use sluicegate::{
    AsyncRateLimiter, Check, CheckOptions, Decision, ErrorKind, RateLimiter, Rules, Source, Usage,
};
use sluicegate_test_servers::{Cluster, Redis, keys_without_ttl};
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "all", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 86400, "global": {}},
    {"rule_id": "bucket", "rate": "20/day", "burst": 10, "global": {}},
    {"rule_id": "work", "rate": "10/day", "reservations": true, "lease_seconds": 600, "global": {}},
    {"rule_id": "plans", "rate": "10/day", "overrides": true, "global": {}},
    {"rule_id": "month", "algorithm": "fixed_window", "limit": 10, "window": "month", "time_zone": "Asia/Tokyo", "global": {}},
    {"rule_id": "near", "rate": "10/day"}
]"#;

const NAMES: [&str; 3] = ["ap", "eu", "us"];

struct World {
    servers: Vec<Redis>,
}

impl World {
    fn start() -> Self {
        Self { servers: NAMES.map(|_| Redis::start().unwrap()).into() }
    }

    fn urls(&self) -> Vec<(&'static str, String)> {
        NAMES.into_iter().zip(self.servers.iter().map(|server| server.url().to_owned())).collect()
    }

    fn builder(&self, region: &str) -> sluicegate::Builder {
        RateLimiter::builder("")
            .rules(Rules::from_json(RULES).unwrap())
            .regions(self.urls())
            .region(region)
            .connect_timeout(Duration::from_millis(300))
            .response_timeout(Duration::from_millis(300))
    }

    fn limiter(&self, region: &str) -> RateLimiter {
        self.builder(region).build().unwrap()
    }

    fn limiters(&self) -> Vec<RateLimiter> {
        NAMES.iter().map(|name| self.limiter(name)).collect()
    }

    /// The places of the servers that have a state with this in its name: what was lent is none.
    fn with_key(&self, part: &str) -> Vec<usize> {
        let has = |server: &Redis| {
            let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut server.client().unwrap()).unwrap();
            keys.iter().any(|key| key.contains(part) && !key.contains(":lent-"))
        };
        (0..NAMES.len()).filter(|&place| has(&self.servers[place])).collect()
    }

    fn assert_all_expire(&self) {
        for server in &self.servers {
            assert_eq!(keys_without_ttl(&mut server.client().unwrap()).unwrap(), Vec::<String>::new());
        }
    }
}

fn figures(decision: &Decision) -> (bool, u64, Source) {
    (decision.allowed, decision.remaining, decision.source)
}

#[test]
fn a_key_is_counted_once_over_all_regions() {
    let world = World::start();
    let limiters = world.limiters();
    let mut owners = HashSet::new();
    for key in (0..20).map(|number| format!("user-{number}")) {
        for rule in ["all", "bucket"] {
            let admitted =
                (0..24).filter(|call| limiters[call % 3].check(rule, &key).unwrap().allowed).count();
            assert_eq!(admitted, 10, "{rule} {key}");
            for limiter in &limiters {
                assert_eq!(
                    figures(&limiter.peek(rule, &key).unwrap()),
                    (false, 0, Source::Server),
                    "{rule} {key}"
                );
            }
        }
        let owner = world.with_key(&format!(":all:{{{key}}}"));
        assert_eq!(owner.len(), 1, "{key}: {owner:?}");
        owners.extend(owner);
    }
    assert_eq!(owners.len(), NAMES.len(), "each region is in charge of some keys");
    // Rules without `global` count in each region.
    for limiter in &limiters {
        assert_eq!((0..20).filter(|_| limiter.check("near", "k").unwrap().allowed).count(), 10);
    }
    world.assert_all_expire();
}

/// A key of which this region is in charge, and one of which it is not.
fn keys(world: &World, rule: &str, place: usize) -> (String, String) {
    let limiter = world.limiter(NAMES[place]);
    let (mut home, mut away) = (None, None);
    for key in (0..100).map(|number| format!("probe-{number}")) {
        limiter.check(rule, &key).unwrap();
        let owner = world.with_key(&format!(":{rule}:{{{key}}}"));
        limiter.reset(rule, &key).unwrap();
        if owner == [place] {
            home.get_or_insert(key)
        } else {
            away.get_or_insert(key)
        };
    }
    (home.unwrap(), away.unwrap())
}

#[test]
fn every_call_goes_to_the_region_in_charge() {
    let world = World::start();
    let (_, away) = keys(&world, "work", 0);
    let [here, there] = [0, 1].map(|place| world.limiter(NAMES[place]));
    let reserved = here.reserve_with("work", &away, CheckOptions::new().cost(4)).unwrap();
    assert!(reserved.allowed);
    assert_eq!(there.peek("work", &away).unwrap().remaining, 6);
    assert!(there.commit(&reserved.id().unwrap(), Usage::Cost(3)).unwrap());
    assert_eq!(here.peek("work", &away).unwrap().remaining, 7);
    assert_eq!(there.charge("work", &away).unwrap().remaining, 6);
    assert_eq!(here.refund("work", &away).unwrap().remaining, 7);
    let (_, away) = keys(&world, "plans", 0);
    here.set_limit("plans", &away, 3, Some(Duration::from_secs(60))).unwrap();
    assert_eq!(there.peek("plans", &away).unwrap().remaining, 3);
    assert!(there.clear_limit("plans", &away).unwrap());
    assert_eq!(here.check("plans", &away).unwrap().remaining, 9);
    there.reset("plans", &away).unwrap();
    assert_eq!(here.peek("plans", &away).unwrap().remaining, 10);
    world.assert_all_expire();
}

/// How many of some checks are admitted.
fn admitted(limiter: &RateLimiter, rule: &str, key: &str, calls: usize) -> usize {
    (0..calls).filter(|_| limiter.check(rule, key).unwrap().allowed).count()
}

#[test]
fn a_stored_limit_holds_in_every_region() {
    let world = World::start();
    let limiters = world.limiters();
    let (home, away) = keys(&world, "plans", 0);
    for key in [&home, &away] {
        for (setter, stored) in [3, 12, 5].into_iter().enumerate() {
            limiters[setter].set_limit("plans", key, stored, Some(Duration::from_secs(600))).unwrap();
            for limiter in &limiters {
                let seen = limiter.peek("plans", key).unwrap();
                assert_eq!((seen.limit, seen.remaining, seen.source), (stored, stored, Source::Server));
            }
        }
        let each = [2, 2, 4].into_iter().zip(&limiters);
        let each: Vec<_> = each.map(|(calls, limiter)| admitted(limiter, "plans", key, calls)).collect();
        assert_eq!(each, [2, 2, 1], "{key}: five in all");
        // In a call of several items too.
        let items = [Check::new("near", "k"), Check::new("plans", key)];
        for limiter in &limiters {
            let denied = limiter.check_all(&items).unwrap();
            assert_eq!((denied.allowed, denied.rule.as_str(), denied.limit), (false, "plans", 5));
            assert_eq!(limiter.peek("near", "k").unwrap().remaining, 10);
        }
        limiters[1].set_limit("plans", key, 7, None).unwrap();
        assert_eq!(admitted(&limiters[2], "plans", key, 4), 2, "what was counted stays");
        assert!(limiters[0].clear_limit("plans", key).unwrap());
        assert_eq!(admitted(&limiters[1], "plans", key, 5), 3, "the rule's own limit");
    }
    assert_eq!(world.with_key(&format!(":plans:{{{home}}}")), [0], "all of it is in the region in charge");
    // Without a time of its own a stored limit would stay; all that is left has one.
    world.assert_all_expire();
}

#[test]
fn a_window_of_the_calendar_is_counted_once_over_all_regions() {
    let world = World::start();
    let limiters = world.limiters();
    let (home, away) = keys(&world, "month", 0);
    for key in [&home, &away] {
        let first = limiters[0].check("month", key).unwrap();
        assert_eq!(figures(&first), (true, 9, Source::Server));
        let items = [Check::new("near", key), Check::new("month", key).with(CheckOptions::new().cost(4))];
        for limiter in &limiters[1..] {
            assert!(limiter.check_all(&items).unwrap().allowed);
        }
        for limiter in &limiters {
            assert_eq!(admitted(limiter, "month", key, 2), usize::from(std::ptr::eq(limiter, &limiters[0])));
        }
        assert!(!limiters[1].check_all(&items).unwrap().allowed);
        assert_eq!(limiters[1].peek("near", key).unwrap().remaining, 9, "all or nothing");
    }
    assert_eq!(world.with_key(&format!(":month:{{{home}}}")), [0]);
    world.assert_all_expire();
    limiters[0].reset("month", &away).unwrap();
    for server in &world.servers[1..] {
        server.pause().unwrap();
    }
    let by_part = (0..5).filter(|_| {
        let decision = limiters[0].check("month", &away).unwrap();
        assert_eq!(decision.source, Source::Share);
        decision.allowed
    });
    assert_eq!(by_part.count(), 3, "a third of ten");
}

#[test]
fn items_of_several_regions_are_charged_together() {
    let world = World::start();
    let limiter = world.limiter("eu");
    let keys: Vec<_> = (0..9).map(|number| format!("user-{number}")).collect();
    let items: Vec<_> = keys.iter().map(|key| Check::new("all", key)).collect();
    for _ in 0..7 {
        assert!(limiter.check_all(&items).unwrap().allowed);
    }
    for _ in 0..3 {
        assert!(limiter.check("all", "user-5").unwrap().allowed);
    }
    assert!(!limiter.check_all(&items).unwrap().allowed);
    // Those that were asked far have lent what the denied call did not spend: it is spent here next.
    for key in keys.iter().filter(|key| *key != "user-5") {
        let admitted = (0..5).filter(|_| limiter.check("all", key).unwrap().allowed).count();
        assert_eq!(admitted, 3, "{key}");
    }
}

#[test]
fn a_region_that_is_cut_off_decides_by_its_part() {
    let world = World::start();
    let (home, away) = keys(&world, "bucket", 0);
    let limiter = world.limiter("ap");
    assert_eq!(figures(&limiter.check("bucket", &away).unwrap()), (true, 9, Source::Server));
    for server in &world.servers[1..] {
        server.pause().unwrap();
    }
    // A third of 20 a day and of a burst of 10.
    let admitted = (0..20).filter(|_| {
        let decision = limiter.check("bucket", &away).unwrap();
        assert_eq!(decision.source, Source::Share);
        decision.allowed
    });
    assert_eq!(admitted.count(), 3);
    assert_eq!(figures(&limiter.peek("bucket", &away).unwrap()), (false, 0, Source::Share));
    assert_eq!(figures(&limiter.check("bucket", &home).unwrap()), (true, 9, Source::Server));
    // What only the region in charge knows is an error.
    assert!(limiter.charge("bucket", &away).is_err());
    assert!(limiter.reset("bucket", &away).is_err());
    for server in &world.servers[1..] {
        server.resume().unwrap();
    }
    let back = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        limiter.peek("bucket", &away).ok().filter(|decision| decision.source == Source::Server)
    });
    // What was sent before the circuit breaker opened may have been charged; nothing of the part is.
    assert!(back.unwrap().remaining >= 4);
    world.assert_all_expire();
}

#[test]
fn a_region_that_is_cut_off_decides_several_items_by_its_part() {
    let world = World::start();
    let (_, away) = keys(&world, "bucket", 0);
    let limiter = world.limiter("ap");
    for server in &world.servers[1..] {
        server.pause().unwrap();
    }
    let items = [Check::new("near", "k"), Check::new("bucket", &away)];
    let decisions: Vec<_> = (0..6).map(|_| limiter.check_all(&items).unwrap()).collect();
    assert!(decisions.iter().all(|decision| decision.source == Source::Share), "{decisions:?}");
    // A third of a burst of 10; the near limit is charged for what is admitted.
    assert_eq!(decisions.iter().filter(|decision| decision.allowed).count(), 3);
    assert_eq!(limiter.peek("near", "k").unwrap().remaining, 7);
}

#[test]
fn where_the_near_server_is_away_too_the_fallback_decides() {
    let world = World::start();
    let (_, away) = keys(&world, "all", 0);
    let limiter = world.builder("ap").fallback("local").instances(3).build().unwrap();
    for server in &world.servers {
        server.pause().unwrap();
    }
    let decisions: Vec<_> = (0..4).map(|_| limiter.check("all", &away).unwrap()).collect();
    assert!(decisions.iter().all(|decision| decision.source == Source::Fallback));
    // A third of a third of ten.
    assert_eq!(decisions.iter().filter(|decision| decision.allowed).count(), 1);
}

#[test]
fn parts_need_not_be_equal() {
    let world = World::start();
    let (_, away) = keys(&world, "all", 1);
    let parts = [("ap", 0.01), ("eu", 0.7), ("us", 0.29)];
    let limiter = world.builder("eu").region_parts(parts).build().unwrap();
    for place in [0, 2] {
        world.servers[place].pause().unwrap();
    }
    assert_eq!((0..20).filter(|_| limiter.check("all", &away).unwrap().allowed).count(), 7);
}

#[test]
fn tasks_and_clusters_do_the_same() {
    let (cluster, single) = (Cluster::start().unwrap(), Redis::start().unwrap());
    let urls = [("one", cluster.url().to_owned()), ("two", single.url().to_owned())];
    Runtime::new().unwrap().block_on(async {
        let mut limiters = Vec::new();
        for region in ["one", "two"] {
            let rules = Rules::from_json(RULES).unwrap();
            let builder = AsyncRateLimiter::builder("").rules(rules).regions(urls.clone()).region(region);
            limiters.push(builder.connect().await.unwrap());
        }
        for key in (0..8).map(|number| format!("user-{number}")) {
            let mut admitted = 0;
            for call in 0..24 {
                admitted += u32::from(limiters[call % 2].check("all", &key).await.unwrap().allowed);
            }
            assert_eq!(admitted, 10, "{key}");
        }
        // Keys in several hash slots of a Cluster: each is charged where it is counted.
        let keys: Vec<_> = (0..8).map(|number| format!("together-{number}")).collect();
        let items: Vec<_> = keys.iter().map(|key| Check::new("all", key)).collect();
        let mut admitted = 0;
        for call in 0..24 {
            admitted += u32::from(limiters[call % 2].check_all(&items).await.unwrap().allowed);
        }
        assert_eq!(admitted, 10);
    });
}

#[test]
fn regions_that_make_no_sense_are_refused() {
    let builder = || RateLimiter::builder("").rules(Rules::from_json(RULES).unwrap());
    let two = [("eu", "redis://:hunter2@localhost:1"), ("us", "redis://localhost:2")];
    let refused = |builder: sluicegate::Builder, expected: &str| {
        let error = builder.build().unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, expected));
    };
    refused(
        builder().regions(two),
        "regions: needs the option region, the name of the region of this limiter",
    );
    refused(builder().region("eu"), "region: needs the option regions");
    refused(builder().region_parts([("eu", 1.0)]), "region_parts: needs the option regions");
    refused(
        builder().regions(two).region("asia"),
        r#"region "asia" is not among regions; it has to be "eu" or "us""#,
    );
    let of_eu = || builder().regions(two).region("eu");
    refused(of_eu().region_parts([("eu", 0.5)]), r#"region_parts: "us" has no part"#);
    refused(
        of_eu().region_parts([("eu", 0.7), ("us", 0.5)]),
        "region_parts: add up to 1.2, and must not to more than 1",
    );
    refused(
        of_eu().region_parts([("eu", 0.0), ("us", 0.5)]),
        r#"region_parts: "eu" has 0; a part has to be above 0, and 1 at most"#,
    );
    refused(
        of_eu().region_parts([("eu", 0.5), ("ap", 0.5)]),
        r#"region_parts: "ap" is not among regions; it has to be "eu" or "us""#,
    );
    let one = [("eu", "redis://localhost:1/0"), ("us", "redis://localhost:1/1")];
    refused(
        builder().regions(one).region("eu"),
        r#"regions: "eu" and "us" have the same server; each needs its own"#,
    );
    refused(
        builder().regions([("eu", "redis://localhost:1"), ("us", "memory://")]).region("eu"),
        r#"regions: "us": memory:// is nobody else's"#,
    );
    refused(
        RateLimiter::builder("redis://localhost:2").regions(two).region("eu"),
        "regions: the URL of the limiter has to be that of its own region, or empty",
    );
    let shown = format!("{:?}", of_eu());
    assert!(!shown.contains("hunter2"), "{shown}");
}
