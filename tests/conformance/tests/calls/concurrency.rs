//! Any number of processes and threads admit together what one caller alone would be: exactly the limit.
//!
//! The test program is its own crowd: for a server it starts itself several times, each time with the one
//! test that hammers, given its work by the environment.

use std::env;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluicegate::{AsyncRateLimiter, Check, RateLimiter, Rules};
use sluicegate_conformance::Backend;
use tokio::runtime::Builder;

const PROCESSES: usize = 8;
const THREADS: usize = 8;
const LIMIT: u64 = 500;
/// More calls than the limit, so that it is reached however the calls are spread.
const CALLS_PER_THREAD: usize = 16;
/// Far longer than the test.
const WINDOW_SECONDS: u64 = 36_000;
const KEY: &str = "the one key";
const TIMEOUT: Duration = Duration::from_secs(20);

/// The input of a child process, and where in its output the answer stands.
const URL: &str = "SLUICEGATE_HAMMER_URL";
const RULE: &str = "SLUICEGATE_HAMMER_RULE";
const ADMITTED: &str = "admitted=";

/// Algorithms that count exactly.
const EXACT: [(&str, &str); 6] = [
    ("aligned", r#""algorithm": "fixed_window""#),
    ("first_request", r#""algorithm": "fixed_window", "window_start": "first_request""#),
    ("list", r#""algorithm": "sliding_log""#),
    ("sorted_set", r#""algorithm": "sliding_log", "structure": "sorted_set""#),
    ("buckets", r#""algorithm": "sliding_buckets""#),
    ("gcra", r#""algorithm": "gcra""#),
];

/// Its windows do not end for hours, and no unit of GCRA comes back within a minute.
fn builder(url: &str) -> sluicegate::Builder {
    let rules = EXACT.map(|(id, algorithm)| {
        format!(
            r#"{{"rule_id": "{id}", {algorithm}, "limit": {LIMIT}, "window_size_seconds": {WINDOW_SECONDS}}}"#
        )
    });
    let rules = Rules::from_json(&format!("[{}]", rules.join(","))).unwrap();
    RateLimiter::builder(url).rules(rules).response_timeout(TIMEOUT).connect_timeout(TIMEOUT)
}

fn limiter(url: &str) -> RateLimiter {
    builder(url).build().unwrap()
}

/// How many of the calls of all threads are admitted.
fn hammer(limiter: &RateLimiter, rule: &str, threads: usize, calls: usize) -> usize {
    let admitted = || (0..calls).filter(|_| limiter.check(rule, KEY).unwrap().allowed).count();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(admitted)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// One process of several, given its work by the environment. By itself it is alone on a server of its own, and
/// is admitted all that it asks for.
#[test]
fn one_process_hammers() {
    let hammer = |url: &str, rule: &str| hammer(&limiter(url), rule, THREADS, CALLS_PER_THREAD);
    match (env::var(URL), env::var(RULE)) {
        (Ok(url), Ok(rule)) => println!("\n{ADMITTED}{}", hammer(&url, &rule)),
        _ => assert_eq!(hammer(&Backend::redis().url(), EXACT[0].0), THREADS * CALLS_PER_THREAD),
    }
}

fn child(url: &str, rule: &str) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "concurrency::one_process_hammers", "--nocapture"])
        .env(URL, url)
        .env(RULE, rule)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn admitted(child: Child) -> usize {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "a child failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix(ADMITTED)).unwrap().parse().unwrap()
}

/// Aligned windows must not end while a test runs.
fn keep_clear_of_the_window_end() {
    let into = |now: Duration| now.as_secs() % WINDOW_SECONDS;
    while into(SystemTime::now().duration_since(UNIX_EPOCH).unwrap()) > WINDOW_SECONDS - 60 {
        thread::sleep(Duration::from_secs(1));
    }
}

fn processes_admit_the_limit(backend: &Backend) {
    keep_clear_of_the_window_end();
    for (rule, _) in EXACT {
        let children: Vec<_> = (0..PROCESSES).map(|_| child(&backend.url(), rule)).collect();
        let total: usize = children.into_iter().map(admitted).sum();
        assert_eq!(total as u64, LIMIT, "{rule}");
    }
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

#[test]
fn processes_on_redis_admit_the_limit() {
    processes_admit_the_limit(&Backend::redis());
}

#[test]
fn processes_on_a_cluster_admit_the_limit() {
    processes_admit_the_limit(&Backend::cluster());
}

#[test]
fn threads_in_memory_admit_the_limit() {
    keep_clear_of_the_window_end();
    let limiter = limiter("memory://");
    for (rule, _) in EXACT {
        assert_eq!(hammer(&limiter, rule, THREADS, 2_000) as u64, LIMIT, "{rule}");
    }
}

#[test]
fn tasks_on_redis_admit_the_limit() {
    let backend = Backend::redis();
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build().unwrap();
    runtime.block_on(async {
        let limiter = Arc::new(builder(&backend.url()).connect().await.unwrap());
        for (rule, _) in EXACT {
            let tasks: Vec<_> = (0..1_000).map(|_| tokio::spawn(check(Arc::clone(&limiter), rule))).collect();
            let mut admitted = 0;
            for task in tasks {
                admitted += u64::from(task.await.unwrap());
            }
            assert_eq!(admitted, LIMIT, "{rule}");
        }
    });
}

async fn check(limiter: Arc<AsyncRateLimiter>, rule: &'static str) -> bool {
    limiter.check(rule, KEY).await.unwrap().allowed
}

/// Three states that callers check together, each in an order of its own.
const TOGETHER: [(&str, &str); 3] = [("gcra", "alice"), ("gcra", "bob"), ("list", "carol")];

/// How many of all threads' calls are admitted by all three.
fn hammer_together(limiter: &RateLimiter) -> u64 {
    let admitted = |number: usize| {
        let mut checks = TOGETHER.map(|(rule, key)| Check::new(rule, key));
        checks.rotate_left(number % TOGETHER.len());
        (0..100).filter(|_| limiter.check_all(&checks).unwrap().allowed).count() as u64
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || admitted(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

/// What was admitted was charged everywhere, and what was not, nowhere.
fn nothing_was_charged_by_halves(limiter: &RateLimiter, admitted: u64) {
    for (rule, key) in TOGETHER {
        assert_eq!(limiter.peek(rule, key).unwrap().remaining, LIMIT - admitted, "{rule} {key}");
    }
}

/// Where states are locked together nobody waits for ever, in whatever order callers name them.
#[test]
fn threads_that_check_together_in_memory_admit_the_limit() {
    let limiter = limiter("memory://");
    assert_eq!(hammer_together(&limiter), LIMIT);
    nothing_was_charged_by_halves(&limiter, LIMIT);
}

#[test]
fn threads_that_check_together_on_redis_admit_the_limit() {
    let backend = Backend::redis();
    let limiter = limiter(&backend.url());
    assert_eq!(hammer_together(&limiter), LIMIT);
    nothing_was_charged_by_halves(&limiter, LIMIT);
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

/// Across slots a caller may be denied needlessly, since others' charges may yet be given back; nobody is
/// admitted wrongly, and nothing is lost.
#[test]
fn threads_that_check_together_on_a_cluster_admit_no_more_than_the_limit() {
    let backend = Backend::cluster();
    let limiter = limiter(&backend.url());
    let admitted = hammer_together(&limiter);
    assert!((LIMIT * 9 / 10..=LIMIT).contains(&admitted), "{admitted} admitted");
    nothing_was_charged_by_halves(&limiter, admitted);
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

/// Windows that pass while threads stand in line: one that waited must not come with the time of a window
/// that is over.
#[test]
fn threads_in_memory_admit_the_limit_of_every_window() {
    const WINDOW_US: u64 = 20_000;
    const LIMIT: u64 = 20;
    let rules = ["aligned", "list", "gcra"].map(|id| {
        let algorithm = EXACT.iter().find(|exact| exact.0 == id).unwrap().1;
        let burst = if id == "gcra" { r#", "burst": 1"# } else { "" };
        format!(r#"{{"rule_id": "{id}", {algorithm}, "limit": {LIMIT}, "window_size_seconds": 0.02{burst}}}"#)
    });
    let rules = Rules::from_json(&format!("[{}]", rules.join(","))).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(rules).build().unwrap();
    for rule in ["aligned", "list", "gcra"] {
        let began = Instant::now();
        let admitted = hammer(&limiter, rule, 2 * THREADS, 10_000) as u64;
        // Two windows more than passed: the one it began in and the one it ended in.
        let windows = began.elapsed().as_micros() as u64 / WINDOW_US + 2;
        assert!(admitted <= windows * LIMIT, "{rule}: {admitted} in {windows} windows");
        assert!(windows > 3, "{rule}: too short to tell");
    }
}
