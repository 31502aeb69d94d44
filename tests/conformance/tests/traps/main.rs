//! The traps of this field, each seen in a published library: a test for each, named after it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod counting;
mod garbage;
mod keys;
mod lifetimes;
mod scripts;
mod secrets;
mod server;
mod time;

use sluicegate::CheckOptions;

/// Every way of keeping state, 10 per minute (`decay`: a level of 10 that fades by half per minute). By the calendar,
/// where nothing ends with the minute, stands apart.
const KINDS: [(&str, &str); 9] = [
    ("aligned", r#""algorithm": "fixed_window", "limit": 10, "window_size_seconds": 60"#),
    (
        "first_request",
        r#""algorithm": "fixed_window", "window_start": "first_request", "limit": 10, "window_size_seconds": 60"#,
    ),
    ("sliding_window", r#""algorithm": "sliding_window", "limit": 10, "window_size_seconds": 60"#),
    ("list", r#""algorithm": "sliding_log", "limit": 10, "window_size_seconds": 60"#),
    (
        "sorted_set",
        r#""algorithm": "sliding_log", "structure": "sorted_set", "limit": 10, "window_size_seconds": 60"#,
    ),
    ("sliding_buckets", r#""algorithm": "sliding_buckets", "limit": 10, "window_size_seconds": 60"#),
    ("gcra", r#""algorithm": "gcra", "limit": 10, "window_size_seconds": 60"#),
    ("token_bucket", r#""algorithm": "token_bucket", "burst": 10, "limit": 10, "window_size_seconds": 60"#),
    ("decay", r#""algorithm": "decay", "limit": 10, "resolution_seconds": 60"#),
];

/// By the calendar: 10 a day.
const CALENDAR: (&str, &str) = (
    "calendar",
    r#""algorithm": "fixed_window", "limit": 10, "window": "day", "time_zone": "Asia/Kathmandu""#,
);

/// A moment that needs all the digits of microseconds since 1970, a little after a full minute.
const NOW_US: u64 = 1_760_000_040_123_457;

/// A set of rules that is one rule.
fn rule(id: &str, fields: &str) -> String {
    format!(r#"[{{"rule_id": "{id}", {fields}}}]"#)
}

/// All kinds, by the calendar too, each as a rule of its own.
fn every_kind() -> String {
    let rules = KINDS.iter().chain([&CALENDAR]);
    let rules: Vec<_> = rules.map(|(id, fields)| format!(r#"{{"rule_id": "{id}", {fields}}}"#)).collect();
    format!("[{}]", rules.join(","))
}

fn cost(cost: u64) -> CheckOptions<'static> {
    CheckOptions::new().cost(cost)
}
