//! A rule, made ready for deciding.

use std::borrow::Cow;
use std::hash::RandomState;
use std::sync::Arc;

use super::amount::refusal;
use super::beside::{self, Holds, KeyRecordPolicy, LimitNumber};
use super::naming::Naming;
use super::share::Share;
use super::suffix::suffix;
use crate::algorithm::{Amounts, KeyRecordChange, Micros, Policy, Span};
use crate::error::{Error, ErrorKind, Result};
use crate::metrics::RuleCounters;
use crate::rules::{Algorithm, LeaseTerms, Limit, MAX_BURST, MAX_LOG, MAX_WINDOW_US, Rule, Scope};

/// A rule with the policies of its limits.
#[derive(Debug)]
pub(crate) struct ReadyRule {
    pub(crate) rule: Arc<Rule>,
    pub(crate) limits: Vec<ReadyLimit>,
    /// Set where the rule has reservations.
    pub(crate) holds: Option<Holds>,
    /// Set where keys may be blocked, or have limits of their own.
    pub(crate) key_records: Option<KeyRecordPolicy>,
    /// The number of what stands, or stood before the rule was changed, beside the states of a key.
    pub(crate) key_record: LimitNumber,
    /// The number of the records of requests, as those of limits.
    pub(crate) requests: LimitNumber,
    /// Whether a denial may be remembered: it changes nothing, and ends by the passing of time alone, unless somebody gives back.
    pub(crate) remembers_denials: bool,
    /// How a process borrows units, of a rule that does not only look on.
    pub(crate) lease: Option<LeaseTerms>,
    /// Whether a limit counts a resource, so that a check has to name one.
    pub(crate) needs_resource: bool,
    pub(super) key: Naming,
    pub(super) resource: Naming,
    /// What is counted of it, also under earlier catalogs.
    pub(crate) counters: Arc<RuleCounters>,
    /// The part of every limit that this limiter may use; `rule` and `limits` are by this part.
    share: Share,
}

/// A limit with its policy.
#[derive(Debug)]
pub(crate) struct ReadyLimit {
    /// Identifies the limit, also in later catalogs.
    pub(crate) number: LimitNumber,
    pub(crate) policy: Policy,
    pub(crate) scope: Scope,
    /// The last part of the state's name: algorithm and window, so that state of one shape is never
    /// read as another.
    pub(crate) suffix: String,
}

/// The policy of a call, and the limit that the call brought in place of the rule's.
type CallPolicy<'a> = (&'a Policy, Option<u64>);

/// Whether a denial by a rule changes nothing, and ends by the passing of time alone.
pub(crate) fn remembers_denials(rule: &Rule) -> bool {
    let needs_resource = rule.limits.iter().any(|limit| limit.scope == Scope::Resource);
    let writes_denials = rule.count_denied || rule.block.is_some();
    !needs_resource && rule.lease_us.is_none() && !writes_denials
}

impl ReadyRule {
    pub(super) fn new(
        stated: &Arc<Rule>,
        share: Share,
        numbers: &RandomState,
        counters: Arc<RuleCounters>,
    ) -> Self {
        let rule = &share.of_rule(stated);
        let number = |suffix: &str| beside::number(numbers, &rule.id, suffix);
        let naming = |identifier| Naming::new(identifier, rule.ipv6_prefix_length);
        let limits = rule.limits.iter().map(|limit| {
            let suffix = suffix(rule, limit);
            let number = number(&suffix);
            ReadyLimit { number, policy: Policy::new(rule, limit, None), scope: limit.scope, suffix }
        });
        let needs_resource = rule.limits.iter().any(|limit| limit.scope == Scope::Resource);
        let holds = Holds::new(rule, number);
        Self {
            limits: limits.collect(),
            remembers_denials: remembers_denials(rule),
            lease: rule.lease.filter(|_| !rule.shadow),
            holds,
            key_records: KeyRecordPolicy::new(rule, number),
            key_record: number(KeyRecordPolicy::SUFFIX),
            requests: number("q"),
            needs_resource,
            key: naming(rule.identifier_type.as_ref()),
            resource: naming(rule.resource_identifier_type.as_ref()),
            rule: rule.clone(),
            counters,
            share,
        }
    }

