//! Denials of rules in shadow are logged, once a minute for each rule.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use log::{Level, LevelFilter, Log, Metadata, Record};
use sluicegate::{Check, RateLimiter, Rules};

/// Keeps events, and wants nothing else.
struct Events;

static EVENTS: Mutex<Vec<(Level, String, String)>> = Mutex::new(Vec::new());

impl Log for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sluicegate::events::")
    }

    fn log(&self, record: &Record<'_>) {
        let event = (record.level(), record.target().to_owned(), record.args().to_string());
        EVENTS.lock().unwrap().push(event);
    }

    fn flush(&self) {}
}

const RULES: &str = r#"[
    {"rule_id": "trial", "rate": "1/hour", "shadow": true},
    {"rule_id": "other", "rate": "1/hour", "shadow": true},
    {"rule_id": "real", "rate": "1/hour"}
]"#;

fn told_at(level: LevelFilter) -> Vec<(Level, String, String)> {
    log::set_max_level(level);
    let rules = Rules::from_json(RULES).unwrap();
    let limiter = RateLimiter::builder("memory://").rules(rules).build().unwrap();
    for _ in 0..5 {
        limiter.check("trial", "k").unwrap();
        limiter.check("real", "k").unwrap();
        limiter.peek("other", "k").unwrap();
    }
    limiter.check_all(&[Check::new("other", "k"), Check::new("trial", "k")]).unwrap();
    limiter.check_all(&[Check::new("other", "k"), Check::new("trial", "k")]).unwrap();
    std::mem::take(&mut EVENTS.lock().unwrap())
}

#[test]
fn a_denial_in_shadow_is_told_at_debug() {
    log::set_logger(&Events).unwrap();
    assert_eq!(told_at(LevelFilter::Info), []);
    let told = |rule: &str| {
        let text = format!("rule \"{rule}\" is in shadow: it would have denied 1 call");
        (Level::Debug, "sluicegate::events::shadow_denied".to_owned(), text)
    };
    assert_eq!(told_at(LevelFilter::Debug), [told("trial"), told("other")]);
}
