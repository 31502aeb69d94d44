//! Time: whose it is, how fine, and what happens when it jumps.

use std::time::Duration;

use sluicegate::Rules;

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind, rule};

const TICK: Duration = Duration::from_micros(1);

#[test]
fn trap_05_whole_seconds() {
    let server = Server::start();
    let fields = r#""algorithm": "token_bucket", "burst": 1, "limit": 3, "window_size_seconds": 2"#;
    let (limiter, clock) = server.limiter_at(NOW_US, &rule("r", fields));
    let poll = |_: &usize| {
        clock.advance(Duration::from_millis(10));
        limiter.check("r", "k").unwrap().allowed
    };
    // 1.5 per second; polled every 10 ms each wait is at most 6.67 ms too long.
    let admitted = (0..10_000).filter(poll).count();
    assert!((148..=151).contains(&admitted), "{admitted} in 100 s");
}

#[test]
fn trap_06_microseconds_cut_off() {
    let server = Server::start();
    for (kind, fields) in KINDS {
        let fields = fields.replace("_seconds\": 60", "_seconds\": 1.000003");
        let (limiter, clock) = server.limiter_at(NOW_US, &rule(kind, &fields));
        assert!(limiter.check_with(kind, "k", cost(9)).unwrap().allowed);
        clock.advance(Duration::from_micros(1_234));
        let denied = limiter.check_with(kind, "k", cost(7)).unwrap();
        assert!(!denied.allowed, "{kind}");
        clock.advance(denied.retry_after - TICK);
        assert!(!limiter.check_with(kind, "k", cost(7)).unwrap().allowed, "{kind}: too long");
        clock.advance(TICK);
        assert!(limiter.check_with(kind, "k", cost(7)).unwrap().allowed, "{kind}: too short");
    }
}

const MOST: u64 = (1 << 53) - 1;
const TEN_YEARS: &str = "_seconds\": 315360000";

/// The largest limit and the longest window there are, counted to the last unit.
fn counts_to_the_last(server: &mut Server, kind: &str, fields: &str, limit: u64) {
    let (limiter, _) = server.limiter_at(NOW_US, &rule(kind, fields));
    let first = limiter.check_with(kind, "k", cost(limit - 1)).unwrap();
    assert!(first.allowed, "{kind}");
    assert_eq!(first.remaining, 1, "{kind}");
    assert_eq!(limiter.check(kind, "k").unwrap().remaining, 0, "{kind}");
    let denied = limiter.check_with(kind, "k", cost(limit)).unwrap();
    assert!(!denied.allowed && denied.retry_after < Duration::MAX, "{kind}");
    assert_eq!(server.stored.immortal(), Vec::<String>::new(), "{kind}");
    server.stored.clear();
}

#[test]
fn trap_07_numbers_beyond_doubles() {
    let mut server = Server::start();
    for (kind, fields) in KINDS {
        if fields.contains("gcra") || fields.contains("burst") {
            continue;
        }
        let limit = if fields.contains("sliding_log") { 100_000 } else { MOST };
        // A level may take ten thousand slots to fade.
        let time = if kind == "decay" { "_seconds\": 3600" } else { TEN_YEARS };
        let fields = fields.replace("_seconds\": 60", time);
        let fields = fields.replace(r#""limit": 10"#, &format!(r#""limit": {limit}"#));
        counts_to_the_last(&mut server, kind, &fields, limit);
    }
}

/// A debt in microseconds has room for so many units only: more is refused, never miscounted.
#[test]
fn trap_07_a_burst_beyond_doubles() {
    let mut server = Server::start();
    for limit in [1 << 32, 1 << 40, 1 << 50, MOST] {
        let fields = format!(r#""algorithm": "gcra", "limit": {limit}, "window_size{TEN_YEARS}"#);
        if limit == 1 << 32 || Rules::from_json(&rule("gcra", &fields)).is_ok() {
            counts_to_the_last(&mut server, "gcra", &fields, limit);
        }
    }
}

/// The arguments of two calls are the same to the byte although time has passed: no client's clock is
/// among them.
#[test]
fn trap_08_the_clients_clock() {
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    for (kind, _) in KINDS {
        limiter.check(kind, "k").unwrap();
        server.sent_scripts();
        limiter.check(kind, "k").unwrap();
        std::thread::sleep(Duration::from_millis(2));
        limiter.check(kind, "k").unwrap();
        let [first, second] = server.sent_scripts().try_into().unwrap();
        assert_eq!(first, second, "{kind}");
    }
}

#[test]
fn trap_09_a_clock_behind_after_a_failover() {
    let server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        clock.set_us(NOW_US);
        assert!(limiter.check_with(kind, "k", cost(10)).unwrap().allowed);
        clock.set_us(NOW_US - 3_600_000_000);
        let denied = limiter.check(kind, "k").unwrap();
        assert!(!denied.allowed, "{kind}: a free burst");
        assert!(
            denied.retry_after <= Duration::from_secs(120),
            "{kind}: denied for {:?}",
            denied.retry_after
        );
        clock.advance(denied.retry_after);
        assert!(limiter.check(kind, "k").unwrap().allowed, "{kind}");
    }
}

#[test]
fn trap_09_a_clock_ahead_after_a_failover() {
    let server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        assert!(limiter.check_with(kind, "k", cost(10)).unwrap().allowed);
        clock.advance(Duration::from_secs(36_000));
        let admitted = (0..30).filter(|_| limiter.check(kind, "k").unwrap().allowed).count();
        assert_eq!(admitted, 10, "{kind}");
    }
}

#[test]
fn trap_12_a_wait_to_the_end_of_the_window() {
    let server = Server::start();
    let start = NOW_US - NOW_US % 60_000_000;
    let (limiter, clock) = server.limiter_at(start, &every_kind());
    let wait = |kind: &str, wanted: u64| limiter.check_with(kind, "k", cost(wanted)).unwrap().retry_after;
    let full = |kind: &str| assert!(limiter.check_with(kind, "k", cost(10)).unwrap().allowed);
    full("sliding_window");
    // Ten of the former window weigh nine when a tenth of it has left the view.
    assert_eq!(wait("sliding_window", 1), Duration::from_secs(66));
    full("gcra");
    assert_eq!(wait("gcra", 1), Duration::from_secs(6));
    assert!(limiter.check_with("list", "k", cost(4)).unwrap().allowed);
    clock.advance(Duration::from_secs(20));
    assert!(limiter.check_with("list", "k", cost(6)).unwrap().allowed);
    assert_eq!(wait("list", 4), Duration::from_secs(40));
    assert_eq!(wait("list", 5), Duration::from_secs(60));
}

#[test]
fn trap_15_all_windows_begin_at_once() {
    let server = Server::start();
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    for (number, key) in ["alice", "bob"].into_iter().enumerate() {
        clock.set_us(NOW_US + 7_000_000 * number as u64);
        let reset_after = limiter.check("first_request", key).unwrap().reset_after;
        assert_eq!(reset_after, Duration::from_secs(60));
    }
}
