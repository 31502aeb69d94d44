//! What limiters log: how often, and on one line each.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::env;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::sources::{FileSource, RulesStatus};
use sluicegate::{AsyncRateLimiter, RateLimiter, Rules};

/// Keeps every event.
struct Events;

static EVENTS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

impl Log for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sluicegate::events::")
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(name) = record.target().strip_prefix("sluicegate::events::") {
            EVENTS.lock().unwrap().push((name.to_owned(), record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

fn start() {
    STARTED.call_once(|| {
        log::set_logger(&Events).unwrap();
        log::set_max_level(LevelFilter::Info);
    });
}

/// The events of a name so far.
fn events(name: &str) -> Vec<String> {
    let events = EVENTS.lock().unwrap();
    events.iter().filter(|(of, _)| of == name).map(|(_, text)| text.clone()).collect()
}

fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Puts other rules in the file, then none, then a text that is refused, unlike the one before.
fn edit(limiter: &RateLimiter, path: &Path, turn: usize) {
    let before = limiter.rules_status();
    let put = |text: String, updates: u64, refusals: u64| {
        fs::write(path, text).unwrap();
        let is_done = |status: &RulesStatus| {
            status.updates == before.updates + updates && status.refusals == before.refusals + refusals
        };
        until(|| is_done(&limiter.rules_status()));
    };
    put(format!(r#"[{{"rule_id": "a", "rate": "{turn}/minute"}}]"#), 1, 0);
    put("[]".to_owned(), 2, 0);
    put(format!("[{turn}]"), 2, 1);
}

/// The lines of an event about this file, without its name.
fn about(path: &Path, event: &str) -> Vec<String> {
    let name = path.display().to_string();
    events(event).iter().filter(|line| line.contains(&name)).map(|line| line.replace(&name, "F")).collect()
}

#[test]
fn a_file_that_changes_again_and_again_is_logged_once_a_minute() {
    start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.json");
    fs::write(&path, "[]").unwrap();
    let began = Instant::now();
    let limiter = RateLimiter::builder("memory://").rules(FileSource::new(&path)).build().unwrap();
    (1..5).for_each(|turn| edit(&limiter, &path, turn));
    // Who logs holds the book, which the next report waits for; that of the last one may be under way.
    let kinds = ["rules_changed", "rules_lost", "rules_refused"];
    let first = [
        "rules: F: 1 rules are in force (version ",
        "rules: F: the update leaves no rules: ",
        "rules refused: F: ",
    ];
    for (kind, first) in kinds.iter().zip(first) {
        let lines = about(&path, kind);
        assert!(lines[0].starts_with(first) && !lines[0].contains("since"), "{lines:?}");
        assert!(lines.len() == 1 || began.elapsed() > Duration::from_secs(50), "{lines:?}");
    }
    if env::var_os("SLUICEGATE_LONG_TESTS").is_some() {
        // What was not logged is so when the minute is over.
        until(|| kinds.iter().all(|kind| about(&path, kind).len() > 1));
        let [changed, lost, refused] = kinds.map(|kind| about(&path, kind).remove(1));
        assert!(changed.starts_with("rules: F: 0 rules are in force (version "), "{changed}");
        assert!(changed.ends_with(" (changes since the last such line: 7)"), "{changed}");
        assert!(
            lost.ends_with(" (such updates since the last such line: 3); 0 rules are in force now"),
            "{lost}"
        );
        assert!(refused.ends_with(" (refusals since the last such line: 3)"), "{refused}");
    }
}

#[test]
fn an_event_is_one_line_whatever_the_server_is_called() {
    start();
    let rules = Rules::from_json(r#"[{"rule_id": "a", "rate": "1/s"}]"#).unwrap();
    let builder = RateLimiter::builder("unix:///nowhere/two%0Alines.sock").rules(rules).breaker_failures(1);
    builder.build().unwrap().check("a", "k").unwrap_err();
    let opened = events("breaker_open");
    assert!(opened[0].starts_with(r"/nowhere/two\nlines.sock does not answer ("), "{opened:?}");
}

#[test]
fn shares_that_are_empty_are_logged_once_a_minute_and_those_of_other_rules_at_once() {
    start();
    let small = r#"{"rule_id": "small", "rate": "3/minute"}"#;
    let large = r#"{"rule_id": "large", "rate": "100/minute"}"#;
    let rules = Rules::from_json(&format!("[{small}, {large}]")).unwrap();
    let builder = RateLimiter::builder("redis://127.0.0.1:1").rules(rules).fallback("local");
    let limiter = builder.instances(4).build().unwrap();
    // As a program does that counts its instances all the time.
    (4..20).for_each(|instances| limiter.set_instances(instances).unwrap());
    limiter.set_instances(500).unwrap();
    let empty = [(4, r#""small""#), (500, r#""small", "large""#)].map(|(instances, names)| {
        format!(
            "fallback local: {instances} instances leave nothing of a limit of {names}: denied in an outage"
        )
    });
    assert_eq!(events("fallback_empty"), empty);
}

#[tokio::test]
async fn servers_that_are_not_asked_for_changes_are_logged_once_a_minute() {
    start();
    for _ in 0..3 {
        let builder = AsyncRateLimiter::builder("redis://127.0.0.1:1").lazy(true);
        builder.remember_denials(Duration::from_secs(60)).connect().await.unwrap();
    }
    let refused = events("tracking_refused");
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("servers announce no changes of keys by RESP2"), "{refused:?}");
}