    /// Whether the name of a state is made of the key alone, and nothing is held or stands beside the state.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        !self.needs_resource && self.holds.is_none() && self.key_records.is_none()
    }

    /// Whether a key that is [canonical](crate::keys::key::is_canonical) is stored as it is.
    #[inline(always)]
    pub(crate) fn keeps_keys(&self) -> bool {
        self.key.keeps()
    }

    /// The limit of a rule that has no other, which counts keys and beside whose states nothing stands, and how it is held.
    #[inline]
    pub(crate) fn held_alone(&self) -> Option<(&ReadyLimit, &Holds)> {
        match (self.limits.as_slice(), &self.holds) {
            ([limit], Some(holds)) if !self.needs_resource && self.key_records.is_none() => {
                Some((limit, holds))
            }
            _ => None,
        }
    }

    /// The policy of the rule's single limit for a call that gives another amount.
    pub(crate) fn with_limit(&self, amount: u64) -> Result<Policy> {
        let [stated] = self.rule.limits.as_slice() else {
            return Err(self.refused("a limit can be given only for a rule with a single limit"));
        };
        if let Some(reason) = refusal(&self.rule, stated, amount) {
            return Err(self.refused(&format!("limit {amount}: {reason}")));
        }
        Ok(self.with_stored(stated, self.share.of_amount(amount), self.burst()))
    }

    /// The same with a limit that was stored for a key, perhaps when the rule had another algorithm: one that this one
    /// could not count is the largest that it can.
    fn with_stored(&self, stated: &Limit, amount: u64, burst: Option<u64>) -> Policy {
        let amount = match self.rule.algorithm {
            Algorithm::SlidingLog { .. } => amount.min(MAX_LOG as u64),
            Algorithm::Gcra { .. } if burst.is_none() => amount.min(MAX_BURST),
            _ => amount,
        };
        let policy = self.limits.first().and_then(|limit| limit.policy.with_limit(amount));
        policy.unwrap_or_else(|| Policy::new(&self.with_burst(burst), stated, Some(amount)))
    }

    /// The policy of the rule's single limit where `stored` is in force; `None`: where that is 0. `burst` is the one that holds
    /// then, unless that is as much as the limit.
    pub(crate) fn policy_at(&self, stored: u64, burst: impl FnOnce() -> Option<u64>) -> Option<Policy> {
        let stated = self.rule.limits.first().filter(|_| stored > 0)?;
        Some(self.with_stored(stated, stored, burst()))
    }

    /// The burst, unless that is as much as the limit.
    pub(crate) fn burst(&self) -> Option<u64> {
        if let Algorithm::Gcra { burst, .. } = self.rule.algorithm { burst } else { None }
    }

    fn with_burst(&self, other: Option<u64>) -> Cow<'_, Rule> {
        if self.burst() == other {
            return Cow::Borrowed(&self.rule);
        }
        let mut rule = Rule::clone(&self.rule);
        if let Algorithm::Gcra { burst, .. } = &mut rule.algorithm {
            *burst = other;
        }
        Cow::Owned(rule)
    }

    /// What a rule would state that has the policy of a call: the call's own amount, or what the region in charge states.
    pub(crate) fn amounts(&self, limit: &ReadyLimit, (policy, amount): CallPolicy<'_>) -> Option<Amounts> {
        let stated = self.stated(limit)?;
        let is_other = amount.is_none() && policy.terms() != limit.policy.terms();
        let others = if is_other { policy.amounts(stated.window_us as Micros) } else { None };
        let whole = || amount.map_or(stated.limit, |amount| self.share.of_amount(amount) as f64);
        let others = others.map(|others| self.with_own_burst(others));
        others.or_else(|| Some(Amounts { limit: whole(), burst: self.burst() }))
    }

    /// Takes a burst that is as large as the limit, which terms do not tell from none, for the one that this rule states, if
    /// it is as large: a stored limit does not change it.
    fn with_own_burst(&self, others: Amounts) -> Amounts {
        let is_own = others.burst.is_none() && self.burst().is_some_and(|burst| burst as f64 == others.limit);
        if is_own { Amounts { burst: self.burst(), ..others } } else { others }
    }

    /// The policy of a share of that; `None` where it leaves less than 1. A burst is shared likewise, and at least 1.
    pub(crate) fn share(&self, limit: &ReadyLimit, terms: CallPolicy<'_>, share: f64) -> Option<Policy> {
        let amounts = Share::new(share).of_amounts(self.amounts(limit, terms)?);
        if amounts.limit >= 1.0 { self.with_amounts(limit, amounts) } else { None }
    }

    /// The same of the part of a region, which has at least 1.
    pub(crate) fn part(&self, limit: &ReadyLimit, terms: CallPolicy<'_>, part: f64) -> Policy {
        let amounts = self.amounts(limit, terms).map(|amounts| Share::new(part).of_amounts(amounts));
        let policy = amounts.and_then(|Amounts { limit: amount, burst }| {
            self.with_amounts(limit, Amounts { limit: amount.max(1.0), burst })
        });
        policy.unwrap_or_else(|| limit.policy.clone())
    }

    fn with_amounts(&self, limit: &ReadyLimit, amounts: Amounts) -> Option<Policy> {
        let stated = Limit { limit: amounts.limit, ..*self.stated(limit)? };
        Some(Policy::new(&self.with_burst(amounts.burst), &stated, None))
    }

    fn stated(&self, limit: &ReadyLimit) -> Option<&Limit> {
        let at = self.limits.iter().position(|known| std::ptr::eq(known, limit))?;
        self.rule.limits.get(at)
    }

    /// What a change by hand stores: of a limit, the part of this limiter.
    pub(crate) fn shared_change(&self, change: KeyRecordChange) -> KeyRecordChange {
        match change {
            KeyRecordChange::SetLimit(limit, span) => {
                KeyRecordChange::SetLimit(self.share.of_amount(limit), span)
            }
            change => change,
        }
    }

    /// Refuses a change by hand that the rule does not allow, or whose numbers make no sense.
    pub(crate) fn validate_change(&self, change: KeyRecordChange) -> Result<()> {
        let key_records = self.key_records.as_ref();
        let (is_allowed, field, value) = if change.is_block() {
            (key_records.is_some_and(|key_records| key_records.blocking.is_some()), "block", "{}")
        } else {
            (key_records.is_some_and(|key_records| key_records.overrides), "overrides", "true")
        };
        if !is_allowed {
            return Err(self.refused(&format!(
                "{} works with rules that have \"{field}\" (add \"{field}\": {value} to the rule)",
                change.name()
            )));
        }
        if let Some(limit) = change.limit() {
            self.with_limit(limit)?;
        }
        change.span().map_or(Ok(()), |(name, span)| self.validate_span(name, span))
    }

    fn validate_span(&self, name: &str, span: Span) -> Result<()> {
        if (1..=MAX_WINDOW_US).contains(&span.micros()) {
            return Ok(());
        }
        let seconds = span.seconds();
        let given = if seconds.abs() < 1e16 { seconds.to_string() } else { format!("{seconds:e}") };
        Err(self.refused(&format!(
            "{name} {given} seconds: must be from 0.000001 to 315360000 seconds (10 years)"
        )))
    }

    /// The error for a charge that no double could count.
    #[cold]
    pub(crate) fn overdrawn(&self, cost: f64) -> Error {
        self.refused(&format!(
            "cost {cost}: it would overdraw the limit by more than 2^53 units or microseconds"
        ))
    }

    /// The error for a call that takes no places, about a rule that counts nothing else.
    #[cold]
    pub(crate) fn takes_places(&self, method: &str, suffix: &str) -> Error {
        self.refused(&format!(
            "{method}{suffix} does not work with algorithm \"concurrency\" (use reserve{suffix})"
        ))
    }

    /// An `InvalidArgument` that names this rule.
    #[cold]
    pub(crate) fn refused(&self, reason: &str) -> Error {
        Error::new(ErrorKind::InvalidArgument, format!("rule \"{}\": {reason}", self.rule.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{MAX_MICROS, Rules};

    fn ready(fields: &str) -> ReadyRule {
        let rules = Rules::from_json(&format!(r#"[{{"rule_id": "a", {fields}}}]"#)).unwrap();
        let rule = Arc::new(rules.iter().next().unwrap().clone());
        ReadyRule::new(&rule, Share::default(), &RandomState::new(), Arc::default())
    }

    /// The policies of a part, and of a stored limit, where a rule is on the terms of another, and where it is the other one.
    fn parts(own: &str, theirs: &str, part: f64) -> [[Policy; 2]; 2] {
        let [own, theirs] = [own, theirs].map(ready);
        let [limit, other] = [&own.limits[0], &theirs.limits[0]];
        let policy = limit.policy.on_terms_of_rule(other.policy.terms()).unwrap();
        let of = |rule: &ReadyRule, limit: &ReadyLimit, policy: &Policy| {
            let burst = || rule.amounts(limit, (policy, None)).unwrap().burst;
            [rule.part(limit, (policy, None), part), rule.policy_at(7, burst).unwrap()]
        };
        [of(&own, limit, &policy), of(&theirs, other, &other.policy)]
    }

    #[test]
    fn what_is_made_of_the_terms_of_another_region_is_as_that_region_makes_it() {
        let window = r#""algorithm": "fixed_window", "window_size_seconds": 60, "limit""#;
        let window = |limit: u64| format!("{window}: {limit}");
        let rate = |limit: u64, rest: &str| format!(r#""rate": "{limit}/minute"{rest}"#);
        let burst = |burst: u64| format!(r#", "burst": {burst}"#);
        let uniform = r#", "algorithm": "uniform""#;
        let differing = [
            (window(10), window(4)),
            (window(10), window((1 << 53) - 1)),
            (rate(10, ""), rate(7, "")),
            (rate(10, ""), rate(999_999_937, "")),
            (rate(10, ""), rate(10, &burst(3))),
            (rate(10, &burst(5)), rate(1_000, &burst(30))),
            (rate(10, &burst(5)), rate(11, "")),
            (rate(20, &burst(10)), rate(10, &burst(10))),
            (rate(10, uniform), rate(23, uniform)),
            (rate(10, ""), rate(10, "")),
        ];
        for ((own, theirs), part) in
            differing.iter().flat_map(|pair| [0.29, 1.0 / 3.0, 0.5, 0.9].map(|part| (pair, part)))
        {
            let [put_on, made] =
                parts(own, theirs, part).map(|policies| policies.map(|policy| policy.terms()));
            assert_eq!(put_on, made, "{own}; {theirs}; {part}");
        }
    }

    #[test]
    fn a_stored_limit_that_is_too_large_for_the_rule_is_its_largest() {
        let most_at = |algorithm: &str, stored| {
            let rule = format!(
                r#""algorithm": {algorithm}, "limit": 1, "window_size_seconds": 60, "overrides": true"#
            );
            ready(&rule).policy_at(stored, || None).unwrap().most()
        };
        assert_eq!(most_at(r#""sliding_log""#, 100_000), 100_000);
        for log in [r#""sliding_log""#, r#""sliding_log", "structure": "sorted_set""#] {
            assert_eq!(most_at(log, MAX_MICROS - 1), 100_000);
        }
        assert_eq!(most_at(r#""gcra""#, MAX_MICROS - 1), 1 << 32);
        assert_eq!(most_at(r#""fixed_window""#, MAX_MICROS - 1), MAX_MICROS - 1);
    }
}
