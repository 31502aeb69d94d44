//! Rules made in Rust instead of JSON.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Fallback, Rule, Rules, Scope, Structure, WindowStart};
use crate::error::Result;

/// Builds a rule. Made by [`Rule::gcra`] and the like; [`Rules::build`] makes rules of builders.
///
/// A builder states the fields of a rule file, and is read as strictly as one: a fault is an error of `Rules::build` that
/// names rule, field and reason.
///
/// ```
/// use std::time::Duration;
/// use sluicegate::rules::Rule;
/// use sluicegate::{RateLimiter, Rules};
///
/// let minute = Duration::from_secs(60);
/// let rules = Rules::build([
///     Rule::gcra("login").limit(5).per(minute).field("identifier_type", r#""ip_address""#),
///     Rule::sliding_log("orders").limit(50).per(minute).shadow(true),
/// ])?;
/// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
/// assert_eq!(limiter.check("login", "203.0.113.9")?.remaining, 4);
/// # Ok::<(), sluicegate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a builder does nothing until `Rules::build` is called"]
pub struct RuleBuilder {
    fields: Map<String, Value>,
}

impl Rule {
    /// A rule of the algorithm `gcra`: a burst at once, then a steady rate.
    pub fn gcra(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "gcra")
    }

    /// `gcra` by another name: the burst is the capacity, the limit per window the refill.
    pub fn token_bucket(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "token_bucket")
    }

    /// `gcra` by another name.
    pub fn leaky_bucket(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "leaky_bucket")
    }

    /// A rule of the algorithm `uniform`: evenly spaced, no bursts.
    pub fn uniform(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "uniform")
    }

    /// A rule of the algorithm `fixed_window`.
    pub fn fixed_window(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "fixed_window")
    }

    /// A rule of the algorithm `sliding_window`: two counts, the former weighted.
    pub fn sliding_window(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "sliding_window")
    }

    /// A rule of the algorithm `sliding_log`: exact over every window.
    pub fn sliding_log(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "sliding_log")
    }

    /// A rule of the algorithm `sliding_buckets`: a count per slot.
    pub fn sliding_buckets(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "sliding_buckets")
    }

    /// A rule of the algorithm `decay`: a level that fades by a factor in every slot of `resolution`.
    pub fn decay(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "decay")
    }

    /// A rule of the algorithm `concurrency`: the limit is what may be in flight at once.
    pub fn concurrency(id: &str) -> RuleBuilder {
        RuleBuilder::new(id, "concurrency")
    }
}

impl RuleBuilder {
    fn new(id: &str, algorithm: &str) -> Self {
        Self { fields: Map::new() }.set("rule_id", id).set("algorithm", algorithm)
    }

    /// The cost that may be admitted per window.
    pub fn limit(self, limit: u64) -> Self {
        self.set("limit", limit)
    }

    /// The window: from 1 ms to ten years, in whole microseconds.
    pub fn per(self, window: Duration) -> Self {
        self.set("window_size_seconds", seconds(window))
    }

    /// Limit and window in one, such as `5/minute`, `100/s` or `20/30s`.
    pub fn rate(self, rate: &str) -> Self {
        self.set("rate", rate)
    }

    /// Adds one of several limits, which are decided together. Takes the place of [`limit`](Self::limit) and
    /// [`per`](Self::per).
    pub fn and_limit(mut self, limit: u64, window: Duration, scope: Scope) -> Self {
        let scope = match scope {
            Scope::Key => "key",
            Scope::Resource => "resource",
        };
        let entry = json!({ "limit": limit, "window_size_seconds": seconds(window), "scope": scope });
        if let Value::Array(limits) = self.fields.entry("limits").or_insert_with(|| json!([])) {
            limits.push(entry);
        }
        self
    }

    /// The most that is admitted at once, for `gcra`, `token_bucket` and `leaky_bucket`. Default: the limit.
    pub fn burst(self, burst: u64) -> Self {
        self.set("burst", burst)
    }

