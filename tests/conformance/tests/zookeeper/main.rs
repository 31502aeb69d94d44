//! Rules in a ZooKeeper of three servers, which change, break and go away while checks are made.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod holding;
mod tls;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use holding::holding_proxy;
use sluicegate::sources::{RulesStatus, ZooKeeperSource};
use sluicegate::{ErrorKind, RateLimiter};
use sluicegate_conformance::Backend;
use sluicegate_test_servers::{ZooKeeper, finally};

const FOLDER: &str = "/config/ratelimit/rules";
/// Far more than the second within which changes are to be seen, for machines that are busy.
const TIMEOUT: Duration = Duration::from_secs(20);
const UNLIMITED: u64 = 1_000_000_000;

fn rule(id: &str, limit: u64) -> String {
    format!(
        r#"{{ "rule_id": "{id}", "algorithm": "fixed_window", "limit": {limit}, "window_size_seconds": 36000 }}"#
    )
}

fn node(id: &str) -> String {
    format!("{FOLDER}/{id}")
}

/// An ensemble that holds the rules `a` and `b`.
fn ensemble() -> ZooKeeper {
    let zookeeper = ZooKeeper::start().unwrap();
    for id in ["a", "b"] {
        zookeeper.admin().create(&node(id), rule(id, 10)).unwrap();
    }
    zookeeper
}

fn source(zookeeper: &ZooKeeper) -> ZooKeeperSource {
    ZooKeeperSource::new(&format!("zookeeper://{}{FOLDER}", zookeeper.hosts())).unwrap()
}

fn limiter(zookeeper: &ZooKeeper) -> RateLimiter {
    RateLimiter::builder("memory://").rules(source(zookeeper)).build().unwrap()
}

/// Waits until the status is as it is to become.
fn until(limiter: &RateLimiter, so: impl Fn(&RulesStatus) -> bool) -> RulesStatus {
    let began = Instant::now();
    loop {
        let status = limiter.rules_status();
        if so(&status) {
            return status;
        }
        assert!(began.elapsed() < TIMEOUT, "{status:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn until_limit(limiter: &RateLimiter, id: &str, limit: u64) {
    until(limiter, |_| limiter.rules().get(id).is_some_and(|rule| rule.limits[0].limit == limit as f64));
}

#[test]
fn rules_come_change_and_go() {
    let zookeeper = ensemble();
    let admin = zookeeper.admin();
    let limiter = limiter(&zookeeper);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 9);

    admin.set(&node("a"), rule("a", 20)).unwrap();
    until_limit(&limiter, "a", 20);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 18, "what was counted is kept");

    admin.create(&node("team%2Forders"), rule("team/orders", 3)).unwrap();
    until_limit(&limiter, "team/orders", 3);
    admin.delete(&node("b")).unwrap();
    until(&limiter, |status| status.rules == 2);
    assert_eq!(limiter.check("b", "k").unwrap_err().kind(), ErrorKind::UnknownRule);
    // Gone and back before anybody could look.
    admin.delete(&node("a")).unwrap();
    admin.create(&node("a"), rule("a", 30)).unwrap();
    until_limit(&limiter, "a", 30);
    admin.set(&node("a"), rule("a", 31)).unwrap();
    until_limit(&limiter, "a", 31);
}

#[test]
fn bad_znodes_are_refused_one_by_one() {
    let zookeeper = ensemble();
    let admin = zookeeper.admin();
    let limiter = limiter(&zookeeper);
    admin.set(&node("a"), "garbage").unwrap();
    admin.create(&node("empty"), "").unwrap();
    admin.create(&node("huge"), "x".repeat(1_000_000)).unwrap();
    admin.create(&node("binary"), [0xff, 0xfe]).unwrap();
    admin.create(&node("misnamed"), rule("another", 1)).unwrap();
    admin.create(&node("not a rule id"), rule("x", 1)).unwrap();
    admin.create(&node("b%2Fc"), rule("b", 99)).unwrap();
    let status = until(&limiter, |status| status.refused.len() == 7);
    let refused: Vec<_> = status.refused.iter().map(|refusal| refusal.unit.as_str()).collect();
    assert_eq!(refused, ["a", "b/c", "binary", "empty", "huge", "misnamed", "not a rule id"]);
    assert_eq!((status.rules, status.refusals), (2, 7));
    assert_eq!(limiter.check("a", "k").unwrap().limit, 10, "its last good version");
    assert_eq!(limiter.check("b", "k").unwrap().limit, 10);

    // A limiter that starts now has what is good.
    let late = self::limiter(&zookeeper);
    assert_eq!(late.check("a", "k").unwrap_err().kind(), ErrorKind::UnknownRule);
    assert_eq!(late.rules_status().refused.len(), 7);

    admin.set(&node("misnamed"), rule("misnamed", 5)).unwrap();
    admin.set(&node("a"), rule("a", 11)).unwrap();
    until_limit(&limiter, "misnamed", 5);
    until_limit(&limiter, "a", 11);
    until_limit(&late, "a", 11);
}

