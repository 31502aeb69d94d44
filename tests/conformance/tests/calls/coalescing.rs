//! Checks of one key that wait for the server together are one call, and each caller has the decision that it would have
//! had if they had come one after the other.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use redis::cmd;
use sluicegate::{CheckOptions, Decision, ManualClock, RateLimiter, Rules, Source};
use sluicegate_test_servers::{Cluster, Redis, Replicated};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

const NOW_US: u64 = 1_700_000_000_123_456;
const CALLERS: usize = 64;
/// How often each of them asks.
const ROUNDS: usize = 5;

/// Every algorithm, with room for some of the callers.
const KINDS: [&str; 12] = [
    r#""algorithm": "fixed_window", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "fixed_window", "limit": 201, "window_size_seconds": 60, "window_start": "first_request""#,
    r#""algorithm": "fixed_window", "limit": 201, "window": "day""#,
    r#""algorithm": "fixed_window", "limit": 201, "window_size_seconds": 60, "count_denied": true"#,
    r#""algorithm": "sliding_window", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "sliding_log", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "sliding_log", "structure": "sorted_set", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "sliding_buckets", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "gcra", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "uniform", "limit": 201, "window_size_seconds": 60"#,
    r#""algorithm": "decay", "limit": 201.5, "resolution_seconds": 60, "decay_factor": 1.7"#,
    r#""algorithm": "decay", "limit": 201, "resolution_seconds": 60, "count_denied": true"#,
];