    /// The length of a slot, for `sliding_buckets` (default: a sixtieth of the window) and `decay`.
    pub fn resolution(self, slot: Duration) -> Self {
        self.set("resolution_seconds", seconds(slot))
    }

    /// What each slot that passes divides the level by, for `decay`. At least 1.0001, default 2.
    pub fn decay_factor(self, factor: f64) -> Self {
        self.set("decay_factor", factor)
    }

    /// When windows begin, for `fixed_window`.
    pub fn window_start(self, start: WindowStart) -> Self {
        let word = match start {
            WindowStart::Aligned => "aligned",
            WindowStart::FirstRequest => "first_request",
        };
        self.set("window_start", word)
    }

    /// Usage may be reserved, and charged when it is known. Every rule of `concurrency` has reservations.
    pub fn reservations(self, reservations: bool) -> Self {
        self.set("reservations", reservations)
    }

    /// How long a reservation lives without being renewed. Default: a minute.
    pub fn lease(self, lease: Duration) -> Self {
        self.set("lease_seconds", seconds(lease))
    }

    /// A key that was denied stays denied for `length`, and a block that begins within `longest` after the last one is
    /// `factor` times longer, up to `longest`.
    pub fn block(self, length: Duration, factor: f64, longest: Duration) -> Self {
        let (length, longest) = (seconds(length), seconds(longest));
        self.set("block", json!({ "seconds": length, "factor": factor, "max_seconds": longest }))
    }

    /// Keys may be blocked by hand; no denial does.
    pub fn block_by_hand(self) -> Self {
        self.set("block", json!({}))
    }

    /// Limits of single keys may be stored, for a rule with one limit.
    pub fn overrides(self, overrides: bool) -> Self {
        self.set("overrides", overrides)
    }

    /// The Redis type that holds the log, for `sliding_log`.
    pub fn structure(self, structure: Structure) -> Self {
        let word = match structure {
            Structure::List => "list",
            Structure::SortedSet => "sorted_set",
        };
        self.set("structure", word)
    }

    /// Whether a denied cost is charged too, for window, bucket and decay algorithms.
    pub fn count_denied(self, count_denied: bool) -> Self {
        self.set("count_denied", count_denied)
    }

    /// Whether to decide and count, but always admit.
    pub fn shadow(self, shadow: bool) -> Self {
        self.set("shadow", shadow)
    }

    /// What a call answers that no server can decide.
    pub fn fallback(self, fallback: Fallback) -> Self {
        self.set("fallback", fallback.name())
    }

    /// The limit holds over all regions of a limiter; another region than the one in charge of a key may use what it lends for
    /// `max_age`.
    pub fn global(self, max_age: Duration) -> Self {
        self.set("global", json!({ "max_age_ms": max_age.as_secs_f64() * 1e3 }))
    }

    /// The process borrows units of its server ahead of its calls: they may be spent for `max_age`, and are asked for at most once
    /// a `pace`.
    pub fn leased(self, max_age: Duration, pace: Duration) -> Self {
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        self.set("lease", json!({ "max_age_ms": ms(max_age), "pace_ms": ms(pace) }))
    }

    /// Lower numbers are decided and reported first.
    pub fn priority(self, priority: i64) -> Self {
        self.set("priority", priority)
    }

    /// A description for people.
    pub fn description(self, description: &str) -> Self {
        self.set("description", description)
    }

