//! From what each limit says to what one rule says about one key.

use std::cmp::Reverse;
use std::time::Duration;

use super::Outcome;
use crate::algorithm::{Micros, Policy};
use crate::catalog::ReadyRule;
use crate::decision::{Decision, Source};
use crate::rules::RuleId;

/// A [`Decision`] of one rule as it is worked out: it borrows the rule's name, and keeps each time as one number.
/// An in-memory check is so short that a caller who needs no more is better off without the decision.
#[derive(Debug, Clone, Copy)]
pub struct RawDecision<'a> {
    /// The rule.
    pub rule: &'a RuleId,
    /// The most that the deciding limit admits at once.
    pub limit: u64,
    /// The time in which `limit` is admitted anew, in microseconds.
    pub window_us: u64,
    /// The most cost that would still be admitted now.
    pub remaining: u64,
    /// The shortest wait until the same cost fits, in microseconds; [`NEVER`](Self::NEVER) when it never can.
    pub retry_after_us: u64,
    /// Time until the key is as if never seen, in microseconds.
    pub reset_after_us: u64,
    // In another order than in a decision: in the same one the compiler would copy them as one word, and a processor waits
    // for that where they were written one by one.
    /// Who decided.
    pub source: Source,
    /// Whether the rule is in shadow.
    pub shadow: bool,
    /// Whether a rule in shadow would have denied.
    pub shadow_denied: bool,
    /// Whether the key is blocked.
    pub blocked: bool,
    /// Whether as many replicas as are asked for have what was charged.
    pub replicated: bool,
    /// Whether the cost was, or for a peek would be, admitted.
    pub allowed: bool,
}

impl<'a> RawDecision<'a> {
    /// A wait that never ends: longer than every other.
    pub const NEVER: u64 = u64::MAX;

    /// What a rule says about one key: its own limits alone.
    #[inline(always)]
    pub(crate) fn of<'b>(
        rule: &'a ReadyRule,
        limits: impl Iterator<Item = (&'b Policy, &'b Outcome)> + Clone,
        source: Source,
    ) -> Self {
        let fits = limits.clone().all(|(_, outcome)| outcome.fits);
        let deciding = limits.clone().min_by_key(|(_, outcome)| rank(fits, outcome));
        let figures = limits.clone().map(|(_, outcome)| outcome.figures);
        // A block is that of a key, and the same for all its limits.
        let blocked_for = limits.clone().next().map_or(0, |(_, outcome)| outcome.blocked_for.unsigned_abs());
        let is_blocked = blocked_for > 0;
        let waits = limits.map(|(_, outcome)| wait(outcome));
        let remaining = figures.clone().map(|figures| figures.remaining).min().unwrap_or(0);
        let reset_after = figures.map(|figures| figures.reset_after.unsigned_abs()).max().unwrap_or(0);
        let fits = fits && !is_blocked;
        let shadow = rule.rule.shadow;
        Self {
            allowed: fits || shadow,
            rule: &rule.rule.id,
            limit: deciding.as_ref().map_or(0, |(policy, _)| policy.most()),
            window_us: deciding.as_ref().map_or(0, |(policy, _)| policy.window().unsigned_abs()),
            remaining: if is_blocked { 0 } else { remaining },
            retry_after_us: waits.max().unwrap_or(0).max(blocked_for),
            reset_after_us: reset_after.max(blocked_for),
            blocked: is_blocked && !shadow,
            shadow_denied: shadow && !fits,
            shadow,
            source,
            replicated: false,
        }
    }
}

/// The order in which limits are reported: when denied, the one that refuses for the longest first;
/// else the one with the least left.
#[inline(always)]
fn rank(fits: bool, outcome: &Outcome) -> (bool, Reverse<u64>, u64) {
    if fits {
        (false, Reverse(0), outcome.figures.remaining)
    } else {
        (outcome.fits, Reverse(wait(outcome)), 0)
    }
}

#[inline(always)]
fn wait(outcome: &Outcome) -> u64 {
    outcome.figures.retry_after.map_or(RawDecision::NEVER, Micros::unsigned_abs)
}

impl From<RawDecision<'_>> for Decision {
    /// Not inline: inlined, the rule's name is copied twice, in other pieces than it was written in, and for that a
    /// processor waits longer than a call takes.
    #[inline(never)]
    fn from(raw: RawDecision<'_>) -> Self {
        Self {
            allowed: raw.allowed,
            rule: raw.rule.clone(),
            limit: raw.limit,
            window: span(raw.window_us),
            remaining: raw.remaining,
            retry_after: span(raw.retry_after_us),
            reset_after: span(raw.reset_after_us),
            blocked: raw.blocked,
            shadow_denied: raw.shadow_denied,
            shadow: raw.shadow,
            source: raw.source,
            replicated: raw.replicated,
            parts: Vec::new(),
        }
    }
}

/// Without the parts.
impl<'a> From<&'a Decision> for RawDecision<'a> {
    fn from(decision: &'a Decision) -> Self {
        Self {
            allowed: decision.allowed,
            rule: &decision.rule,
            limit: decision.limit,
            window_us: micros(decision.window),
            remaining: decision.remaining,
            retry_after_us: micros(decision.retry_after),
            reset_after_us: micros(decision.reset_after),
            blocked: decision.blocked,
            shadow_denied: decision.shadow_denied,
            shadow: decision.shadow,
            source: decision.source,
            replicated: decision.replicated,
        }
    }
}

#[inline(always)]
fn span(us: u64) -> Duration {
    if us == RawDecision::NEVER { Duration::MAX } else { Duration::from_micros(us) }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(RawDecision::NEVER)
}
