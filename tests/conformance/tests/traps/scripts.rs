//! What is sent to a server, how often, and what happens when it does not answer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sluicegate::{Check, ErrorKind};

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind, rule};

#[test]
fn trap_18_a_script_that_is_gone() {
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    for (kind, _) in KINDS {
        limiter.check(kind, "k").unwrap();
        let _: () = server.stored.command("SCRIPT", "FLUSH");
        assert_eq!(limiter.check(kind, "k").unwrap().remaining, 8, "{kind}: lost or counted twice");
        let _: () = server.stored.command("SCRIPT", "FLUSH");
        assert_eq!(limiter.refund(kind, "k").unwrap().remaining, 9, "{kind}");
    }
    let checks = [Check::new("gcra", "k"), Check::new("list", "k")];
    for remaining in [8, 7] {
        let _: () = server.stored.command("SCRIPT", "FLUSH");
        assert_eq!(limiter.check_all(&checks).unwrap().remaining, remaining);
    }
}

#[test]
fn trap_18_a_server_that_was_restarted() {
    let server = Server::start();
    let limiter = server.limiter(&every_kind());
    limiter.check("gcra", "k").unwrap();
    server.redis.restart().unwrap();
    // A connection that broke may cost one call, which must not be repeated unasked.
    let after = limiter.check("gcra", "k").or_else(|_| limiter.check("gcra", "k")).unwrap();
    assert_eq!(after.remaining, 9);
}

/// The server carries out what it received before the pause: once, however long it took.
#[test]
fn trap_19_a_replay_after_a_timeout() {
    let server = Server::start();
    let timeout = Duration::from_millis(300);
    let limiter = server.builder(&every_kind()).response_timeout(timeout).build().unwrap();
    for (kind, _) in KINDS {
        assert_eq!(limiter.check(kind, "k").unwrap().remaining, 9);
        server.redis.pause().unwrap();
        let error = limiter.check(kind, "k").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{kind}: {error}");
        assert!(error.is_retryable());
        server.redis.resume().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(limiter.check(kind, "k").unwrap().remaining, 7, "{kind}: not charged exactly once");
    }
}

#[test]
fn trap_19_a_replay_after_an_error() {
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    limiter.check("gcra", "k").unwrap();
    let [name] = server.stored.names().try_into().unwrap();
    let _: () = server.stored.command("SET", (name, "garbage"));
    server.sent();
    assert_eq!(limiter.check("gcra", "k").unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(server.sent_scripts().len(), 1);
}

#[test]
fn trap_20_no_deadline_and_a_queue() {
    let server = Server::start();
    let limit = Duration::from_millis(200);
    let limiter = server.builder(&every_kind()).response_timeout(limit).connect_timeout(limit).build().unwrap();
    limiter.check("gcra", "k").unwrap();
    server.redis.pause().unwrap();
    for _ in 0..5 {
        let began = Instant::now();
        assert_eq!(limiter.check("gcra", "k").unwrap_err().kind(), ErrorKind::Timeout);
        assert!(began.elapsed() < 4 * limit, "{:?}", began.elapsed());
    }
    server.redis.resume().unwrap();
    let began = Instant::now();
    limiter.check("gcra", "other").unwrap();
    assert!(began.elapsed() < 4 * limit, "{:?} after the outage", began.elapsed());
    server.redis.kill();
    let began = Instant::now();
    let kind = limiter.check("gcra", "k").and_then(|_| limiter.check("gcra", "k")).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Connection);
    assert!(began.elapsed() < 4 * limit, "{:?} without a server", began.elapsed());
}