    /// Any field by its name in rule files and its JSON, such as `match`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::Rules;
    /// use sluicegate::rules::Rule;
    ///
    /// let login = Rule::gcra("login").limit(5).per(Duration::from_secs(60));
    /// let login = login
    ///     .field("identifier_type", r#""ip_address""#)
    ///     .field("match", r#"{"path_pattern": "/login", "methods": ["POST"]}"#);
    /// assert!(Rules::build([login])?.find("login")?.matches.is_some());
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn field(self, name: &str, json: &str) -> Self {
        // What is no JSON is a text, which the reader refuses where it wants something else.
        let value: Value = serde_json::from_str(json).unwrap_or_else(|_| json.into());
        self.set(name, value)
    }

    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

impl Rules {
    /// Makes rules of builders.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`](crate::ErrorKind::InvalidRule), as for [`from_json`](Self::from_json).
    pub fn build(rules: impl IntoIterator<Item = RuleBuilder>) -> Result<Self> {
        let rules: Value = rules.into_iter().map(|rule| Value::Object(rule.fields)).collect();
        Self::from_json(&rules.to_string())
    }
}

fn seconds(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_built_rule_is_the_one_of_a_file() {
        let built = Rules::build([
            Rule::gcra("a").limit(5).per(MINUTE).burst(2).priority(-1).description("five"),
            Rule::sliding_buckets("b")
                .and_limit(1, Duration::from_micros(1_500), Scope::Key)
                .and_limit(9, MINUTE, Scope::Resource)
                .count_denied(true),
            Rule::decay("c").limit(3).resolution(MINUTE).decay_factor(1.5).shadow(true),
            Rule::fixed_window("d").limit(1).per(MINUTE).window_start(WindowStart::FirstRequest),
            Rule::sliding_log("e").limit(1).per(MINUTE).structure(Structure::SortedSet),
        ]);
        let read = Rules::from_json(
            r#"[{"rule_id": "a", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60, "burst": 2,
                 "priority": -1, "description": "five"},
                {"rule_id": "b", "algorithm": "sliding_buckets", "count_denied": true, "limits": [
                 {"limit": 1, "window_size_seconds": 0.0015},
                 {"limit": 9, "window_size_seconds": 60, "scope": "resource"}]},
                {"rule_id": "c", "algorithm": "decay", "limit": 3, "resolution_seconds": 60, "decay_factor": 1.5,
                 "shadow": true},
                {"rule_id": "d", "algorithm": "fixed_window", "limit": 1, "window_size_seconds": 60,
                 "window_start": "first_request"},
                {"rule_id": "e", "algorithm": "sliding_log", "limit": 1, "window_size_seconds": 60,
                 "structure": "sorted_set"}]"#,
        );
        assert!(built.unwrap().iter().eq(read.unwrap().iter()));
    }

    #[test]
    fn every_algorithm_has_its_constructor() {
        let slots = |rule: RuleBuilder| rule.limit(1).resolution(MINUTE);
        let simple = |rule: RuleBuilder| rule.limit(1).per(MINUTE);
        let rules = [
            simple(Rule::fixed_window("1")),
            simple(Rule::sliding_window("2")),
            simple(Rule::sliding_log("3")),
            simple(Rule::sliding_buckets("4")),
            simple(Rule::gcra("5")),
            simple(Rule::token_bucket("6")),
            simple(Rule::leaky_bucket("7")),
            simple(Rule::uniform("8")),
            slots(Rule::decay("9")),
            Rule::concurrency("10").limit(1),
        ];
        let built = Rules::build(rules).unwrap();
        let names: Vec<_> = built.iter().map(|rule| rule.algorithm.name()).collect();
        assert_eq!(names, super::super::algorithm::DEFAULTS.map(|algorithm| algorithm.name()));
    }

    #[test]
    fn a_fault_is_answered_as_in_a_file() {
        let fault = |rule: RuleBuilder| Rules::build([rule]).unwrap_err().message().to_owned();
        assert_eq!(
            fault(Rule::uniform("a").limit(1).per(MINUTE).burst(2)),
            "rule \"a\": field \"burst\" does not belong to \"uniform\"; leave it out, or use \"gcra\", \
             \"token_bucket\" or \"leaky_bucket\""
        );
        assert!(fault(Rule::gcra("a").limit(1)).contains("\"window_size_seconds\" is missing"));
        assert!(
            fault(Rule::gcra("a").limit(1).per(MINUTE).field("match", "{")).contains("\"match\" is \"{\"")
        );
    }
}