#[test]
fn a_thousand_rules_are_followed() {
    let zookeeper = ensemble();
    let admin = zookeeper.admin();
    let ids: Vec<_> = (0..1_000).map(|number| format!("r{number}")).collect();
    for id in &ids {
        admin.create(&node(id), rule(id, 1)).unwrap();
    }
    let limiter = limiter(&zookeeper);
    assert_eq!(limiter.rules().len(), 1_002);
    // Each change is read with all the others, which takes its time.
    for id in ids.iter().step_by(10) {
        admin.set(&node(id), rule(id, 2)).unwrap();
    }
    for id in ids.iter().step_by(10) {
        until_limit(&limiter, id, 2);
    }
}

#[test]
fn answers_that_are_held_back_until_the_next_request_are_asked_for() {
    let zookeeper = ensemble();
    let server = zookeeper.hosts().split(',').next().unwrap().parse().unwrap();
    let proxy = holding_proxy(server).unwrap();
    let source = ZooKeeperSource::new(&format!("zookeeper://{proxy}{FOLDER}")).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(source).build().unwrap();
    zookeeper.admin().set(&node("a"), rule("a", 20)).unwrap();
    until_limit(&limiter, "a", 20);
    assert_eq!(limiter.rules_status().last_error, None);
}

/// Checks without end on a Redis while something happens to the source of the rules: none fails, and every
/// one that is admitted is counted.
fn under_traffic(happen: impl FnOnce(&ZooKeeper, &RateLimiter)) {
    let zookeeper = ensemble();
    zookeeper.admin().set(&node("a"), rule("a", UNLIMITED)).unwrap();
    let redis = Backend::redis();
    let limiter = RateLimiter::builder(redis.url())
        .rules(source(&zookeeper))
        .response_timeout(TIMEOUT)
        .build()
        .unwrap();
    let (over, admitted) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let _stop = finally(|| over.store(true, Ordering::Relaxed));
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let decision = limiter.check("a", "k").unwrap();
                    assert!(decision.allowed);
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        happen(&zookeeper, &limiter);
    });
    let left = limiter.peek("a", "k").unwrap();
    assert_eq!(left.limit - left.remaining, admitted.into_inner());
}

/// A change that is seen shows that the source is followed again.
fn still_follows(zookeeper: &ZooKeeper, limiter: &RateLimiter, limit: u64) {
    zookeeper.admin().set(&node("b"), rule("b", limit)).unwrap();
    until_limit(limiter, "b", limit);
    zookeeper.admin().set(&node("a"), rule("a", UNLIMITED + limit)).unwrap();
    until_limit(limiter, "a", UNLIMITED + limit);
    until(limiter, |status| status.reachable);
}

