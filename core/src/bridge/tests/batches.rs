//! Calls of one batch share scripts; each is answered as if it had come alone.

use sluicegate_test_servers::{Certificates, Cluster, Transport};

use super::*;
use crate::{CheckOptions, Decision, ManualClock, Source};

/// A rule of every kind of state, and one of several limits, which shares no script.
const ALL: &str = r#"[
    {"rule_id": "gcra", "algorithm": "gcra", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "aligned", "algorithm": "fixed_window", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "first", "algorithm": "fixed_window", "window_start": "first_request", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "sliding", "algorithm": "sliding_window", "limit": 5, "window_size_seconds": 10, "count_denied": true},
    {"rule_id": "list", "algorithm": "sliding_log", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "set", "algorithm": "sliding_log", "structure": "sorted_set", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "buckets", "algorithm": "sliding_buckets", "limit": 5, "window_size_seconds": 10},
    {"rule_id": "decay", "algorithm": "decay", "limit": 5, "resolution_seconds": 2},
    {"rule_id": "shadow", "algorithm": "gcra", "limit": 2, "window_size_seconds": 10, "shadow": true},
    {"rule_id": "several", "algorithm": "sliding_buckets", "limits": [
        {"limit": 4, "window_size_seconds": 10}, {"limit": 6, "window_size_seconds": 60}]}
]"#;
const NAMES: [&str; 10] =
    ["gcra", "aligned", "first", "sliding", "list", "set", "buckets", "decay", "shadow", "several"];
const KEYS: [&str; 4] = ["a", "b", "c", "d{e}"];
const START: u64 = 1_700_000_000_000_000;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    /// Below `end`.
    fn next(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn call(&mut self) -> OwnedCall {
        let kind =
            [Kind::Check, Kind::Check, Kind::Check, Kind::Peek, Kind::Refund, Kind::Charge][self.next(6)];
        let key = KEYS[self.next(KEYS.len())];
        let rule = NAMES[self.next(NAMES.len())].into();
        OwnedCall::Single(kind, Item { rule, cost: 1 + self.next(2) as u64, ..item(key) })
    }
}

fn item_of(rule: &str, key: &str) -> Item {
    Item { rule: rule.into(), ..item(key) }
}

fn builder(url: &str, clock: &ManualClock) -> Builder {
    RateLimiter::builder(url).rules(Rules::from_json(ALL).unwrap()).clock(clock.clone())
}

/// Who carries the calls.
#[derive(Clone, Copy)]
enum Way {
    Runner,
    /// The loop, on a socket that it watches.
    Socket,
}

fn open_all(builder: Builder, way: Way) -> (Bridge, Receiver<()>) {
    let (wake, woken) = channel();
    let bridge = Bridge::open(builder, move || wake.send(()).unwrap()).unwrap();
    assert!(fetch(&bridge, &woken, 1)[0].result.is_ok());
    if let Way::Socket = way {
        while bridge.new_socket().is_none() {
            woken.recv_timeout(Duration::from_secs(10)).unwrap();
        }
    }
    (bridge, woken)
}

fn submit(bridge: &Bridge, woken: &Receiver<()>, calls: &[OwnedCall]) -> Vec<Completion> {
    bridge.submit((1..).zip(calls.iter().cloned()).collect()).unwrap();
    let mut answers = Vec::new();
    let end = Instant::now() + Duration::from_secs(10);
    while answers.len() < calls.len() {
        bridge.read_socket();
        answers.extend(bridge.drain());
        assert!(Instant::now() < end, "{} answers", answers.len());
        let _ = woken.recv_timeout(Duration::from_micros(100));
    }
    answers.sort_by_key(|answer| answer.token);
    answers
}

fn decision(completion: Completion) -> Decision {
    match completion.result.unwrap() {
        Answer::Decision(decision) => decision,
        Answer::Done | Answer::Reserved(_) | Answer::Ended(_) => unreachable!("it decides"),
    }
}

/// Turns of many calls each, against the in-memory engine, which is asked one by one. The first time makes the
/// servers know all scripts: one that has to be sent again comes after those that are known.
fn a_batch_is_as_good_as_single_calls(server: impl Fn(&ManualClock) -> Builder, way: Way) {
    let clock = ManualClock::new(START);
    let (rehearsal, woken) = open_all(server(&clock).prefix("rehearsal"), way);
    turns(&clock, |calls| submit(&rehearsal, &woken, calls));

    let clock = ManualClock::new(START);
    let (bridge, woken) = open_all(server(&clock), way);
    // Opens all connections: until then calls may overtake each other.
    let peeks: Vec<_> = KEYS.iter().map(|key| OwnedCall::Single(Kind::Peek, item_of("gcra", key))).collect();
    submit(&bridge, &woken, &peeks);
    let alone = builder("memory://", &clock).build().unwrap();
    turns(&clock, |calls| {
        let answers = submit(&bridge, &woken, calls);
        for (call, answer) in calls.iter().zip(answers) {
            let expected = Decision { source: Source::Server, ..at_once(&alone, call) };
            assert_eq!(decision(answer), expected, "{call:?}");
        }
    });
}

