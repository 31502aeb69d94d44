//! What one call does to one state.

use std::borrow::Cow;

use crate::algorithm::{Figures, Micros, Policy, State};
use crate::catalog::{ReadyLimit, ReadyRule};
use crate::key;

/// One state and what is asked of it.
#[derive(Debug)]
pub(crate) struct Charge<'a> {
    pub(crate) rule: &'a ReadyRule,
    pub(crate) limit: &'a ReadyLimit,
    pub(crate) policy: Cow<'a, Policy>,
    pub(crate) tag: Cow<'a, str>,
    /// The key, where the tag is a resource and the limit counts keys.
    pub(crate) member: Option<Cow<'a, str>>,
    pub(crate) cost: f64,
    /// The limit given for this call instead of the rule's.
    pub(crate) amount: Option<u64>,
    /// Decided together with the others of its group.
    pub(crate) group: usize,
}

impl Charge<'_> {
    /// The name of the state in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), &self.limit.suffix)
    }

    /// The name of the state among those of its limit.
    pub(crate) fn local_name(&self) -> Cow<'_, str> {
        local_name(&self.tag, self.member.as_ref())
    }
}

/// A brace ends the tag, for it is escaped inside one.
pub(super) fn local_name<'a>(tag: &'a str, member: Option<&Cow<'_, str>>) -> Cow<'a, str> {
    member.map_or(Cow::Borrowed(tag), |member| Cow::Owned(format!("{tag}}}{member}")))
}

/// What is done with a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Check,
    Peek,
    Refund,
}

/// What came of one charge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Whether this limit had room for the cost.
    pub(crate) fits: bool,
    pub(crate) figures: Figures,
    /// Whether the state is another one than before.
    pub(crate) changed: bool,
}

/// Carries out an operation on a state and says how it stands then. `permitted` is whether all the
/// limits that are decided together have room; a refusal is charged only where denied costs count.
pub(crate) fn settle_up(
    policy: &Policy,
    state: &mut State,
    now: Micros,
    cost: f64,
    op: Op,
    permitted: bool,
) -> Outcome {
    let healed = policy.is_ahead(state, now);
    if healed {
        policy.settle(state, now);
    }
    if op == Op::Refund {
        policy.refund(state, now, cost, None);
    }
    let fits = policy.fits(state, now, cost);
    let outcome = conclude(
        policy,
        state,
        now,
        cost,
        Verdict { fits, charged: op == Op::Check && charges(policy, fits, permitted) },
    );
    Outcome { changed: healed || outcome.changed || op == Op::Refund, ..outcome }
}

/// Whether a check is charged: where it fits, if all that is decided together fits; where it does not,
/// only if denied costs count.
pub(crate) fn charges(policy: &Policy, fits: bool, permitted: bool) -> bool {
    if fits { permitted } else { policy.counts_denied() }
}

/// What was decided about one limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) fits: bool,
    pub(crate) charged: bool,
}

/// Charges a settled state as decided, and says how it stands then.
pub(crate) fn conclude(
    policy: &Policy,
    state: &mut State,
    now: Micros,
    cost: f64,
    verdict: Verdict,
) -> Outcome {
    if verdict.charged {
        policy.charge(state, now, cost);
    }
    let figures = policy.figures(state, now, cost, verdict.fits);
    Outcome { fits: verdict.fits, figures, changed: verdict.charged }
}
