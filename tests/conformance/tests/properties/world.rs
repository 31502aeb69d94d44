//! A limiter with its clock, on which histories are played.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;
use sluicegate::{CheckOptions, Decision, ErrorKind, ManualClock, RateLimiter, Rules, Source};
use sluicegate_conformance::{Driver, Limiter};

use crate::history::{Act, Cost, Jump, Step};
use crate::rules::RandomRule;

pub(crate) const RULE: &str = "rule";
pub(crate) const KEYS: [&str; 4] = ["alice", "bob", "{carol}\n", "never seen"];
pub(crate) const RESOURCES: [&str; 3] = ["printer", "plotter", "never used"];
/// The place of what no step names.
pub(crate) const NEVER: usize = usize::MAX;
/// Generous, because a machine that runs tests may be busy.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
/// Times end here.
const LATEST_US: u128 = 1 << 53;

/// A decision without what differs between backends by design, or the kind of the error.
pub(crate) type CheckResult = Result<Decision, ErrorKind>;

pub(crate) struct World {
    pub(crate) limiter: Limiter,
    pub(crate) clock: ManualClock,
    /// What was answered last, for steps that depend on it.
    last: Option<Decision>,
    /// How many checks were denied by what the limiter remembers.
    pub(crate) remembered: usize,
}

impl World {
    pub(crate) fn new(driver: Driver, url: &str, rules: &Value, start: u64) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let prefix = format!("case{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        Self::with_prefix(driver, url, rules, start, &prefix)
    }

    pub(crate) fn with_prefix(driver: Driver, url: &str, rules: &Value, start: u64, prefix: &str) -> Self {
        Self::remembering(driver, (url, prefix), rules, start, Duration::ZERO)
    }

    /// A world that remembers denials for so long.
    pub(crate) fn remembering(
        driver: Driver,
        (url, prefix): (&str, &str),
        rules: &Value,
        start: u64,
        age: Duration,
    ) -> Self {
        let clock = ManualClock::new(start);
        let rules = Rules::from_json(&rules.to_string()).unwrap();
        let builder = RateLimiter::builder(url).rules(rules).prefix(prefix).clock(clock.clone());
        let builder = builder.remember_denials(age).response_timeout(TIMEOUT);
        Self { limiter: Limiter::new(driver, builder).unwrap(), clock, last: None, remembered: 0 }
    }

    /// A world of one rule, in memory, after a history.
    pub(crate) fn after(rule: &RandomRule, start: u64, steps: &[Step]) -> Self {
        let mut world = Self::new(Driver::Blocking, "memory://", &one(rule), start);
        for step in steps {
            let _ = world.play(rule, step);
        }
        world
    }

    /// Plays one step; a reset answers nothing.
    pub(crate) fn play(&mut self, rule: &RandomRule, step: &Step) -> Option<CheckResult> {
        self.jump(&step.jump, rule.longest_us());
        let cost = self.cost(&step.cost, rule);
        let mut options = options(rule, cost, step.resource);
        options.limit = step.limit.filter(|_| rule.limits.len() == 1);
        let key = KEYS[step.key];
        let answer = match step.act {
            Act::Check => self.limiter.check(RULE, key, options),
            Act::Peek => self.limiter.peek(RULE, key, options),
            Act::Refund => self.limiter.refund(RULE, key, options),
            Act::Reset => {
                self.limiter.reset(RULE, key, options).unwrap();
                return None;
            }
        };
        Some(self.note(answer))
    }

    /// Remembers an answer and makes it comparable.
    pub(crate) fn note(&mut self, answer: sluicegate::Result<Decision>) -> CheckResult {
        let decision = answer.map_err(|error| error.kind())?;
        self.last = Some(decision.clone());
        self.remembered += usize::from(decision.source == Source::Cache);
        Ok(bare(decision))
    }

    /// Checks the first key.
    pub(crate) fn check(&self, rule: &RandomRule, cost: u64) -> Decision {
        self.limiter.check(RULE, KEYS[0], options(rule, cost, 0)).unwrap()
    }

    /// Peeks at the first key, or at one never seen.
    pub(crate) fn peek(&self, rule: &RandomRule, cost: u64, which: usize) -> Decision {
        let key = KEYS[which.min(KEYS.len() - 1)];
        self.limiter.peek(RULE, key, options(rule, cost, which)).unwrap()
    }

    /// Whether the clock can go on for so long.
    pub(crate) fn reaches(&self, span: Duration) -> bool {
        u128::from(self.clock.now_us()) + span.as_micros() < LATEST_US
    }

    pub(crate) fn jump(&self, jump: &Jump, window_us: u64) {
        let windows = |windows: f64| (window_us as f64 * windows) as u64;
        let span = |span: Option<Duration>, early: bool| {
            let span = span.filter(|span| self.reaches(*span)).unwrap_or_default();
            span.saturating_sub(Duration::from_micros(u64::from(early)))
        };
        let last = self.last.as_ref();
        let by = match *jump {
            Jump::None => Duration::ZERO,
            Jump::Micros(us) => Duration::from_micros(us),
            Jump::Windows(part) => Duration::from_micros(windows(part)),
            Jump::ToRetry { early } => span(last.map(|decision| decision.retry_after), early),
            Jump::ToReset { early } => span(last.map(|decision| decision.reset_after), early),
            Jump::Back(part) => {
                self.clock.set_us(self.clock.now_us().saturating_sub(windows(part)));
                return;
            }
        };
        self.clock.advance(by);
    }

    pub(crate) fn cost(&self, cost: &Cost, rule: &RandomRule) -> u64 {
        let cost = match *cost {
            Cost::Units(units) => units,
            Cost::Share(share) => (rule.most() as f64 * share) as u64,
            Cost::BeyondRemaining(more) => self.last.as_ref().map_or(1, |last| last.remaining) + more,
        };
        rule.bounded(cost.max(1))
    }
}

/// What a call to a rule needs.
pub(crate) fn options(rule: &RandomRule, cost: u64, resource: usize) -> CheckOptions<'static> {
    let resource = RESOURCES[resource.min(RESOURCES.len() - 1)];
    let options = CheckOptions::new().cost(cost);
    if rule.has_resource() { options.resource(resource) } else { options }
}

/// A set of rules that is one rule.
pub(crate) fn one(rule: &RandomRule) -> Value {
    Value::Array(vec![rule.json(RULE)])
}

/// Whether the cost had room, also where the rule is in shadow.
pub(crate) fn fits(decision: &Decision) -> bool {
    decision.allowed && !decision.shadow_denied
}

/// Without the one field that says which backend decided.
pub(crate) fn bare(mut decision: Decision) -> Decision {
    decision.source = Source::Server;
    decision.parts = decision.parts.into_iter().map(bare).collect();
    decision
}
