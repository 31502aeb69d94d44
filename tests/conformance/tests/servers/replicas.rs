//! Which charges replicas have, and what a failover takes along.

use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, Check, CheckOptions, Decision, ErrorKind, RateLimiter, Rules};
use sluicegate_test_servers::{Cluster, Node, Options, Promoted, Redis, Replicated};
use tokio::runtime::Runtime;

const RULES: &str = r#"[
    {"rule_id": "a", "algorithm": "fixed_window", "limit": 1000, "window_size_seconds": 86400},
    {"rule_id": "b", "rate": "1000/d"},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 4}
]"#;

/// Long enough for a machine that does much else.
const LONG: Duration = Duration::from_secs(5);

/// A limiter that waits for so many replicas, for so long.
fn waiting(url: &str, replicas: u32, limit: Duration) -> Builder {
    let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
    builder.replicas(replicas).replica_timeout(limit).response_timeout(LONG * 2)
}

fn near() -> Replicated {
    Replicated::start(&[Duration::ZERO; 2]).unwrap()
}

fn url(node: &Node) -> String {
    node.url()
}

#[test]
fn what_replicas_have_is_said_of_every_kind_of_decision() {
    let servers = near();
    let limiter = waiting(&url(servers.primary()), 2, LONG).build().unwrap();
    assert!(limiter.check("a", "k").unwrap().replicated);
    assert!(limiter.charge("b", "k").unwrap().replicated);
    let both = limiter.check_all(&[Check::new("a", "k"), Check::new("b", "k")]).unwrap();
    assert!(both.replicated && both.parts.iter().all(|part| part.replicated));
    let options = CheckOptions::new().request_id("once");
    assert!(limiter.check_with("a", "k", options).unwrap().replicated);
    assert!(limiter.reserve("places", "k").unwrap().decision().replicated);
    // A server that forgot its scripts is sent them again, behind the end of the batch.
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut servers.primary().client().unwrap()).unwrap();
    assert!(limiter.check("a", "k").unwrap().replicated);
}

#[test]
fn without_enough_replicas_a_call_is_decided_all_the_same() {
    let servers = near();
    let limit = Duration::from_millis(50);
    let three = waiting(&url(servers.primary()), 3, limit).build().unwrap();
    let begun = Instant::now();
    let decision = three.check("a", "k").unwrap();
    assert!(decision.allowed && !decision.replicated);
    assert!(begun.elapsed() >= limit, "{:?}", begun.elapsed());
    let two = waiting(&url(servers.primary()), 2, limit).build().unwrap();
    let replica = servers.replicas().next().unwrap();
    replica.pause().unwrap();
    assert!(!two.check("a", "k").unwrap().replicated);
    let one = waiting(&url(servers.primary()), 1, LONG).build().unwrap();
    assert!(one.check("a", "k").unwrap().replicated);
    replica.resume().unwrap();
    let again = waiting(&url(servers.primary()), 2, LONG).build().unwrap();
    assert!(again.check("a", "k").unwrap().replicated);
    let none = RateLimiter::builder(url(servers.primary())).rules(Rules::from_json(RULES).unwrap()).build();
    let decision = none.unwrap().check("a", "k").unwrap();
    assert_eq!((decision.replicated, decision.remaining), (false, 1000 - 5));
}

#[test]
fn calls_that_share_a_batch_are_told_together() {
    let servers = near();
    let limiter = waiting(&url(servers.primary()), 2, LONG).build().unwrap();
    let told = |keys: &'static str| {
        let limiter = &limiter;
        move || (0..50).all(|call| limiter.check("a", &format!("{keys}{call}")).unwrap().replicated)
    };
    thread::scope(|scope| {
        let threads = ["a", "b", "c", "d"].map(|keys| scope.spawn(told(keys)));
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}

#[test]
fn tasks_on_a_cluster_wait_for_the_replica_of_each_slot() {
    let cluster = Cluster::start().unwrap();
    Runtime::new().unwrap().block_on(async {
        let limiter: AsyncRateLimiter = waiting(&cluster.url(), 1, LONG).connect().await.unwrap();
        for key in 0..20 {
            assert!(limiter.check("a", &key.to_string()).await.unwrap().replicated);
        }
        let several: Vec<Check<'_>> = ["x", "y", "z"].iter().map(|key| Check::new("b", key)).collect();
        assert!(limiter.check_all(&several).await.unwrap().replicated);
    });
}

#[test]
fn a_user_who_may_not_wait_is_told_so() {
    let redis = Redis::with(&Options { password: Some("secret".to_owned()), ..Options::default() }).unwrap();
    let user = ["SETUSER", "limiter", "on", ">word", "~*", "+@all", "-wait"];
    redis::cmd("ACL").arg(&user).exec(&mut redis.client().unwrap()).unwrap();
    let url = redis.url().replace(":secret@", "limiter:word@");
    let limiter = waiting(&url, 1, Duration::from_millis(5)).build().unwrap();
    let failures = [limiter.ping().unwrap_err(), limiter.check("a", "k").unwrap_err()];
    for error in failures {
        assert_eq!(error.kind(), ErrorKind::Server);
        assert!(error.to_string().contains("may not run WAIT, which `replicas` needs"), "{error}");
    }
    assert!(waiting(redis.url(), 1, Duration::from_millis(5)).build().unwrap().ping().is_ok());
}

#[test]
fn a_failover_loses_nothing_that_all_replicas_have() {
    let mut servers = Replicated::start(&[Duration::from_millis(2), Duration::from_millis(8)]).unwrap();
    for (round, promoted) in
        [Promoted::Hindmost, Promoted::Foremost, Promoted::Hindmost].into_iter().enumerate()
    {
        let key = |call: usize| format!("{round}-{call}");
        let limiter = waiting(&url(servers.primary()), 2, Duration::from_millis(50)).build().unwrap();
        let decisions = thread::scope(|scope| {
            let calling = scope.spawn(|| until_it_fails(&limiter, key));
            while limiter.peek("a", &key(20)).unwrap().remaining == 1000 {
                thread::yield_now();
            }
            servers.fail_over(promoted).unwrap();
            calling.join().unwrap()
        });
        assert!(decisions.iter().any(|decision| decision.replicated));
        let after = RateLimiter::builder(url(servers.primary())).rules(Rules::from_json(RULES).unwrap());
        let after = after.build().unwrap();
        let lost = decisions.iter().enumerate().filter(|(call, decision)| {
            decision.replicated && after.peek("a", &key(*call)).unwrap().remaining == 1000
        });
        assert_eq!(lost.count(), 0);
    }
}

/// Checks a key after the other until the server is gone.
fn until_it_fails(limiter: &RateLimiter, key: impl Fn(usize) -> String) -> Vec<Decision> {
    (0..).map_while(|call| limiter.check("a", &key(call)).ok()).collect()
}
