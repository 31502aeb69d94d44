//! From what each limit says to one decision.

use std::cmp::Reverse;
use std::time::Duration;

use super::{Charge, Item, Outcome, Plan, SmallList, gather};
use crate::algorithm::{Figures, Micros, Policy};
use crate::catalog::ReadyRule;
use crate::decision::{Decision, Origin, Source};
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

/// Whether a decision lists its parts.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The answer to a single check.
    Single,
    /// The answer to a list of checks.
    WithParts,
}

impl<'a> Plan<'a> {
    /// What the rule of an item says; one outcome per charge of the plan.
    #[inline]
    pub(crate) fn raw_decision(
        &self,
        item: &Item<'a>,
        outcomes: &[Outcome],
        source: Source,
    ) -> RawDecision<'a> {
        let limits =
            gather(item.charges.iter().map(|&index| {
                (self.charges[index].policy_at(outcomes[index].stored_limit), &outcomes[index])
            }));
        let limits = limits.iter().map(|(policy, outcome)| (policy.as_ref(), *outcome));
        RawDecision::of(item.rule, limits, source)
    }
}

/// The decision for a whole call; one outcome per charge of the plan.
#[inline]
pub(crate) fn answer(plan: &Plan<'_>, outcomes: &[Outcome], origin: Origin, form: Form) -> Decision {
    let part = |item: &Item<'_>| {
        let raw = plan.raw_decision(item, outcomes, origin.source);
        let part = Decision::from(RawDecision { replicated: origin.is_replicated, ..raw });
        if plan.is_counted {
            item.rule.counters.decided(&part, plan.key_of(item), item.cost);
        }
        part
    };
    match (form, &*plan.items) {
        (Form::Single, [item]) => part(item),
        (_, items) => overall(plan, items.iter().map(part).collect()),
    }
}

/// The decision for a check of several items by what is said of each. `None`: of one that need not be asked about since another
/// is denied; it is shown as a key that was never seen, and not counted.
pub(crate) fn answer_of<'a>(plan: &Plan<'a>, said: &[Option<RawDecision<'a>>]) -> Decision {
    let parts = plan.items.iter().zip(said).map(|(item, said)| {
        let raw = said.unwrap_or_else(|| unseen(plan, item));
        Decision::from(raw)
    });
    let decision = overall(plan, parts.collect());
    for ((item, part), said) in plan.items.iter().zip(&decision.parts).zip(said) {
        // What would be admitted is not, where another one is denied.
        if said.is_some() && (decision.allowed || !part.allowed || part.shadow_denied) {
            item.rule.counters.decided(part, plan.key_of(item), item.cost);
        }
    }
    decision
}

/// What is said of a key that was never seen.
fn unseen<'a>(plan: &Plan<'a>, item: &Item<'a>) -> RawDecision<'a> {
    let outcome = |charge: &Charge<'_>| {
        let figures = Figures { remaining: charge.policy.most(), retry_after: Some(0), reset_after: 0 };
        Outcome { fits: true, figures, ..Outcome::NONE }
    };
    let outcomes: SmallList<Outcome> = plan.charges.iter().map(outcome).collect();
    plan.raw_decision(item, &outcomes, Source::Cache)
}

/// The deciding part, with the figures of all that count: rules in shadow only among themselves.
#[inline]
fn overall(plan: &Plan<'_>, parts: SmallList<Decision>) -> Decision {
    let in_shadow = |index: usize| plan.items[index].rule.rule.shadow;
    let all_shadow = (0..parts.len()).all(in_shadow);
    let counting = || parts.iter().enumerate().filter(|(index, _)| all_shadow || !in_shadow(*index));
    let fits = |part: &Decision| part.allowed && !part.shadow_denied;
    let admitted = counting().all(|(_, part)| fits(part));
    let rank = |(index, part): &(usize, &Decision)| {
        let priority = plan.items[*index].rule.rule.priority;
        if admitted {
            (false, Reverse(Duration::ZERO), part.remaining, priority)
        } else {
            (fits(part), Reverse(part.retry_after), 0, priority)
        }
    };
    let deciding = counting().min_by_key(rank).map_or(&parts[0], |(_, part)| part);
    let decision = Decision {
        allowed: admitted || all_shadow,
        remaining: counting().map(|(_, part)| part.remaining).min().unwrap_or(0),
        retry_after: counting().map(|(_, part)| part.retry_after).max().unwrap_or_default(),
        reset_after: counting().map(|(_, part)| part.reset_after).max().unwrap_or_default(),
        shadow_denied: parts.iter().any(|part| part.shadow_denied),
        ..deciding.clone()
    };
    Decision { parts: parts.into_vec(), ..decision }
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
