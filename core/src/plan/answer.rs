//! From what each rule says to one decision.

use std::cmp::Reverse;
use std::time::Duration;

use super::{Charge, Item, Outcome, Plan, RawDecision, SmallList};
use crate::algorithm::Figures;
use crate::decision::{Decision, Origin, Source};

/// Whether a decision lists its parts.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The answer to a single check.
    Single,
    /// The answer to a list of checks.
    WithParts,
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
