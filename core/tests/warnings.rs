//! What is warned of that limits less than somebody may think.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::sources::FileSource;
use sluicegate::{RateLimiter, Request};

/// Keeps every line.
struct Lines;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LINES.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

const LOGIN: &str = r#"{"rule_id": "login", "rate": "5/minute", "identifier_type": "ip_address",
    "match": {"path_pattern": "/login", "methods": ["POST"]}}"#;
const ORDERS: &str = r#"{"rule_id": "orders", "rate": "5/minute", "identifier_type": ["user_id", "ip_address"],
    "match": {"path_pattern": "/orders/*"}}"#;

#[test]
fn what_is_not_limited_is_warned_of() {
    log::set_logger(&Lines).unwrap();
    log::set_max_level(LevelFilter::Warn);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.json");
    fs::write(&path, format!("[{LOGIN}, {ORDERS}]")).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(FileSource::new(&path)).build().unwrap();

    requests_without_an_address(&limiter);
    an_edit_that_takes_a_rule_away(&limiter, &path);
    an_edit_that_takes_them_all_away(&path);
}

fn requests_without_an_address(limiter: &RateLimiter) {
    let login = Request::new("POST", "/login");
    for request in
        [login.clone().ip("203.0.113.9"), Request::new("GET", "/login"), Request::new("GET", "/orders/7")]
    {
        limiter.check_request(&request).unwrap();
        assert_eq!(taken(), [""; 0], "{request:?}");
    }
    assert!(!limiter.check_request(&login).unwrap().rule_applied());
    let said = taken();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with(r#"rule "login": a request without the client's address is not limited: "#),
        "{said:?}"
    );
    limiter.check_request(&login).unwrap();
    limiter.check_request(&Request::new("GET", "/orders/7").user_id("alice")).unwrap();
    assert_eq!(taken(), [""; 0], "it is said once");
}

fn an_edit_that_takes_a_rule_away(limiter: &RateLimiter, path: &Path) {
    update(limiter, path, &format!("[{LOGIN}]"));
    // After an update it is not said again either.
    limiter.check_request(&Request::new("POST", "/login")).unwrap();
    assert_eq!(
        taken_about(path),
        [r#"the update takes away the last rule of "/orders/*": these requests are not limited any more"#]
    );
    update(limiter, path, &format!("[{LOGIN}, {ORDERS}]"));
    assert_eq!(taken(), [""; 0]);
    update(limiter, path, "[]");
    assert_eq!(taken(), [""; 0], "within a minute of the last such line");
    update(limiter, path, &format!("[{LOGIN}, {ORDERS}]"));
}

fn an_edit_that_takes_them_all_away(path: &Path) {
    let limiter = RateLimiter::builder("memory://").rules(FileSource::new(path)).build().unwrap();
    update(&limiter, path, "[]");
    assert_eq!(
        taken_about(path),
        [
            "the update leaves no rules: nothing is limited by it any more; the update takes away the last rule of \
             \"POST /login\", \"/orders/*\": these requests are not limited any more"
        ]
    );
}

/// Puts other rules in the file, and waits until they are in force and what they lack is logged.
fn update(limiter: &RateLimiter, path: &Path, text: &str) {
    let before = limiter.rules_status().updates;
    fs::write(path, text).unwrap();
    let began = Instant::now();
    while limiter.rules_status().updates == before {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    // The next report waits for the one that logs.
    fs::write(path, format!("{text} ")).unwrap();
    while limiter.rules_status().updates == before + 1 {
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn taken() -> Vec<String> {
    std::mem::take(&mut LINES.lock().unwrap())
}

/// What was said of the rules of this file.
fn taken_about(path: &Path) -> Vec<String> {
    let start = format!("rules: {}: ", path.display());
    taken().iter().map(|line| line.strip_prefix(&start).unwrap_or(line).to_owned()).collect()
}
