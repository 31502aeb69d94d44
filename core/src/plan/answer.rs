//! From what each limit says to one decision.

use std::cmp::Reverse;
use std::time::Duration;

use super::{Few, Item, Outcome, Plan};
use crate::algorithm::{Micros, Policy};
use crate::catalog::ReadyRule;
use crate::decision::{Decision, Source};

/// Whether a decision lists its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The answer to a single check.
    Single,
    /// The answer to a list of checks.
    WithParts,
}

/// The decision for a whole call; one outcome per charge of the plan.
pub(crate) fn answer(plan: &Plan<'_>, outcomes: &[Outcome], source: Source, form: Form) -> Decision {
    let of_item = |item: &Item<'_>| {
        let limits =
            item.charges.iter().map(|&index| (plan.charges[index].policy.as_ref(), &outcomes[index]));
        answer_one(item.rule, limits, source)
    };
    let mut parts: Few<_> = plan.items.iter().map(of_item).collect();
    if form == Form::Single && parts.len() == 1 {
        return parts.remove(0);
    }
    overall(plan, parts)
}

/// The decision of one rule for one key: its own limits alone.
#[inline]
pub(crate) fn answer_one<'a>(
    rule: &ReadyRule,
    limits: impl Iterator<Item = (&'a Policy, &'a Outcome)> + Clone,
    source: Source,
) -> Decision {
    let fits = limits.clone().all(|(_, outcome)| outcome.fits);
    let deciding = limits.clone().min_by_key(|(_, outcome)| rank(fits, outcome));
    let figures = limits.map(|(_, outcome)| outcome.figures);
    let shadow = rule.rule.shadow;
    Decision {
        allowed: fits || shadow,
        rule: rule.rule.id.clone(),
        limit: deciding.as_ref().map_or(0, |(policy, _)| policy.most()),
        window: deciding.as_ref().map(|(policy, _)| span(policy.window())).unwrap_or_default(),
        remaining: figures.clone().map(|figures| figures.remaining).min().unwrap_or(0),
        retry_after: figures.clone().map(|figures| wait(figures.retry_after)).max().unwrap_or_default(),
        reset_after: figures.map(|figures| span(figures.reset_after)).max().unwrap_or_default(),
        shadow_denied: shadow && !fits,
        shadow,
        source,
        parts: Vec::new(),
    }
}

/// The order in which limits are reported: when denied, the one that refuses for the longest first;
/// else the one with the least left.
fn rank(fits: bool, outcome: &Outcome) -> (bool, Reverse<Duration>, u64) {
    let figures = &outcome.figures;
    if fits {
        (false, Reverse(Duration::ZERO), figures.remaining)
    } else {
        (outcome.fits, Reverse(wait(figures.retry_after)), 0)
    }
}

/// The deciding part, with the figures of all that count: rules in shadow only among themselves.
fn overall(plan: &Plan<'_>, parts: Few<Decision>) -> Decision {
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

fn wait(retry_after: Option<Micros>) -> Duration {
    retry_after.map_or(Duration::MAX, span)
}

fn span(us: Micros) -> Duration {
    Duration::from_micros(us.unsigned_abs())
}
