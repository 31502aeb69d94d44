//! Denials that a process remembers, on a real server: when they are used, and what ends them.

use std::fs;
use std::time::{Duration, Instant};

use sluicegate::sources::FileSource;
use sluicegate::{Check, CheckOptions, Decision, ErrorKind, RateLimiter, Request, Source};
use sluicegate_conformance::ClockedRedis;
use sluicegate_test_servers::Redis;

const RULES: &str = r#"[
    {"rule_id": "window", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 3600, "match": {"path_pattern": "/window"},
     "identifier_type": "user_id"},
    {"rule_id": "bucket", "rate": "2/hour"},
    {"rule_id": "stored", "rate": "2/hour", "overrides": true},
    {"rule_id": "counts", "algorithm": "fixed_window", "rate": "2/hour", "count_denied": true},
    {"rule_id": "blocks", "rate": "2/hour", "block": {}},
    {"rule_id": "held", "rate": "2/hour", "reservations": true},
    {"rule_id": "pool", "limits": [{"rate": "2/hour", "scope": "resource"}, {"rate": "2/hour"}]}
]"#;
const AGE: Duration = Duration::from_secs(60);
const SECOND: Duration = Duration::from_secs(1);

/// A limiter that remembers denials for so long.
fn remembering(world: &ClockedRedis, age: Duration) -> RateLimiter {
    world.builder().remember_denials(age).build().unwrap()
}

fn command(world: &ClockedRedis, words: &[&str]) {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]).exec(&mut world.server.client().unwrap()).unwrap();
}

fn result(decision: &Decision) -> (bool, Source) {
    (decision.allowed, decision.source)
}

/// Uses up a key, until its denial is remembered.
fn deny(limiter: &RateLimiter, rule: &str, key: &str) {
    while limiter.check(rule, key).unwrap().allowed {}
    assert_eq!(result(&limiter.check(rule, key).unwrap()), (false, Source::Cache), "{rule}");
}

#[test]
fn what_is_remembered_is_what_the_server_says() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, AGE);
    deny(&limiter, "window", "k");
    let bare = |mut decision: Decision| {
        decision.source = Source::Server;
        decision
    };
    for _ in 0..5 {
        world.clock.advance(SECOND * 7);
        assert_eq!(bare(limiter.check("window", "k").unwrap()), limiter.peek("window", "k").unwrap());
        let alone = limiter.check_all(&[Check::new("window", "k")]).unwrap();
        assert_eq!(
            (alone.source, alone.parts.len(), alone.parts[0].source),
            (Source::Cache, 1, Source::Cache)
        );
        let request = Request::new("GET", "/window").user_id("k");
        assert_eq!(limiter.check_request(&request).unwrap().source, Source::Cache);
    }
    let counts = limiter.prometheus();
    let line = r#"sluicegate_decisions_total{rule="window",result="denied",source="cache"} 16"#;
    assert!(counts.contains(line), "{counts}");
    // Another cost and another limit are the server's.
    let others = [CheckOptions::new().cost(2), CheckOptions::new().limit(3)];
    for options in others {
        assert_eq!(limiter.check_with("window", "k", options).unwrap().source, Source::Server);
    }
}

