//! Waits take turns: few calls, in the order of arrival, whatever waits beside them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use redis::cmd;
use sluicegate::{
    AsyncRateLimiter, Check, CheckOptions, Decision, ErrorKind, ManualClock, RateLimiter, Rules,
};
use sluicegate_test_servers::{Redis, finally};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

const WAITERS: usize = 100;
const LONG: Duration = Duration::from_secs(30);

/// Rules that admit so much in a second, after the first.
const RULES: &str = r#"[
    { "rule_id": "gcra", "algorithm": "gcra", "limit": 200, "window_size_seconds": 1, "burst": 1 },
    { "rule_id": "fixed_window", "algorithm": "fixed_window", "limit": 20, "window_size_seconds": 0.1 },
    { "rule_id": "sliding_window", "algorithm": "sliding_window", "limit": 20, "window_size_seconds": 0.1 },
    { "rule_id": "sliding_log", "algorithm": "sliding_log", "limit": 20, "window_size_seconds": 0.1 },
    { "rule_id": "sliding_buckets", "algorithm": "sliding_buckets", "limit": 20, "window_size_seconds": 0.1,
      "resolution_seconds": 0.01 },
    { "rule_id": "decay", "algorithm": "decay", "limit": 20, "resolution_seconds": 0.05 },
    { "rule_id": "several", "algorithm": "fixed_window", "limits": [
      { "limit": 20, "window_size_seconds": 0.1 }, { "limit": 10000, "window_size_seconds": 60 } ] },
    { "rule_id": "tokens", "algorithm": "gcra", "limit": 2000, "window_size_seconds": 1, "burst": 20 },
    { "rule_id": "slow", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60 }
]"#;

fn builder(url: &str) -> sluicegate::Builder {
    RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap())
}

/// How many scripts the server has run.
fn calls(redis: &Redis) -> u64 {
    let mut connection = redis.client().unwrap();
    let text: String = cmd("INFO").arg("commandstats").query(&mut connection).unwrap();
    let count = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok();
    text.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(count).sum()
}

/// Lets threads wait that come one after the other, and answers in which order they were admitted.
fn order_of_admission(waiters: usize, wait: impl Fn(usize) -> Decision + Sync) -> Vec<usize> {
    let order = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for number in 0..waiters {
            let (order, wait) = (&order, &wait);
            scope.spawn(move || {
                assert!(wait(number).allowed);
                order.lock().unwrap().push(number);
            });
            // So that it is known who came first.
            thread::sleep(Duration::from_millis(1));
        }
    });
    order.into_inner().unwrap()
}

