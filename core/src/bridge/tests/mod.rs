mod batches;
#[cfg(unix)]
mod socket;

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use sluicegate_test_servers::Redis;

use super::*;
use crate::redis::tests::without_threads;
use crate::{RateLimiter, Rules};

const RULES: &str = r#"[
    {"rule_id": "r", "algorithm": "gcra", "limit": 10, "window_size_seconds": 3600},
    {"rule_id": "quick", "algorithm": "gcra", "limit": 1000, "window_size_seconds": 100},
    {"rule_id": "lent", "algorithm": "fixed_window", "window_start": "first_request", "rate": "100000/hour",
     "lease": {"max_age_ms": 2000, "pace_ms": 200}},
    {"rule_id": "both", "algorithm": "fixed_window", "window_start": "first_request", "rate": "100000/hour",
     "lease": {"max_age_ms": 2000, "pace_ms": 200}}
]"#;

fn item(key: &str) -> Item {
    Item {
        rule: "r".into(),
        key: key.into(),
        cost: 1,
        resource: None,
        limit: None,
        timeout: None,
        request_id: None,
    }
}

fn open(url: &str) -> (Bridge, Receiver<()>) {
    let (wake, woken) = channel();
    let builder = RateLimiter::builder(url).rules(Rules::from_json(RULES).unwrap());
    // Whoever fetches answers may be gone.
    let bridge = Bridge::open(builder, move || _ = wake.send(())).unwrap();
    let opened = fetch(&bridge, &woken, 1);
    assert!(opened[0].token == Bridge::OPENED && opened[0].result.is_ok());
    (bridge, woken)
}

/// Waits for wakes until so many answers have come.
fn fetch(bridge: &Bridge, woken: &Receiver<()>, count: usize) -> Vec<Completion> {
    let mut answers = Vec::new();
    while answers.len() < count {
        woken.recv_timeout(Duration::from_secs(10)).unwrap();
        answers.extend(bridge.drain());
    }
    answers
}

fn allowed(completion: &Completion) -> bool {
    matches!(&completion.result, Ok(Answer::Decision(decision)) if decision.allowed)
}

/// Checks `k` at once.
fn single(bridge: &Bridge) -> Option<bool> {
    let check = Check::new("r", "k");
    bridge.single_at_once(Kind::Check, &check, |raw| raw.allowed).map(Result::unwrap)
}

#[test]
fn a_batch_is_decided_one_by_one() {
    let redis = Redis::start().unwrap();
    let (bridge, woken) = open(redis.url());
    let calls =
        |from| (from..from + 15).map(|token| (token, OwnedCall::Single(Kind::Check, item("k")))).collect();
    bridge.submit(calls(1)).unwrap();
    let answers = fetch(&bridge, &woken, 15);
    assert_eq!(answers.iter().filter(|answer| allowed(answer)).count(), 10);

    // The server forgets the script: the batch is asked for again, and charged once.
    redis::cmd("SCRIPT").arg("FLUSH").exec(&mut redis.client().unwrap()).unwrap();
    bridge
        .submit((1..=15).map(|token| (token, OwnedCall::Single(Kind::Check, item("other")))).collect())
        .unwrap();
    let answers = fetch(&bridge, &woken, 15);
    assert_eq!(answers.iter().filter(|answer| allowed(answer)).count(), 10);
}

#[test]
fn every_kind_of_call_is_answered() {
    let redis = Redis::start().unwrap();
    let (bridge, woken) = open(redis.url());
    let calls = [
        OwnedCall::Ping(None),
        OwnedCall::Single(Kind::Peek, item("k")),
        OwnedCall::Single(Kind::Refund, item("k")),
        OwnedCall::All(vec![item("a"), item("b")], None),
        OwnedCall::Reset(item("k")),
        OwnedCall::Wait(item("k"), Duration::from_secs(1)),
    ];
    let count = calls.len();
    bridge.submit((1..).zip(calls).collect()).unwrap();
    let mut answers = fetch(&bridge, &woken, count);
    answers.sort_by_key(|answer| answer.token);
    assert!(answers.iter().map(|answer| answer.token).eq(1..=count as u64));
    assert!(answers.iter().all(|answer| answer.result.is_ok()), "{answers:?}");
}

#[test]
fn a_wait_can_be_given_up_in_memory_and_on_a_server() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let (bridge, woken) = open(url);
        let mut used_up = item("w");
        used_up.cost = 10;
        bridge.submit(vec![(1, OwnedCall::Single(Kind::Check, used_up))]).unwrap();
        fetch(&bridge, &woken, 1);
        bridge.submit(vec![(2, OwnedCall::Wait(item("w"), Duration::from_secs(3600)))]).unwrap();
        bridge.cancel(2);
        bridge.submit(vec![(3, OwnedCall::Ping(None))]).unwrap();
        assert_eq!(fetch(&bridge, &woken, 1)[0].token, 3);
    }
}