#[test]
fn several_items_are_denied_by_what_is_remembered_of_one() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, AGE);
    let both = [Check::new("window", "other"), Check::new("bucket", "k")];
    // What denies several items is remembered of those that were denied by themselves.
    assert!(limiter.check_all(&both).unwrap().allowed && limiter.check("bucket", "k").unwrap().allowed);
    assert_eq!(result(&limiter.check_all(&both).unwrap()), (false, Source::Server));
    let denied = limiter.check_all(&both).unwrap();
    let alone = limiter.check("bucket", "k").unwrap();
    assert_eq!((result(&denied), &*denied.rule), ((false, Source::Cache), "bucket"));
    assert_eq!((denied.remaining, denied.retry_after), (0, alone.retry_after));
    assert_eq!(denied.parts[1], alone);
    // Nothing is known of the other, and nothing is charged.
    assert_eq!((result(&denied.parts[0]), denied.parts[0].remaining), ((true, Source::Cache), 2));
    let metrics = limiter.metrics();
    let counts = |rule: &str| metrics.rules[rule].decisions.get("cache").copied().unwrap_or_default();
    assert_eq!((counts("bucket").denied, counts("window").admitted), (2, 0));
    assert_eq!(result(&limiter.check("window", "other").unwrap()), (true, Source::Server));
    assert_eq!(result(&limiter.check("window", "other").unwrap()), (false, Source::Server));

    // Of two of one key, and where another one writes when it is denied, the server decides.
    let twice = [Check::new("bucket", "k"), Check::new("bucket", "k")];
    let writing = [Check::new("bucket", "k"), Check::new("counts", "k")];
    let blocking = [Check::new("bucket", "k"), Check::new("blocks", "k")];
    for items in [twice, writing, blocking] {
        assert_eq!(result(&limiter.check_all(&items).unwrap()), (false, Source::Server));
    }
    // A resource that is missing is missing still.
    let wrong = [Check::new("bucket", "k"), Check::new("pool", "k")];
    assert_eq!(limiter.check_all(&wrong).unwrap_err().kind(), ErrorKind::InvalidArgument);
    limiter.refund("bucket", "k").unwrap();
    limiter.refund("window", "other").unwrap();
    assert_eq!(result(&limiter.check_all(&both).unwrap()), (true, Source::Server));
}

#[test]
fn it_ends_when_the_cost_fits_and_by_its_age() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, Duration::from_secs(7200));
    deny(&limiter, "bucket", "k");
    let wait = limiter.check("bucket", "k").unwrap().retry_after;
    world.clock.advance(wait - Duration::from_micros(1));
    let last = limiter.check("bucket", "k").unwrap();
    assert_eq!((result(&last), last.retry_after), ((false, Source::Cache), Duration::from_micros(1)));
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(result(&limiter.check("bucket", "k").unwrap()), (true, Source::Server));

    let limiter = remembering(&world, AGE);
    deny(&limiter, "window", "k");
    world.clock.advance(AGE - Duration::from_micros(1));
    assert_eq!(limiter.check("window", "k").unwrap().source, Source::Cache);
    world.clock.advance(Duration::from_micros(1));
    assert_eq!(limiter.check("window", "k").unwrap().source, Source::Server);
    assert_eq!(limiter.check("window", "k").unwrap().source, Source::Cache);
    world.clock.set_us(world.clock.now_us() - 1_000_000);
    assert_eq!(limiter.check("window", "k").unwrap().source, Source::Server, "the clock stepped back");
}

#[test]
fn own_calls_that_make_room_end_it_at_once() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, AGE);
    let admits = |rule: &str, what: &str| {
        assert_eq!(result(&limiter.check(rule, "k").unwrap()), (true, Source::Server), "{what}");
        deny(&limiter, rule, "k");
    };
    for rule in ["window", "bucket", "stored"] {
        deny(&limiter, rule, "k");
        limiter.refund(rule, "k").unwrap();
        admits(rule, "refund");
        limiter.reset(rule, "k").unwrap();
        admits(rule, "reset");
        limiter.reset_all("k").unwrap();
        admits(rule, "reset_all");
        limiter.charge(rule, "k").unwrap();
        assert_eq!(result(&limiter.check(rule, "k").unwrap()), (false, Source::Server), "charge");
    }
    limiter.reset("stored", "k").unwrap();
    deny(&limiter, "stored", "k");
    limiter.set_limit("stored", "k", 9, None).unwrap();
    admits("stored", "set_limit");
    limiter.reset("stored", "k").unwrap();
    limiter.set_limit("stored", "k", 1, None).unwrap();
    deny(&limiter, "stored", "k");
    limiter.clear_limit("stored", "k").unwrap();
    admits("stored", "clear_limit");
}