/// Whether waiters were admitted in turn: seven in ten noted so, to a tenth of all, for threads of a busy machine begin to
/// wait, and record their admission, later than it happened. (In no order, two in ten would.)
fn is_in_turn(order: &[usize]) -> bool {
    let near = order.iter().enumerate().filter(|(turn, waiter)| turn.abs_diff(**waiter) * 10 <= order.len());
    near.count() * 10 >= order.len() * 7
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn connected(redis: &Redis) -> (Runtime, Arc<AsyncRateLimiter>) {
    let runtime = runtime();
    let limiter = runtime.block_on(builder(redis.url()).connect()).unwrap();
    (runtime, Arc::new(limiter))
}

#[test]
fn threads_are_admitted_in_order_by_few_calls() {
    let redis = Redis::start().unwrap();
    let limiter = builder(redis.url()).build().unwrap();
    for rule in ["gcra", "fixed_window", "sliding_window", "decay", "several"] {
        let before = calls(&redis);
        let order = order_of_admission(WAITERS, |_| limiter.wait(rule, "k", LONG).unwrap());
        let asked = calls(&redis) - before;
        println!("{rule}: {asked} calls for {WAITERS} admissions");
        assert!(is_in_turn(&order), "{rule}: {order:?}");
        assert!(asked <= 120, "{rule}: {asked} calls for {WAITERS} admissions");
    }
}

#[test]
fn tasks_are_admitted_in_order_by_few_calls() {
    let redis = Redis::start().unwrap();
    let (runtime, limiter) = connected(&redis);
    let order = runtime.block_on(async {
        let (mut tasks, order) = (JoinSet::new(), Arc::new(Mutex::new(Vec::new())));
        for number in 0..WAITERS {
            let (limiter, order) = (Arc::clone(&limiter), Arc::clone(&order));
            tasks.spawn(async move {
                let checks = [Check::new("gcra", "k"), Check::new("several", "k")];
                assert!(limiter.wait_all(&checks, LONG).await.unwrap().allowed);
                order.lock().unwrap().push(number);
            });
        }
        tasks.join_all().await;
        Arc::into_inner(order).unwrap().into_inner().unwrap()
    });
    assert!(order.is_sorted(), "{order:?}");
    assert!(calls(&redis) <= 120, "{} calls for {WAITERS} admissions", calls(&redis));
}

#[test]
fn in_memory_waits_take_turns_too() {
    let limiter = builder("memory://").build().unwrap();
    let order = order_of_admission(WAITERS, |_| limiter.wait("gcra", "k", LONG).unwrap());
    assert!(is_in_turn(&order), "{order:?}");
}

#[test]
fn those_who_come_later_do_not_overtake_a_large_cost() {
    for redis in [None, Some(Redis::start().unwrap())] {
        let limiter = builder(redis.as_ref().map_or("memory://", Redis::url)).build().unwrap();
        let large = CheckOptions::new().cost(20);
        let order = order_of_admission(60, |number| {
            if number == 10 {
                limiter.wait_with("tokens", "k", large, LONG).unwrap()
            } else {
                limiter.wait_with("tokens", "k", CheckOptions::new().cost(5), LONG).unwrap()
            }
        });
        assert!(is_in_turn(&order), "{order:?}");
        let place = order.iter().position(|number| *number == 10).unwrap();
        assert!(place < 30, "{order:?}");
    }
}

#[test]
fn tasks_that_are_cancelled_leave_the_queue() {
    let redis = Redis::start().unwrap();
    let (runtime, limiter) = connected(&redis);
    runtime.block_on(async {
        assert!(limiter.wait("slow", "k", LONG).await.unwrap().allowed);
        let mut tasks = JoinSet::new();
        for _ in 0..WAITERS {
            let limiter = Arc::clone(&limiter);
            tasks.spawn(async move { limiter.wait("slow", "k", Duration::MAX).await });
        }
        while calls(&redis) < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tasks.shutdown().await;
        // Whoever comes now is the first, and asks itself.
        let began = Instant::now();
        assert!(!limiter.wait("slow", "k", LONG).await.unwrap().allowed);
        assert!(began.elapsed() < LONG / 2);
    });
    assert_eq!(calls(&redis), 3);
}

#[test]
fn limiters_that_share_a_server_share_it_fairly() {
    let redis = Redis::start().unwrap();
    let limiters = [(); 2].map(|()| builder(redis.url()).build().unwrap());
    let admitted = [const { AtomicUsize::new(0) }; 2];
    let total = || admitted.iter().map(|count| count.load(Ordering::Relaxed)).sum::<usize>();
    thread::scope(|scope| {
        for (limiter, count) in limiters.iter().zip(&admitted) {
            for _ in 0..5 {
                scope.spawn(|| {
                    while total() < 2 * WAITERS {
                        assert!(limiter.wait("gcra", "k", LONG).unwrap().allowed);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    let [one, other] = admitted.map(AtomicUsize::into_inner);
    assert!(one.min(other) * 3 >= one.max(other), "{one} to {other}");
}

#[test]
fn waits_for_several_keys_that_overlap_all_end() {
    let redis = Redis::start().unwrap();
    let limiter = builder(redis.url()).build().unwrap();
    let sets = [["a", "b"], ["b", "c"], ["c", "a"], ["b", "a"]];
    let order = order_of_admission(80, |number| {
        let checks = sets[number % 4].map(|key| Check::new("gcra", key));
        let decision = limiter.wait_all(&checks, LONG).unwrap();
        assert_eq!(decision.parts.len(), 2);
        decision
    });
    for set in 0..4 {
        let order: Vec<_> =
            order.iter().filter(|number| *number % 4 == set).map(|number| number / 4).collect();
        assert!(is_in_turn(&order), "{order:?}");
    }
}

#[test]
fn a_turn_that_does_not_come_in_time_is_a_denial_and_a_check_takes_no_turn() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = builder(url).build().unwrap();
        let half = |cost| CheckOptions::new().cost(cost);
        assert!(limiter.check_with("tokens", "k", half(20)).unwrap().allowed);
        assert!(limiter.check("slow", "k").unwrap().allowed);
        thread::scope(|scope| {
            let _end = finally(|| limiter.close());
            let first = scope.spawn(|| limiter.wait("slow", "k", Duration::MAX));
            let began = Instant::now();
            let timeout = Duration::from_millis(300);
            while began.elapsed() < timeout / 3 {
                thread::yield_now();
            }
            let denied = limiter.wait("slow", "k", timeout).unwrap();
            assert!(!denied.allowed && denied.retry_after > LONG, "{denied:?}");
            assert!(!limiter.check("slow", "k").unwrap().allowed);
            assert!(!limiter.wait("slow", "k", Duration::ZERO).unwrap().allowed);
            // What is given back goes to the first in the queue.
            limiter.reset("slow", "k").unwrap();
            assert!(first.join().unwrap().unwrap().allowed);
        });
        assert_eq!(limiter.wait("slow", "k", LONG).unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn a_manual_clock_is_moved_on_by_each_in_turn() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let clock = ManualClock::new(1_000_000_000);
        let limiter = builder(url).clock(clock.clone()).build().unwrap();
        let order = order_of_admission(30, |_| limiter.wait("slow", "k", Duration::from_secs(1801)).unwrap());
        assert!(is_in_turn(&order), "{order:?}");
        assert_eq!(clock.now_us(), 1_000_000_000 + 29 * 60_000_000);
        let denied = limiter.wait("slow", "k", Duration::from_secs(59)).unwrap();
        assert_eq!(denied.retry_after, Duration::from_secs(60));
    }
}

#[test]
fn each_waiter_gets_the_error_at_the_end_of_its_time() {
    let redis = Redis::start().unwrap();
    let limiter = builder(redis.url()).breaker_failures(0).build().unwrap();
    let (spent, time) = (CheckOptions::new().cost(20), Duration::from_secs(2));
    thread::scope(|scope| {
        assert!(limiter.check_with("tokens", "k", spent).unwrap().allowed);
        let waiting: Vec<_> =
            (0..10).map(|_| scope.spawn(|| limiter.wait_with("tokens", "k", spent, time))).collect();
        drop(redis);
        let began = Instant::now();
        let failed = waiting.into_iter().filter_map(|waiter| waiter.join().unwrap().err());
        let kinds: Vec<_> = failed.map(|error| error.kind()).collect();
        // Some may have been admitted before the server was gone.
        assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == ErrorKind::Connection), "{kinds:?}");
        assert!((time - Duration::from_millis(500)..LONG / 2).contains(&began.elapsed()));
    });
}