/// One script per decision, and nothing else after the connection is made.
#[test]
fn trap_21_several_round_trips() {
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    let all: Vec<_> = KINDS.iter().map(|(kind, _)| Check::new(kind, "k")).collect();
    limiter.check_all(&all).unwrap();
    for (kind, _) in KINDS {
        // The server learns the scripts.
        limiter.check(kind, "k").unwrap();
        limiter.refund(kind, "k").unwrap();
        server.sent();
        limiter.check(kind, "k").unwrap();
        limiter.check_with(kind, "k", cost(100)).unwrap();
        limiter.peek(kind, "k").unwrap();
        limiter.refund(kind, "k").unwrap();
        limiter.check_all(&all).unwrap();
        let names: Vec<_> = server.sent().into_iter().map(|mut command| command.swap_remove(0)).collect();
        assert_eq!(names, [b"EVALSHA"; 5], "{kind}");
    }
}

#[test]
fn trap_23_a_script_per_rule() {
    let mut server = Server::start();
    let mut rules = Vec::new();
    for number in 1..=100 {
        for (kind, fields) in KINDS {
            let fields = fields.replace("60", &(60 + number).to_string()).replace(r#""limit": 10"#, &format!(r#""limit": {number}"#));
            rules.push(format!(r#"{{"rule_id": "{kind}{number}", {fields}}}"#));
        }
    }
    let limiter = server.limiter(&format!("[{}]", rules.join(",")));
    for number in 1..=100 {
        for (kind, _) in KINDS {
            assert!(limiter.check(&format!("{kind}{number}"), &format!("caller{number}")).unwrap().allowed);
        }
    }
    let memory: String = server.stored.command("INFO", "memory");
    let cached = memory.lines().find_map(|line| line.strip_prefix("number_of_cached_scripts:")).unwrap();
    // Two of the kinds are names of one algorithm.
    assert_eq!(cached.parse::<usize>().unwrap(), KINDS.len() - 1);
}

/// What a limiter sends over its whole life.
#[test]
fn trap_25_commands_that_touch_the_whole_keyspace() {
    const SENT: [&str; 8] = ["EVALSHA", "EVAL", "DEL", "UNLINK", "PING", "HELLO", "CLIENT", "SELECT"];
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    limiter.ping().unwrap();
    for (kind, _) in KINDS {
        limiter.check(kind, "k").unwrap();
        limiter.check_with(kind, "k", cost(100)).unwrap();
        limiter.peek(kind, "k").unwrap();
        limiter.refund(kind, "k").unwrap();
        limiter.reset(kind, "k").unwrap();
    }
    let sent: BTreeSet<_> = server.sent().iter().map(|command| String::from_utf8_lossy(&command[0]).to_uppercase()).collect();
    assert!(sent.iter().all(|name| SENT.contains(&name.as_str())), "{sent:?}");
}

/// Inside the scripts too: commands that are not deprecated and look at no other key.
#[test]
fn trap_25_commands_inside_scripts() {
    const USED: [&str; 17] = [
        "get", "set", "del", "time", "pexpire", "lindex", "llen", "lpush", "ltrim", "zadd", "zcard", "zcount", "zrange",
        "zremrangebyrank", "zremrangebyscore", "evalsha", "eval",
    ];
    let mut server = Server::start();
    let _: () = server.stored.command("CONFIG", "RESETSTAT");
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    let by_the_server = server.builder(&rule("gcra", KINDS[6].1)).prefix("other").build().unwrap();
    by_the_server.check("gcra", "k").unwrap();
    for (kind, _) in KINDS {
        for step in [0, 1, -30, 100, 5] {
            clock.set_us(NOW_US.saturating_add_signed(step * 1_000_000));
            limiter.check_with(kind, "k", cost(4)).unwrap();
            limiter.refund_with(kind, "k", cost(3)).unwrap();
        }
    }
    let stats: String = server.stored.command("INFO", "commandstats");
    let calls: BTreeMap<_, _> = stats.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':')).collect();
    let own = |name: &str| matches!(name, "info" | "ping" | "hello" | "select") || name.starts_with("c");
    let strange: Vec<_> = calls.keys().filter(|name| !USED.contains(name) && !own(name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}