/// The session of the limiter, and the server that it is connected to.
fn session(zookeeper: &ZooKeeper) -> (i64, usize) {
    let began = Instant::now();
    loop {
        if let [session] = zookeeper.sessions().unwrap().as_slice() {
            return *session;
        }
        assert!(began.elapsed() < TIMEOUT);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn another_server_takes_over() {
    under_traffic(|zookeeper, limiter| {
        for limit in 20..22 {
            let (_, server) = session(zookeeper);
            zookeeper.kill(server);
            zookeeper.wait_until_serving().unwrap();
            still_follows(zookeeper, limiter, limit);
            zookeeper.restart(server).unwrap();
        }
    });
}

#[test]
fn a_server_that_hangs_is_left() {
    under_traffic(|zookeeper, limiter| {
        let (_, server) = session(zookeeper);
        zookeeper.pause(server).unwrap();
        zookeeper.wait_until_serving().unwrap();
        still_follows(zookeeper, limiter, 20);
        zookeeper.resume(server).unwrap();
    });
}

#[test]
fn an_expired_session_is_begun_anew() {
    under_traffic(|zookeeper, limiter| {
        for limit in 20..22 {
            let (id, _) = session(zookeeper);
            zookeeper.expire(id).unwrap();
            still_follows(zookeeper, limiter, limit);
        }
    });
}

#[test]
fn all_servers_may_be_away_for_a_while() {
    under_traffic(|zookeeper, limiter| {
        for server in 0..3 {
            zookeeper.kill(server);
        }
        until(limiter, |status| !status.reachable);
        assert!(limiter.rules_status().last_error.unwrap().contains("zookeeper://"));
        for server in 0..3 {
            zookeeper.restart(server).unwrap();
        }
        zookeeper.wait_until_serving().unwrap();
        still_follows(zookeeper, limiter, 20);
    });
}

/// So fast that some of what the watches tell comes while the common znode is missing. With few rules that is
/// likely; in hundreds of rounds it is all but certain.
#[test]
fn a_tree_that_is_made_anew_is_read_anew() {
    let zookeeper = ZooKeeper::start().unwrap();
    let ids: Vec<_> = (0..3).map(|number| format!("r{number}")).collect();
    for id in &ids {
        zookeeper.admin().create(&node(id), rule(id, 1)).unwrap();
    }
    let limiter = limiter(&zookeeper);
    for limit in 2..202 {
        let children: Vec<_> = ids.iter().map(|id| (id.clone(), rule(id, limit))).collect();
        zookeeper.admin().remake(FOLDER, &children).unwrap();
        for id in &ids {
            until_limit(&limiter, id, limit);
        }
    }
}

#[test]
fn what_is_protected_is_read_with_the_password() {
    let zookeeper = ZooKeeper::start().unwrap();
    let admin = zookeeper.admin().with_digest("limits:s3cr:t@");
    admin.create(&node("a"), rule("a", 10)).unwrap();
    let url = format!("zookeeper://limits:s3cr%3At%40@{}{FOLDER}", zookeeper.hosts());
    let source = ZooKeeperSource::new(&url).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(source).build().unwrap();
    admin.set(&node("a"), rule("a", 12)).unwrap();
    until_limit(&limiter, "a", 12);
    assert!(!format!("{:?}", limiter.rules_status()).contains("s3cr"));

    // Without it, the children may be listed or not, but no rule can be read.
    let anonymous = RateLimiter::builder("memory://").rules(self::source(&zookeeper)).build();
    match anonymous {
        Ok(limiter) => assert_eq!(limiter.rules_status().refused[0].reason, "not authorized"),
        Err(error) => assert!(error.message().contains("not authorized"), "{error}"),
    }
}

#[test]
fn a_start_without_the_source_takes_the_cache_or_fails() {
    let zookeeper = ensemble();
    let folder = std::env::temp_dir().join(format!("sluicegate-zookeeper-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let cache = folder.join("rules.json");
    let build = || RateLimiter::builder("memory://").rules(source(&zookeeper)).rules_cache(&cache).build();
    build().unwrap();
    zookeeper.admin().set(&node("a"), rule("a", 77)).unwrap();
    build().unwrap();
    for server in 0..3 {
        zookeeper.kill(server);
    }
    let limiter = build().unwrap();
    let status = limiter.rules_status();
    assert!(status.cached && !status.reachable, "{status:?}");
    assert_eq!(limiter.check("a", "k").unwrap().limit, 77);

    let error = RateLimiter::builder("memory://").rules(source(&zookeeper)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().contains(FOLDER), "{error}");
    for server in 0..3 {
        zookeeper.restart(server).unwrap();
    }
    until(&limiter, |status| !status.cached && status.reachable);
    assert_eq!(limiter.check("a", "k").unwrap().remaining, 75);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn rules_that_are_not_there_yet_are_waited_for_only_by_those_who_run() {
    let zookeeper = ZooKeeper::start().unwrap();
    let error = RateLimiter::builder("memory://").rules(source(&zookeeper)).build().unwrap_err();
    assert!(error.message().contains("does not exist"), "{error}");
    zookeeper.admin().create(FOLDER, "").unwrap();
    let limiter = limiter(&zookeeper);
    assert_eq!(limiter.rules().len(), 0);
    zookeeper.admin().delete(FOLDER).unwrap();
    until(&limiter, |status| !status.reachable);
    zookeeper.admin().create(&node("a"), rule("a", 5)).unwrap();
    until_limit(&limiter, "a", 5);
}
