//! Units that processes borrow of a real server: when they are spent, and what is admitted by several limiters together.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod processes;
mod rates;
mod servers;

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Check, CheckOptions, Decision, ErrorKind, RateLimiter, Request, Source};
use sluicegate_conformance::{ClockedRedis, patient};
use sluicegate_test_servers::Redis;

const RULES: &str = r#"[
    {"rule_id": "busy", "limit": 1000, "window_size_seconds": 1, "burst": 500, "lease": {"max_age_ms": 20},
     "identifier_type": "user_id", "match": {"path_pattern": "/both"}},
    {"rule_id": "window", "algorithm": "fixed_window", "rate": "100000/hour", "lease": {"max_age_ms": 20},
     "identifier_type": "user_id", "match": {"path_pattern": "/both"}},
    {"rule_id": "plain", "rate": "1000/s"}
]"#;
const MS: Duration = Duration::from_millis(1);

/// Asks once a millisecond, for so many of them.
fn warm_up(world: &ClockedRedis, limiter: &RateLimiter, rule: &str, calls: usize) -> Vec<Decision> {
    ask(world, limiter, rule, (MS, calls))
}

fn ask(
    world: &ClockedRedis,
    limiter: &RateLimiter,
    rule: &str,
    (pause, calls): (Duration, usize),
) -> Vec<Decision> {
    let ask = |_| {
        world.clock.advance(pause);
        limiter.check(rule, "k").unwrap()
    };
    (0..calls).map(ask).collect()
}

fn count(decisions: &[Decision], source: Source) -> usize {
    decisions.iter().filter(|decision| decision.source == source).count()
}

#[test]
fn busy_keys_are_decided_by_what_was_borrowed() {
    let world = ClockedRedis::start(RULES);
    let limiter = world.limiter();
    for rule in ["busy", "window"] {
        let first = warm_up(&world, &limiter, rule, 240);
        assert_eq!(count(&first, Source::Lease), 0, "{rule}: its rate is not known yet");
        let then = warm_up(&world, &limiter, rule, 1_000);
        assert!(then.iter().all(|decision| decision.allowed), "{rule}");
        let (leased, asked) = (count(&then, Source::Lease), count(&then, Source::Server));
        assert!(
            leased >= 850 && leased + asked == 1_000,
            "{rule}: {leased} by leases, {asked} by the server"
        );
        let last = then.iter().rev().find(|decision| decision.source == Source::Lease).unwrap();
        let limit = limiter.peek(rule, "k").unwrap().limit;
        assert_eq!((last.limit, last.retry_after), (limit, Duration::ZERO));
    }
    let plain = warm_up(&world, &limiter, "plain", 700);
    assert_eq!(count(&plain, Source::Server), 700);
    let metrics = limiter.metrics();
    let loans = &metrics.rules["busy"].loans;
    assert!(loans.asked >= loans.granted && loans.granted >= loans.spent && loans.spent >= 850, "{loans:?}");
    assert!(limiter.prometheus().contains(r#"rule="busy",result="admitted",source="lease""#));
}

#[test]
fn several_items_are_decided_by_what_was_borrowed_for_each() {
    let world = ClockedRedis::start(RULES);
    let limiter = world.limiter();
    let both = [Check::new("busy", "k"), Check::new("window", "k")];
    let request = Request::new("GET", "/both").user_id("k");
    let ask = |call: usize| {
        world.clock.advance(MS);
        match call % 3 {
            0 => limiter.check_all(&both).unwrap(),
            1 => limiter.check_request(&request).unwrap(),
            _ => limiter.reserve_request(&request).unwrap().decision().clone(),
        }
    };
    let first: Vec<_> = (0..240).map(ask).collect();
    assert_eq!(count(&first, Source::Lease), 0, "their rate is not known yet");
    let then: Vec<_> = (0..1_000).map(ask).collect();
    assert!(then.iter().all(|decision| decision.allowed && decision.parts.len() == 2));
    let (leased, asked) = (count(&then, Source::Lease), count(&then, Source::Server));
    println!("{leased} by leases, {asked} by the server");
    assert!(leased >= 600 && leased + asked == 1_000, "{leased} by leases, {asked} by the server");
    let is_one = |decision: &Decision| decision.parts.iter().all(|part| part.source == decision.source);
    assert!(then.iter().all(is_one), "one decides for all");
    // What neither was spent nor is lent is what the server counts. By then, the answer to the last request for a loan has come.
    limiter.ping().unwrap();
    limiter.close();
    let watching = world.limiter();
    let used = || 100_000 - watching.peek("window", "k").unwrap().remaining;
    wait_until("what was not spent is given back", || used() == 1_240);
    let loans = &limiter.metrics().rules["window"].loans;
    assert_eq!((loans.spent, loans.granted - loans.given_back), (leased as u64, leased as u64), "{loans:?}");
}

#[test]
fn items_of_rules_without_leases_are_the_servers_and_have_nothing_lent() {
    let world = ClockedRedis::start(RULES);
    let limiter = world.limiter();
    let mixed = [Check::new("busy", "k"), Check::new("plain", "k")];
    let limited =
        [Check::new("busy", "l"), Check::new("window", "l").with(CheckOptions::new().limit(90_000))];
    for _ in 0..600 {
        world.clock.advance(MS);
        for items in [&mixed, &limited] {
            assert_eq!(limiter.check_all(items).unwrap().source, Source::Server);
        }
    }
    let metrics = limiter.metrics();
    assert_eq!(["busy", "window"].map(|rule| metrics.rules[rule].loans.asked), [0, 0]);
}

#[test]
fn units_end_by_their_age_and_with_a_reset() {
    let world = ClockedRedis::start(RULES);
    let limiter = world.limiter();
    let ask = || limiter.check("busy", "k").unwrap().source;
    let borrow = || {
        warm_up(&world, &limiter, "busy", 600);
        // What is borrowed may have come to its last unit.
        while ask() == Source::Server || ask() == Source::Server {
            world.clock.advance(MS);
        }
    };
    borrow();
    world.clock.advance(MS * 20);
    assert_eq!(ask(), Source::Server, "the lease has ended");
    borrow();
    limiter.reset("busy", "k").unwrap();
    assert_eq!(ask(), Source::Server, "it was reset");
    borrow();
    let limited = CheckOptions::new().limit(900);
    assert_eq!(limiter.check_with("busy", "k", limited).unwrap().source, Source::Server);
    let once = CheckOptions::new().request_id("r-1");
    assert_eq!(limiter.check_with("busy", "k", once).unwrap().source, Source::Server);
    borrow();
    limiter.close();
    assert_eq!(limiter.check("busy", "k").unwrap_err().kind(), ErrorKind::Closed);
}

/// Limits of 400 and 600 a second, of which processes borrow for a fifth of a second.
const SHARED: &str = r#"[{"rule_id": "shared", "limit": 400, "window_size_seconds": 1, "burst": 100,
    "lease": {"max_age_ms": 200, "pace_ms": 50}},
    {"rule_id": "wide", "limit": 600, "window_size_seconds": 1, "burst": 100,
    "lease": {"max_age_ms": 200, "pace_ms": 50}}]"#;
