//! Limiters that may use a part of every limit, in memory and on a server.

use std::fs;
use std::time::{Duration, Instant};

use sluicegate::sources::FileSource;
use sluicegate::{Check, CheckOptions, ErrorKind, RateLimiter, Rules, Source};
use sluicegate_test_servers::Redis;

const RULES: &str = r#"[
    {"rule_id": "window", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 3600},
    {"rule_id": "burst", "rate": "100/hour", "burst": 10},
    {"rule_id": "small burst", "rate": "100/hour", "burst": 2},
    {"rule_id": "spaced", "algorithm": "uniform", "rate": "10/hour"},
    {"rule_id": "stored", "rate": "10/hour", "overrides": true},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 10},
    {"rule_id": "outage", "rate": "100/hour", "fallback": "local"}
]"#;

/// Rule ids have no spaces.
fn rules() -> Rules {
    Rules::from_json(&RULES.replace("small burst", "small")).unwrap()
}

fn limiter(url: &str, share: f64) -> RateLimiter {
    RateLimiter::builder(url).rules(rules()).share(share).build().unwrap()
}

/// What a rule admits of so many calls, the limit that each decision shows being this.
fn admitted(limiter: &RateLimiter, rule: &str, limit: u64) -> usize {
    let decisions = (0..30).map(|_| limiter.check(rule, "k").unwrap());
    decisions.filter(|decision| (decision.limit == limit) && decision.allowed).count()
}

/// What holds of the limiter of a third, wherever it decides.
fn keeps_its_part(limiter: &RateLimiter) {
    assert_eq!(admitted(limiter, "window", 3), 3);
    assert_eq!(admitted(limiter, "burst", 3), 3);
    assert_eq!(admitted(limiter, "small", 1), 1, "a burst of 1 at least");
    let spaced = limiter.check("spaced", "k").unwrap();
    assert_eq!((spaced.limit, spaced.remaining), (1, 0));
    // One in 1,200 seconds: a third of ten an hour.
    assert!(
        spaced.reset_after > Duration::from_secs(1190) && spaced.reset_after <= Duration::from_secs(1200)
    );

    let by_limit = |limit, key| {
        let options = CheckOptions::new().limit(limit);
        limiter.check_with("window", key, options).unwrap()
    };
    assert_eq!((by_limit(30, "plan").limit, by_limit(30, "plan").remaining), (10, 8));
    assert_eq!(by_limit(2, "plan").limit, 1, "1 at least");

    limiter.set_limit("stored", "k", 30, None).unwrap();
    assert_eq!(limiter.peek("stored", "k").unwrap().limit, 10);
    assert_eq!(
        limiter.check_all(&[Check::new("stored", "k"), Check::new("window", "all")]).unwrap().limit,
        3
    );

    let held = (0..5).filter(|_| limiter.reserve("places", "k").unwrap().decision().allowed).count();
    assert_eq!(held, 3);
}

#[test]
fn a_part_of_every_limit_is_used_in_memory() {
    keeps_its_part(&limiter("memory://", 1.0 / 3.0));
}

#[test]
fn a_part_of_every_limit_is_used_on_a_server() {
    let redis = Redis::start().unwrap();
    keeps_its_part(&limiter(redis.url(), 1.0 / 3.0));
}

#[test]
fn limiters_with_a_server_each_keep_the_limit_together() {
    let servers = [Redis::start().unwrap(), Redis::start().unwrap()];
    let parts = servers.iter().zip([0.3, 0.7]);
    let total: usize = parts
        .map(|(redis, share)| admitted(&limiter(redis.url(), share), "window", (10.0 * share) as u64))
        .sum();
    assert_eq!(total, 10);
}

#[test]
fn less_than_one_of_a_limit_is_refused_wherever_rules_come_from() {
    let tiny = |limit: u64| format!(r#"[{{"rule_id": "tiny", "rate": "{limit}/s"}}]"#);
    let refusal =
        "rule \"tiny\": limit 3 with share 0.25: that is less than 1 (raise the limit or the share)";
    let build = |rules: Rules| RateLimiter::builder("memory://").rules(rules).share(0.25).build();
    let error = build(Rules::from_json(&tiny(3)).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidRule, refusal));
    let limiter = build(Rules::default()).unwrap();
    let error = limiter.add_rules(&Rules::from_json(&tiny(3)).unwrap()).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidRule, refusal));

    let path = std::env::temp_dir().join(format!("sluicegate-share-{}.json", std::process::id()));
    fs::write(&path, tiny(8)).unwrap();
    let limiter =
        RateLimiter::builder("memory://").rules(FileSource::new(&path)).share(0.25).build().unwrap();
    assert_eq!(limiter.check("tiny", "k").unwrap().limit, 2);
    fs::write(&path, tiny(3)).unwrap();
    let patience = Instant::now() + Duration::from_secs(60);
    while limiter.rules_status().refusals == 0 {
        assert!(Instant::now() < patience, "the file is not refused");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(limiter.rules_status().refused[0].reason.contains(refusal));
    assert_eq!(limiter.check("tiny", "k").unwrap().limit, 2, "the last good one stays");
    fs::remove_file(&path).unwrap();
}

#[test]
fn in_an_outage_the_part_is_divided_by_instances_which_may_change() {
    let builder = RateLimiter::builder("redis://127.0.0.1:1").rules(rules());
    let limiter = builder.share(0.5).instances(5).build().unwrap();
    let most = |key| {
        let decision = limiter.check("outage", key).unwrap();
        assert_eq!(decision.source, Source::Fallback);
        decision.remaining + 1
    };
    assert_eq!(most("a"), 10);
    limiter.set_instances(25).unwrap();
    assert_eq!(most("b"), 2);
    for wrong in [0, 1_000_001] {
        let error = limiter.set_instances(wrong).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::InvalidArgument, "instances must be from 1 to 1000000")
        );
    }
    assert_eq!(most("c"), 2);
}