fn builder(url: &str, fields: &str, clock: &ManualClock) -> sluicegate::Builder {
    let rules = Rules::from_json(&format!(r#"[{{"rule_id": "r", {fields}}}]"#)).unwrap();
    RateLimiter::builder(url).rules(rules).clock(clock.clone()).response_timeout(Duration::from_secs(30))
}

/// What so many checks are answered that come one after the other at one time, in memory.
fn in_a_row(fields: &str, calls: usize) -> Vec<Decision> {
    let limiter = builder("memory://", fields, &ManualClock::new(NOW_US)).build().unwrap();
    (0..calls).map(|_| limiter.check_with("r", "k", CheckOptions::new().cost(2)).unwrap()).collect()
}

/// In an order that does not depend on who came first.
fn sorted(mut decisions: Vec<Decision>) -> Vec<String> {
    decisions.iter_mut().for_each(|decision| decision.source = Source::Server);
    let mut shown: Vec<_> = decisions.iter().map(|decision| format!("{decision:?}")).collect();
    shown.sort();
    shown
}

/// How many scripts the server has run.
fn scripts(redis: &Redis) -> usize {
    let text: String = cmd("INFO").arg("commandstats").query(&mut redis.client().unwrap()).unwrap();
    let count = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<usize>().ok();
    text.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(count).sum()
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// The decisions of tasks that ask at the same time, and the place of the key.
fn by_tasks(builder: sluicegate::Builder, keys: usize) -> Vec<(usize, Decision)> {
    runtime().block_on(async {
        let limiter = Arc::new(builder.connect().await.unwrap());
        let mut tasks = JoinSet::new();
        for caller in 0..CALLERS * keys {
            let limiter = Arc::clone(&limiter);
            tasks.spawn(async move {
                let (place, mut decisions) = (caller % keys, Vec::new());
                let key = if place == 0 { "k".to_owned() } else { format!("k{place}") };
                for _ in 0..ROUNDS {
                    let decision = limiter.check_with("r", &key, CheckOptions::new().cost(2)).await.unwrap();
                    decisions.push((place, decision));
                }
                decisions
            });
        }
        tasks.join_all().await.into_iter().flatten().collect()
    })
}

#[test]
fn tasks_that_ask_together_are_decided_in_a_row_by_few_calls() {
    let redis = Redis::start().unwrap();
    for (number, fields) in KINDS.into_iter().enumerate() {
        let builder = builder(redis.url(), fields, &ManualClock::new(NOW_US)).prefix(format!("p{number}"));
        let before = scripts(&redis);
        let decisions = by_tasks(builder, 1).into_iter().map(|(_, decision)| decision).collect();
        let asked = scripts(&redis) - before;
        assert_eq!(sorted(decisions), sorted(in_a_row(fields, CALLERS * ROUNDS)), "{fields}");
        assert!(asked * 4 <= CALLERS * ROUNDS, "{fields}: {asked} scripts");
    }
}

#[test]
fn keys_that_are_asked_for_together_are_kept_apart() {
    const KEYS: usize = 3;
    let redis = Redis::start().unwrap();
    let cluster = Cluster::start().unwrap();
    for (number, fields) in KINDS.into_iter().enumerate() {
        for url in [redis.url(), &cluster.url()] {
            let builder = builder(url, fields, &ManualClock::new(NOW_US)).prefix(format!("p{number}"));
            let decisions = by_tasks(builder, KEYS);
            for key in 0..KEYS {
                let of_key = decisions.iter().filter(|(place, _)| *place == key);
                let of_key = of_key.map(|(_, decision)| decision.clone()).collect();
                assert_eq!(sorted(of_key), sorted(in_a_row(fields, CALLERS * ROUNDS)), "{fields}");
            }
        }
    }
}

/// The answer about one call with many callers waits for the replicas, and is that of each.
#[test]
fn what_replicas_have_is_said_of_every_caller() {
    let servers = Replicated::start(&[Duration::ZERO; 2]).unwrap();
    let builder = builder(&servers.primary().url(), KINDS[8], &ManualClock::new(NOW_US));
    let builder = builder.replicas(2).replica_timeout(Duration::from_secs(10));
    let mut decisions: Vec<_> = by_tasks(builder, 1).into_iter().map(|(_, decision)| decision).collect();
    assert!(decisions.iter().all(|decision| decision.replicated));
    decisions.iter_mut().for_each(|decision| decision.replicated = false);
    assert_eq!(sorted(decisions), sorted(in_a_row(KINDS[8], CALLERS * ROUNDS)));
}

#[test]
fn threads_that_ask_together_are_decided_in_a_row() {
    let redis = Redis::start().unwrap();
    for (number, fields) in KINDS.into_iter().enumerate() {
        let builder = builder(redis.url(), fields, &ManualClock::new(NOW_US)).prefix(format!("p{number}"));
        let (limiter, barrier) = (builder.build().unwrap(), Barrier::new(CALLERS));
        let decisions = thread::scope(|scope| {
            let threads: Vec<_> = (0..CALLERS)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let check = |_| limiter.check_with("r", "k", CheckOptions::new().cost(2)).unwrap();
                        (0..ROUNDS).map(check).collect::<Vec<_>>()
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(sorted(decisions), sorted(in_a_row(fields, CALLERS * ROUNDS)), "{fields}");
    }
}

/// Those who do not wait for their decision are charged once at most, and keep nobody else from theirs.
#[test]
fn tasks_that_give_up_leave_the_others_theirs() {
    let redis = Redis::start().unwrap();
    let runtime = runtime();
    let builder = builder(redis.url(), KINDS[8], &ManualClock::new(NOW_US));
    let limiter = Arc::new(runtime.block_on(builder.connect()).unwrap());
    let decisions: Vec<Decision> = runtime.block_on(async {
        let (mut tasks, mut aborted) = (JoinSet::new(), Vec::new());
        for caller in 0..CALLERS {
            let limiter = Arc::clone(&limiter);
            let handle = tasks.spawn(async move { limiter.check("r", "k").await.unwrap() });
            if caller % 2 == 1 {
                aborted.push(handle);
            }
        }
        // They have submitted their calls, none of which is sent.
        tokio::task::yield_now().await;
        aborted.iter().for_each(tokio::task::AbortHandle::abort);
        let mut decisions = Vec::new();
        while let Some(joined) = tasks.join_next().await {
            decisions.extend(joined.ok());
        }
        decisions
    });
    assert!(decisions.len() >= CALLERS / 2, "{} decisions", decisions.len());
    let mut remaining: Vec<_> = decisions.iter().map(|decision| decision.remaining).collect();
    remaining.sort_unstable();
    remaining.dedup();
    assert_eq!(remaining.len(), decisions.len(), "two have the same place");
    let peeked = runtime.block_on(limiter.peek("r", "k")).unwrap().remaining;
    assert!((201 - CALLERS as u64..=201 - decisions.len() as u64).contains(&peeked), "{peeked} remain");
}
