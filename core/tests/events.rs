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
use sluicegate::sources::FileSource;
use sluicegate::{RateLimiter, Rules};

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

/// Puts a text in the file that is refused, unlike the one before.
fn spoil(limiter: &RateLimiter, path: &Path) {
    let before = limiter.rules_status().refusals;
    fs::write(path, format!("[{before}]")).unwrap();
    until(|| limiter.rules_status().refusals > before);
}

#[test]
fn a_file_that_is_spoilt_again_and_again_is_logged_once_a_minute() {
    start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.json");
    fs::write(&path, "[]").unwrap();
    let began = Instant::now();
    let limiter = RateLimiter::builder("memory://").rules(FileSource::new(&path)).build().unwrap();
    (0..4).for_each(|_| spoil(&limiter, &path));
    // Who logs holds the book, which the next report waits for; that of the last one may be under way.
    let refused = events("rules_refused");
    assert!(refused[0].starts_with(&format!("rules refused: {}: ", path.display())), "{refused:?}");
    assert!(refused.len() == 1 || began.elapsed() > Duration::from_secs(50), "{refused:?}");
    if env::var_os("SLUICEGATE_LONG_TESTS").is_some() {
        // What was not logged is so when the minute is over.
        until(|| events("rules_refused").len() > 1);
        let last = events("rules_refused").remove(1);
        assert!(last.ends_with("(refusals since the last such line: 3)"), "{last}");
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