fn turns<T>(clock: &ManualClock, mut take: impl FnMut(&[OwnedCall]) -> T) {
    let mut numbers = Numbers(7);
    for _ in 0..60 {
        let calls: Vec<_> = (0..150).map(|_| numbers.call()).collect();
        take(&calls);
        clock.advance(Duration::from_millis(numbers.next(4000) as u64));
    }
}

fn at_once(limiter: &RateLimiter, call: &OwnedCall) -> Decision {
    let OwnedCall::Single(kind, item) = call else { unreachable!("all are single") };
    let options = CheckOptions::new().cost(item.cost);
    let decision = match kind {
        Kind::Check => limiter.check_with(&item.rule, &item.key, options),
        Kind::Peek => limiter.peek_with(&item.rule, &item.key, options),
        Kind::Refund => limiter.refund_with(&item.rule, &item.key, options),
        Kind::Charge => limiter.charge_with(&item.rule, &item.key, options),
        Kind::Reserve => unreachable!("it answers a reservation"),
    };
    decision.unwrap()
}

#[test]
fn on_a_server() {
    let redis = Redis::start().unwrap();
    a_batch_is_as_good_as_single_calls(|clock| builder(redis.url(), clock), Way::Runner);
}

#[test]
fn on_a_socket_that_the_loop_watches() {
    let redis = Redis::start().unwrap();
    a_batch_is_as_good_as_single_calls(|clock| builder(redis.url(), clock), Way::Socket);
}

#[test]
fn on_a_cluster_whose_nodes_may_also_be_asked_alone() {
    let cluster = Cluster::start().unwrap();
    a_batch_is_as_good_as_single_calls(|clock| builder(&cluster.url(), clock), Way::Runner);

    // A node by itself looks like a single server, but refuses keys of different slots in one script.
    let node = cluster.primary_of("a").unwrap();
    let own = |key: &String| cluster.primary_of(key).unwrap().port() == node.port();
    let keys: Vec<_> = ('a'..='z').map(String::from).filter(own).collect();
    assert!(keys.len() > 1);
    let check = |key: &String| OwnedCall::Single(Kind::Check, item_of("gcra", key));
    let calls: Vec<_> = keys.iter().map(check).collect();
    for (way, prefix) in [(Way::Runner, "runner"), (Way::Socket, "socket")] {
        let (bridge, woken) = open_all(builder(&node.url(), &ManualClock::new(START)).prefix(prefix), way);
        for left in [4, 3] {
            let answers = submit(&bridge, &woken, &calls).into_iter();
            assert!(answers.map(|answer| decision(answer).remaining).eq(keys.iter().map(|_| left)));
        }
    }
}

#[test]
fn on_a_cluster_with_tls() {
    let cluster = Cluster::with(Transport::Tls).unwrap();
    let authority = cluster.certificates().map(Certificates::ca_pem).unwrap();
    let server = |clock: &_| builder(&cluster.url(), clock).tls_ca(&authority);
    a_batch_is_as_good_as_single_calls(server, Way::Runner);
}

#[test]
fn a_bad_state_is_the_trouble_of_its_own_key() {
    let redis = Redis::start().unwrap();
    let check = |key: &&str| OwnedCall::Single(Kind::Check, item_of("aligned", key));
    let calls: Vec<_> = ["good", "list", "text", "good"].iter().map(check).collect();
    for (way, prefix) in [(Way::Runner, "runner"), (Way::Socket, "socket")] {
        let (bridge, woken) = open_all(builder(redis.url(), &ManualClock::new(START)).prefix(prefix), way);
        submit(&bridge, &woken, &calls);
        let mut client = redis.client().unwrap();
        let names: Vec<String> = redis::cmd("KEYS").arg(format!("{prefix}:*")).query(&mut client).unwrap();
        let name = |key: &str| names.iter().find(|name| name.contains(key)).unwrap();
        let mut spoil = redis::pipe();
        spoil.del(name("list")).rpush(name("list"), 1).set(name("text"), "text").exec(&mut client).unwrap();

        let answers = submit(&bridge, &woken, &calls);
        for (place, key, code) in [(1, "list", "WRONGTYPE"), (2, "text", "BADSTATE")] {
            let error = answers[place].result.as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Server);
            let text = error.to_string();
            assert!(text.contains(code) && error.key().unwrap().contains(name(key)), "{text}");
            assert!(!text.contains("script:"), "{text}");
        }
        let remaining = answers.into_iter().step_by(3).map(|answer| decision(answer).remaining);
        assert_eq!(remaining.collect::<Vec<_>>(), [2, 1]);
    }
}