const RATE: f64 = 400.0;
const WIDE_RATE: f64 = 600.0;
const MOST_AT_ONCE: f64 = 100.0;
const AGE: f64 = 0.2;
const LASTS: Duration = Duration::from_millis(2_500);

/// When admitted calls began and ended.
type Admitted = Mutex<Vec<(f64, f64, Source)>>;

fn note(admitted: &Admitted, began: Instant, sent: Instant, decision: &Decision) {
    if decision.allowed {
        let at = |when: Instant| when.duration_since(began).as_secs_f64();
        admitted.lock().unwrap().push((at(sent), at(Instant::now()), decision.source));
    }
}

async fn ask_for_a_while(limiter: &AsyncRateLimiter, began: Instant, admitted: &Admitted) {
    while began.elapsed() < LASTS {
        let sent = Instant::now();
        let decision = limiter.check("shared", "k").await.unwrap();
        note(admitted, began, sent, &decision);
        tokio::time::sleep(MS).await;
    }
}

/// Calls that surely lie in an interval are at most the bound of one that is as long.
fn check_bound(admitted: &[(f64, f64, Source)], rate: f64) {
    let steps = (0..).map(|step| f64::from(step) * 0.02).take_while(|step| *step < LASTS.as_secs_f64());
    for from in steps {
        let mut ends: Vec<_> = admitted.iter().filter(|call| call.0 >= from).map(|call| call.1).collect();
        ends.sort_by(f64::total_cmp);
        for (before, end) in ends.iter().enumerate() {
            let bound = MOST_AT_ONCE + rate * (end - from) + rate * AGE;
            let count = before as f64 + 1.0;
            assert!(count <= bound + 1.0, "{count} from {from} to {end} s, where {bound} is the bound");
        }
    }
}

