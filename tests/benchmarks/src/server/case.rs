//! The algorithms with what each is compared with.

use std::time::Duration;

/// How the measured key looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Story {
    /// Used in this window or slot and in the former one.
    Recent,
    /// Used in every slot of the window.
    EverySlot,
    /// A log that is half full while as many entries leave as arrive.
    Steady,
    /// A log that goes from half full to full; nothing leaves.
    Filling,
}

/// An algorithm under a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The fields of the rule, but for identity and limits.
    fields: &'static str,
    /// How many limits the rule has.
    limits: usize,
    /// The script to beat, and what of its time an admitted check may take.
    pub(crate) baseline: &'static str,
    pub(crate) target: f64,
    pub(crate) story: Story,
}

const fn case(name: &'static str, fields: &'static str, baseline: &'static str, target: f64) -> Case {
    Case { name, fields, limits: 1, baseline, target, story: Story::Recent }
}

const fn buckets(name: &'static str, limits: usize, target: f64, story: Story) -> Case {
    let fields = r#""algorithm": "sliding_buckets""#;
    Case { limits, story, ..case(name, fields, "two_window_keys", target) }
}

const fn log(name: &'static str, fields: &'static str, baseline: &'static str, story: Story) -> Case {
    Case { story, ..case(name, fields, baseline, 1.0) }
}

const LIST: &str = r#""algorithm": "sliding_log""#;
const SORTED_SET: &str = r#""algorithm": "sliding_log", "structure": "sorted_set""#;

pub(crate) const CASES: [Case; 15] = [
    case("gcra, token_bucket, leaky_bucket, uniform", r#""algorithm": "gcra""#, "gcra", 1.0),
    case("fixed_window, aligned", r#""algorithm": "fixed_window""#, "fixed_window_ttl", 1.0),
    case(
        "fixed_window, first_request",
        r#""algorithm": "fixed_window", "window_start": "first_request""#,
        "fixed_window_ttl",
        1.0,
    ),
    case("sliding_window", r#""algorithm": "sliding_window""#, "two_window_keys", 1.0),
    log("sliding_log, list: steady", LIST, "log_list", Story::Steady),
    log("sliding_log, list: filling", LIST, "log_list", Story::Filling),
    log("sliding_log, sorted_set: steady", SORTED_SET, "log_zset", Story::Steady),
    log("sliding_log, sorted_set: filling", SORTED_SET, "log_zset", Story::Filling),
    buckets("sliding_buckets, 1 limit: 2 slots used", 1, 1.5, Story::Recent),
    buckets("sliding_buckets, 2 limits: 2 slots used", 2, 2.1, Story::Recent),
    buckets("sliding_buckets, 3 limits: 2 slots used", 3, 2.7, Story::Recent),
    buckets("sliding_buckets, 1 limit: 60 slots used", 1, 1.5, Story::EverySlot),
    buckets("sliding_buckets, 2 limits: 60 slots used", 2, 2.1, Story::EverySlot),
    buckets("sliding_buckets, 3 limits: 60 slots used", 3, 2.7, Story::EverySlot),
    case("decay", r#""algorithm": "decay", "resolution_seconds": 3600"#, "gcra", 1.1),
];

/// The windows of a rule; it has as many limits as the case says.
const WINDOWS_S: [u64; 3] = [3600, 24 * 3600, 7 * 24 * 3600];
const SLOTS: u64 = 60;
/// Never reached by counters. Logs hold this many entries.
const AMPLE: u64 = 1_000_000;
pub(super) const LOG: u64 = 100;
/// Steady: a call for each of this many keys every so often, under a window that holds half a log's worth.
pub(super) const STEADY_KEYS: usize = 200;
pub(super) const STEADY_PACE: Duration = Duration::from_millis(4);

impl Case {
    /// A set of the one rule. `limit` is the same for all its limits.
    pub(crate) fn rules(&self, id: &str, limit: u64) -> String {
        let (fields, seconds) = (self.fields, self.window().as_secs_f64());
        let limits = match self.limits {
            1 if self.fields.contains("decay") => format!(r#""limit": {limit}"#),
            1 => format!(r#""limit": {limit}, "window_size_seconds": {seconds}"#),
            many => {
                let limits = WINDOWS_S[..many].iter();
                let limits =
                    limits.map(|window| format!(r#"{{"limit": {limit}, "window_size_seconds": {window}}}"#));
                format!(r#""limits": [{}]"#, limits.collect::<Vec<_>>().join(", "))
            }
        };
        format!(r#"[{{"rule_id": "{id}", {fields}, {limits}}}]"#)
    }

    /// The first window.
    pub(crate) fn window(&self) -> Duration {
        match self.story {
            Story::Steady => STEADY_PACE * (LOG / 2) as u32,
            _ => Duration::from_secs(WINDOWS_S[0]),
        }
    }

    /// The same with a window in which what was used stays used.
    pub(crate) fn lasting(&self) -> Self {
        let story = if self.story == Story::Steady { Story::Filling } else { self.story };
        Self { story, ..*self }
    }

    fn is_log(&self) -> bool {
        matches!(self.story, Story::Steady | Story::Filling)
    }

    /// A limit that a measured check keeps below.
    pub(crate) fn ample(&self) -> u64 {
        if self.is_log() { LOG } else { AMPLE }
    }

    /// A limit that one that was used has reached.
    pub(crate) fn reached(&self) -> u64 {
        if self.is_log() { LOG } else { 1 }
    }

    /// How long ago the key was used before, in microseconds, the longest first.
    pub(crate) fn past(&self) -> Vec<u64> {
        let former = WINDOWS_S[0] * 1_000_000;
        match self.story {
            Story::Recent if self.fields.contains("sliding_buckets") => vec![former / SLOTS],
            Story::Recent => vec![former],
            Story::EverySlot => {
                let windows = WINDOWS_S[..self.limits].iter();
                let slots =
                    windows.flat_map(|window| (1..SLOTS).map(move |slot| slot * window * 1_000_000 / SLOTS));
                let mut ago: Vec<_> = slots.collect();
                ago.sort_unstable_by(|a, b| b.cmp(a));
                ago
            }
            Story::Steady | Story::Filling => Vec::new(),
        }
    }
}
