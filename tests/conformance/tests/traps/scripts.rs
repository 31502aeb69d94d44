//! What is sent to a server, how often, and what happens when it does not answer.

use std::time::{Duration, Instant};

use sluicegate::{Check, ErrorKind, RateLimiter, Rules, Usage};

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind};

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
        // Nothing tells when the server has come to it.
        let came_to_it = || {
            std::thread::sleep(Duration::from_millis(5));
            limiter.peek(kind, "k").unwrap().remaining == 8
        };
        assert!((0..1_000).any(|_| came_to_it()), "{kind}: not charged");
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
    server.sent_scripts();
    assert_eq!(limiter.check("gcra", "k").unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(server.sent_scripts().len(), 1);
}

#[test]
fn trap_20_no_deadline_and_a_queue() {
    let server = Server::start();
    let limit = Duration::from_millis(300);
    let limiter =
        server.builder(&every_kind()).response_timeout(limit).connect_timeout(limit).build().unwrap();
    limiter.check("gcra", "k").unwrap();
    server.redis.pause().unwrap();
    for _ in 0..5 {
        let began = Instant::now();
        assert_eq!(limiter.check("gcra", "k").unwrap_err().kind(), ErrorKind::Timeout);
        assert!(began.elapsed() < 4 * limit, "{:?}", began.elapsed());
    }
    server.redis.resume().unwrap();
    let began = Instant::now();
    // The circuit breaker is open until it has tried the server.
    while let Err(error) = limiter.check("gcra", "other") {
        assert!(error.message().contains("circuit breaker open"), "{error}");
        assert!(began.elapsed() < limit, "{:?} after the outage", began.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    server.redis.kill();
    let began = Instant::now();
    let kind = limiter.check("gcra", "k").and_then(|_| limiter.check("gcra", "k")).unwrap_err().kind();
    assert_eq!(kind, ErrorKind::Connection);
    assert!(began.elapsed() < 4 * limit, "{:?} without a server", began.elapsed());
}

/// The server reads once per decision.
#[test]
fn trap_21_several_round_trips() {
    let mut server = Server::start();
    let limiter = server.limiter(&every_kind());
    let all: Vec<_> = KINDS.iter().map(|(kind, _)| Check::new(kind, "k")).collect();
    let decide = |kind: &str| {
        limiter.check(kind, "k").unwrap();
        limiter.check_with(kind, "k", cost(100)).unwrap();
        limiter.peek(kind, "k").unwrap();
        limiter.refund(kind, "k").unwrap();
        limiter.check_all(&all).unwrap();
    };
    for (kind, _) in KINDS {
        // The connection is made, and the server learns the scripts.
        decide(kind);
        let before = server.reads();
        decide(kind);
        // One of them is the question itself.
        assert_eq!(server.reads() - before, 5 + 1, "{kind}");
    }
}

#[test]
fn trap_23_a_script_per_rule() {
    let mut server = Server::start();
    let mut rules = Vec::new();
    for number in 1..=100 {
        for (kind, fields) in KINDS {
            let fields = fields
                .replace("60", &(60 + number).to_string())
                .replace(r#""limit": 10"#, &format!(r#""limit": {number}"#));
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

/// What a limiter sends over its whole life, inside scripts and outside.
#[test]
fn trap_25_commands_that_touch_the_whole_keyspace() {
    const USED: [&str; 25] = [
        "get",
        "set",
        "del",
        "time",
        "pexpire",
        "lindex",
        "llen",
        "lpush",
        "ltrim",
        "zadd",
        "zcard",
        "zcount",
        "zrange",
        "zremrangebyrank",
        "zremrangebyscore",
        "evalsha",
        "eval",
        "exists",
        "getrange",
        "lrange",
        "rpop",
        "setrange",
        "unlink",
        "ping",
        "hello",
    ];
    // The test's own; Redis 6 counts subcommands together.
    const OWN: [&str; 3] = ["config|resetstat", "config", "info"];
    let mut server = Server::start();
    let _: () = server.stored.command("CONFIG", "RESETSTAT");
    let (limiter, clock) = server.limiter_at(NOW_US, &every_kind());
    limiter.ping().unwrap();
    for (kind, _) in KINDS {
        for step in [0, 1, -30, 100, 5] {
            clock.set_us(NOW_US.saturating_add_signed(step * 1_000_000));
            limiter.check_with(kind, "k", cost(4)).unwrap();
            limiter.refund_with(kind, "k", cost(3)).unwrap();
            limiter.charge_with(kind, "k", cost(12)).unwrap();
        }
        limiter.reset(kind, "k").unwrap();
    }
    server.limiter(&every_kind()).check("gcra", "k").unwrap();
    let stats: String = server.stored.command("INFO", "commandstats");
    let names = stats.lines().filter_map(|line| Some(line.strip_prefix("cmdstat_")?.split_once(':')?.0));
    let setup = |name: &str| name.starts_with("client|");
    let strange: Vec<_> =
        names.filter(|name| !USED.contains(name) && !OWN.contains(name) && !setup(name)).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

/// A script that is refused a command after it has charged a limit: of one limit nothing is charged, and of several the
/// error says that some may have been.
#[test]
fn what_was_charged_before_a_refusal_is_reported() {
    let mut server = Server::start();
    let unknown = "whether the call was carried out is not known";
    let url = server.redis.url().replace("redis://", "redis://narrow:secret@");
    let rules = || Rules::from_json(&every_kind()).unwrap();
    for (command, kind) in [("-pexpire", "list"), ("-lpush", "list"), ("-zadd", "sorted_set")] {
        let _: () = server
            .stored
            .command("ACL", ("SETUSER", "narrow", "reset", "on", ">secret", "~*", "+@all", command));
        let narrow = RateLimiter::builder(&url).rules(rules()).build().unwrap();
        let alone = narrow.check(kind, "k").unwrap_err();
        assert!(alone.message().contains("rules acl") && !alone.message().contains(unknown), "{alone}");
        let together = narrow.check_all(&[Check::new("gcra", "k"), Check::new(kind, "k")]).unwrap_err();
        assert!(
            together.message().contains("rules acl") && together.message().contains(unknown),
            "{together}"
        );
        assert_eq!(narrow.peek(kind, "k").unwrap().remaining, 10, "{command}");
    }
    // What only looks charges nothing.
    let two = r#"[{"rule_id": "two", "algorithm": "fixed_window", "limits": [
        {"limit": 5, "window_size_seconds": 10}, {"limit": 9, "window_size_seconds": 60}]}]"#;
    let _: () =
        server.stored.command("ACL", ("SETUSER", "narrow", "reset", "on", ">secret", "~*", "+@all", "-get"));
    let narrow = RateLimiter::builder(&url).rules(Rules::from_json(two).unwrap()).build().unwrap();
    assert!(narrow.check("two", "k").unwrap_err().message().contains(unknown));
    assert!(!narrow.peek("two", "k").unwrap_err().message().contains(unknown));
}

/// The script ends the reservation before it charges what was used: out of memory, too, it has to give back what is held.
#[test]
fn a_reservation_that_may_have_ended_before_a_refusal_is_reported() {
    let mut server = Server::start();
    let url = server.redis.url().replace("redis://", "redis://narrow:secret@");
    let rules = r#"[{"rule_id": "r", "algorithm": "fixed_window", "rate": "10/h", "reservations": true}]"#;
    let _: () = server
        .stored
        .command("ACL", ("SETUSER", "narrow", "reset", "on", ">secret", "~*", "+@all", "-setrange"));
    let narrow = RateLimiter::builder(&url).rules(Rules::from_json(rules).unwrap()).build().unwrap();
    narrow.check("r", "k").unwrap();
    let reservation = narrow.reserve("r", "k").unwrap();
    let error = narrow.commit(&reservation, Usage::AsReserved).unwrap_err();
    assert!(error.message().contains("whether the call was carried out is not known"), "{error}");
}

/// What ends the only reservation writes the set anew, which then has no lifetime until it is given one.
#[test]
fn who_may_give_no_key_a_lifetime_leaves_none_without_by_ending_a_reservation() {
    let rules = Rules::from_json(
        r#"[{"rule_id": "r", "algorithm": "fixed_window", "rate": "10/h", "reservations": true}]"#,
    );
    let rules = rules.unwrap();
    for usage in [Usage::AsReserved, Usage::Cost(1)] {
        let mut server = Server::start();
        let broad = RateLimiter::builder(server.redis.url()).rules(rules.clone()).build().unwrap();
        broad.check("r", "k").unwrap();
        let reservation = broad.reserve_with("r", "k", cost(2)).unwrap();
        let url = server.redis.url().replace("redis://", "redis://narrow:secret@");
        let _: () = server
            .stored
            .command("ACL", ("SETUSER", "narrow", "reset", "on", ">secret", "~*", "+@all", "-pexpire"));
        let narrow = RateLimiter::builder(&url).rules(rules.clone()).build().unwrap();
        let id = reservation.id().unwrap();
        assert_eq!(narrow.commit(id.as_str(), usage).unwrap_err().kind(), ErrorKind::Server);
        assert_eq!(server.stored.immortal(), Vec::<String>::new());
    }
}