#[test]
fn who_waits_next_is_not_kept_from_it_by_one_that_left() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let (bridge, woken) = open(url);
        let quick = |key: &str, cost| Item { cost, rule: "quick".into(), ..item(key) };
        let check = |key: &str| OwnedCall::Single(Kind::Check, quick(key, 1000));
        let wait = |key: &str, cost| OwnedCall::Wait(quick(key, cost), Duration::from_secs(3600));
        bridge.submit(vec![(1, check("w")), (2, check("other"))]).unwrap();
        fetch(&bridge, &woken, 2);
        bridge.submit(vec![(3, wait("w", 1000)), (4, wait("w", 5)), (5, wait("other", 1))]).unwrap();
        // By then nothing is left to be done before the first would be admitted.
        assert_eq!(fetch(&bridge, &woken, 1)[0].token, 5);
        bridge.cancel(3);
        let ended = fetch(&bridge, &woken, 1);
        assert!(ended[0].token == 4 && allowed(&ended[0]), "{url}");
    }
}

#[test]
fn the_in_memory_engine_answers_at_once() {
    let (bridge, _woken) = open("memory://");
    let began = Instant::now();
    for _ in 0..10 {
        assert_eq!(single(&bridge), Some(true));
    }
    assert_eq!(single(&bridge), Some(false));
    assert!(bridge.at_once(&OwnedCall::Wait(item("k"), Duration::ZERO)).is_none());
    assert!(matches!(bridge.at_once(&OwnedCall::Reset(item("k"))), Some(Ok(Answer::Done))));
    assert!(began.elapsed() < Duration::from_secs(5));
    bridge.close();
    let closed = bridge.at_once(&OwnedCall::Ping(None)).unwrap().unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::Closed);
}

#[test]
fn an_unreachable_server_is_an_answer() {
    let (wake, woken) = channel();
    let builder = RateLimiter::builder("redis://127.0.0.1:1");
    let bridge = Bridge::open(builder, move || wake.send(()).unwrap()).unwrap();
    let opened = fetch(&bridge, &woken, 1);
    assert_eq!(opened[0].result.as_ref().unwrap_err().kind(), ErrorKind::Connection);
    bridge.submit(vec![(1, OwnedCall::Ping(None))]).unwrap();
    assert!(fetch(&bridge, &woken, 1)[0].result.is_err());
}

#[test]
fn closing_ends_waits() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let (bridge, woken) = open(url);
        let waits =
            |from: u64| (from..from + 15).map(|token| (token, OwnedCall::Wait(item("k"), Duration::MAX)));
        bridge.submit(waits(1).collect()).unwrap();
        assert!(fetch(&bridge, &woken, 10).iter().all(allowed));
        bridge.close();
        let ended = fetch(&bridge, &woken, 5);
        assert!(
            ended
                .iter()
                .all(|wait| wait.result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Closed))
        );
    }
}

#[test]
fn rules_that_are_followed_are_in_force_in_memory_too() {
    let path = std::env::temp_dir().join(format!("sluicegate-bridge-{}.json", std::process::id()));
    std::fs::write(&path, RULES).unwrap();
    let (wake, woken) = channel();
    let builder = RateLimiter::builder("memory://").rules(crate::sources::FileSource::new(&path));
    let bridge = Bridge::open(builder, move || wake.send(()).unwrap()).unwrap();
    assert!(fetch(&bridge, &woken, 1)[0].result.is_ok());
    assert_eq!(single(&bridge), Some(true));
    std::fs::write(&path, RULES.replace("\"r\"", "\"s\"")).unwrap();
    let limiter = bridge.limiter().unwrap();
    while limiter.rules_status().updates < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(matches!(
        bridge.at_once(&OwnedCall::Single(Kind::Peek, Item { rule: "s".into(), ..item("k") })),
        Some(Ok(_))
    ));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn calls_that_no_thread_can_serve_end() {
    without_threads("bridge::tests::calls_that_no_thread_can_serve_end", || {
        let (bridge, woken) = open("memory://");
        let waits = |key| OwnedCall::Wait(Item { cost: 10, ..item(key) }, Duration::MAX);
        bridge.submit((1..4).map(|token| (token, waits("k"))).collect()).unwrap();
        let answers = fetch(&bridge, &woken, 3);
        assert_eq!(answers.iter().filter(|answer| allowed(answer)).count(), 1);
        let says_why = |answer: &&Completion| {
            let error = answer.result.as_ref().err();
            // In memory it is known that they were not carried out.
            error.is_some_and(|error| {
                error.message().starts_with("cannot start a thread") && !error.is_maybe_done()
            })
        };
        assert_eq!(answers.iter().filter(says_why).count(), 2, "{answers:?}");
        let server = Bridge::open(RateLimiter::builder("redis://127.0.0.1:1"), || ()).err().unwrap();
        assert_eq!(server.kind(), ErrorKind::Connection);
    });
}