#[test]
fn what_others_do_is_noticed_within_the_age() {
    let world = ClockedRedis::start(RULES);
    let (limiter, other) = (remembering(&world, AGE), remembering(&world, Duration::ZERO));
    let refund = || drop(other.refund("stored", "k").unwrap());
    let reset = || other.reset("stored", "k").unwrap();
    let raise = || other.set_limit("stored", "k", 9, None).unwrap();
    let delete =
        || command(&world, &["EVAL", "return redis.call('DEL', unpack(redis.call('KEYS', '*')))", "0"]);
    let flush = || command(&world, &["FLUSHALL"]);
    let interventions: [(&str, &dyn Fn()); 5] = [
        ("refund", &refund),
        ("reset", &reset),
        ("set_limit", &raise),
        ("DEL", &delete),
        ("FLUSHALL", &flush),
    ];
    for (what, intervene) in interventions {
        deny(&limiter, "stored", "k");
        world.clock.advance(SECOND);
        intervene();
        let until = AGE - SECOND - Duration::from_micros(1);
        for step in [Duration::ZERO, until] {
            world.clock.advance(step);
            assert_eq!(result(&limiter.check("stored", "k").unwrap()), (false, Source::Cache), "{what}");
        }
        world.clock.advance(Duration::from_micros(1));
        assert_eq!(result(&limiter.check("stored", "k").unwrap()), (true, Source::Server), "{what}");
        command(&world, &["FLUSHALL"]);
        limiter.reset("stored", "k").unwrap();
    }
    // A stored limit that ends.
    other.set_limit("stored", "k", 1, Some(SECOND * 5)).unwrap();
    deny(&limiter, "stored", "k");
    world.clock.advance(SECOND * 6);
    assert_eq!(result(&limiter.check("stored", "k").unwrap()), (false, Source::Cache));
    world.clock.advance(AGE - SECOND * 6);
    assert_eq!(result(&limiter.check("stored", "k").unwrap()), (true, Source::Server));
}

#[test]
fn rules_that_write_or_count_more_than_the_key_are_asked_for() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, AGE);
    let options = |rule| {
        let options = CheckOptions::new();
        if rule == "pool" { options.resource("p") } else { options }
    };
    for rule in ["counts", "blocks", "held", "pool"] {
        for _ in 0..6 {
            let decision = limiter.check_with(rule, "k", options(rule)).unwrap();
            assert_eq!(decision.source, Source::Server, "{rule}");
        }
    }
    deny(&limiter, "window", "k");
    let repeatable = CheckOptions::new().request_id("one");
    assert_eq!(limiter.check_with("window", "k", repeatable).unwrap().source, Source::Server);
}

#[test]
fn a_changed_rule_is_asked_for() {
    let server = Redis::start().unwrap();
    let path = std::env::temp_dir().join(format!("remembered-{}.json", std::process::id()));
    let rule = |limit: u64| format!(r#"[{{"rule_id": "r", "rate": "{limit}/hour"}}]"#);
    fs::write(&path, rule(2)).unwrap();
    let source = FileSource::new(&path);
    let builder =
        RateLimiter::builder(server.url()).rules(source).remember_denials(Duration::from_secs(3600));
    let limiter = builder.response_timeout(Duration::from_secs(10)).build().unwrap();
    deny(&limiter, "r", "k");
    fs::write(&path, rule(50)).unwrap();
    let begun = Instant::now();
    while !limiter.check("r", "k").unwrap().allowed {
        assert!(begun.elapsed() < Duration::from_secs(60), "the rule was not read");
        std::thread::sleep(Duration::from_millis(5));
    }
    fs::remove_file(path).unwrap();
}

#[test]
fn it_costs_no_round_trip_and_lasts_without_a_server() {
    let world = ClockedRedis::start(RULES);
    let limiter = remembering(&world, AGE);
    deny(&limiter, "window", "k");
    drop(world.server);
    for _ in 0..100 {
        assert_eq!(result(&limiter.check("window", "k").unwrap()), (false, Source::Cache));
    }
    assert!(limiter.check("window", "other").is_err());
    limiter.close();
    assert_eq!(limiter.check("window", "k").unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn ages_that_make_no_sense_are_refused() {
    let message = |url: &str, age| {
        let error = RateLimiter::builder(url).remember_denials(age).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error.message().to_owned()
    };
    let long = message("redis://localhost:1", Duration::from_secs(86_401));
    assert_eq!(long, "remember_denials must be from 0 to 86400 seconds");
    let idle = message("memory://", SECOND);
    assert_eq!(
        idle,
        "remember_denials is for servers; memory:// decides in this process anyway (leave it out)"
    );
}