#[test]
fn several_limiters_keep_the_bound_together() {
    let server = Redis::start().unwrap();
    let (began, admitted) = (Instant::now(), Admitted::default());
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let limiter = patient(server.url(), SHARED).build().unwrap();
                while began.elapsed() < LASTS {
                    let sent = Instant::now();
                    let decision = limiter.check("shared", "k").unwrap();
                    note(&admitted, began, sent, &decision);
                    thread::sleep(MS);
                }
            });
            scope.spawn(|| {
                tasks.block_on(async {
                    let limiter = patient(server.url(), SHARED).connect().await.unwrap();
                    let ask = || ask_for_a_while(&limiter, began, &admitted);
                    tokio::join!(ask(), ask());
                });
            });
        }
    });
    let admitted = admitted.into_inner().unwrap();
    check_bound(&admitted, RATE);
    let leased = admitted.iter().filter(|call| call.2 == Source::Lease).count();
    println!("{} admitted, {leased} of them by leases", admitted.len());
    assert!(leased > 50, "{leased} of {} by leases", admitted.len());
}

/// One limiter asks under both rules at once, another one each by itself.
#[test]
fn several_rules_keep_their_bounds_together() {
    let server = Redis::start().unwrap();
    let began = Instant::now();
    let [shared, wide, both] = [(); 3].map(|()| Admitted::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let limiter = patient(server.url(), SHARED).build().unwrap();
                let items = [Check::new("shared", "k"), Check::new("wide", "k")];
                while began.elapsed() < LASTS {
                    let sent = Instant::now();
                    let decision = limiter.check_all(&items).unwrap();
                    [&shared, &wide, &both]
                        .iter()
                        .for_each(|admitted| note(admitted, began, sent, &decision));
                    thread::sleep(MS / 2);
                }
            });
        }
        scope.spawn(|| {
            let limiter = patient(server.url(), SHARED).build().unwrap();
            while began.elapsed() < LASTS {
                for (rule, admitted) in [("shared", &shared), ("wide", &wide)] {
                    let sent = Instant::now();
                    note(admitted, began, sent, &limiter.check(rule, "k").unwrap());
                }
                thread::sleep(MS);
            }
        });
    });
    check_bound(&shared.into_inner().unwrap(), RATE);
    check_bound(&wide.into_inner().unwrap(), WIDE_RATE);
    let both = both.into_inner().unwrap();
    let leased = both.iter().filter(|call| call.2 == Source::Lease).count();
    println!("{} admitted under both rules, {leased} of them by leases", both.len());
    assert!(leased > 20, "{leased} of {} by leases", both.len());
}

/// How much of a key is used, of a limit of which nothing leaks for an hour.
fn used(limiter: &RateLimiter, key: &str) -> u64 {
    10_000 - limiter.peek("hourly", key).unwrap().remaining
}

const HOURLY: &str = r#"[{"rule_id": "hourly", "algorithm": "fixed_window", "window_start": "first_request", "rate": "10000/hour",
    "lease": {"max_age_ms": 3000, "pace_ms": 100}},
    {"rule_id": "other", "algorithm": "fixed_window", "window_start": "first_request", "rate": "10000/hour",
    "lease": {"max_age_ms": 1500, "pace_ms": 100}}]"#;

/// Asks until what is left of units that were borrowed is more than nothing. Answers how often.
fn borrow(mut ask: impl FnMut() -> Decision) -> u64 {
    let is_lent = |_: &u64| {
        thread::sleep(MS);
        let decision = ask();
        assert!(decision.allowed);
        decision.source == Source::Lease && decision.remaining > 0
    };
    (1..5_000).find(is_lent).unwrap()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(MS * 20);
    }
}

#[test]
fn what_is_not_spent_is_given_back_when_idle_and_at_the_end() {
    let server = Redis::start().unwrap();
    let open = || patient(server.url(), HOURLY).build().unwrap();
    let watching = open();

    let limiter = open();
    let calls = borrow(|| limiter.check("hourly", "k").unwrap());
    assert!(used(&watching, "k") > calls, "units that are lent count as used");
    wait_until("idle threads give back", || used(&watching, "k") == calls);
    wait_until("it says so", || limiter.metrics().rules["hourly"].loans.given_back > 0);

    let more = borrow(|| limiter.check("hourly", "k").unwrap());
    limiter.close();
    wait_until("a limiter that closes gives back", || used(&watching, "k") == calls + more);
    let so_far = calls + more;

    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let limiter = tasks.block_on(patient(server.url(), HOURLY).connect()).unwrap();
    let ask = || tasks.block_on(limiter.check("hourly", "k")).unwrap();
    let calls = borrow(ask);
    wait_until("idle tasks give back", || used(&watching, "k") == so_far + calls);
    let so_far = so_far + calls;
    let both = [Check::new("hourly", "k"), Check::new("other", "k")];
    let calls = borrow(|| tasks.block_on(limiter.check_all(&both)).unwrap());
    wait_until("idle tasks give back what was borrowed for several items", || {
        used(&watching, "k") == so_far + calls
    });
    let so_far = so_far + calls;
    let more = borrow(ask);
    limiter.close();
    wait_until("a limiter for tasks that closes gives back", || used(&watching, "k") == so_far + more);
}
