//! What one item of a call is about, and what it asks of which states.

use std::borrow::Cow;

use once_cell::race::OnceBox;

use super::repeat;
use crate::algorithm::{Blocking, Micros, Policy, Terms};
use crate::catalog::{Catalog, KeyRecordPolicy, LimitNumber, ReadyLimit, ReadyRule};
use crate::error::Result;
use crate::keys::key;
use crate::regions::OnceRegion;
use crate::request::{Check, CheckOptions};
use crate::reservation::TicketItem;
use crate::rules::{MAX_MICROS, Scope};
use crate::time::timeout::validate_time;

/// A check that can be acted upon: its rule exists and its arguments make sense.
#[derive(Debug, Clone)]
pub(super) struct Target<'a> {
    pub(super) rule: &'a ReadyRule,
    pub(super) tag: Cow<'a, str>,
    /// The key, where the tag is a resource.
    pub(super) member: Option<Cow<'a, str>>,
    pub(super) cost: f64,
    /// What is, or was, reserved.
    pub(super) weight: f64,
    pub(super) limit: Option<u64>,
}

/// The rule of a check; an error if there is none, or if the other arguments make no sense. Of several mistakes the
/// first of these is reported, in every language: rule, key, cost, timeout, resource, limit, request id.
#[inline(always)]
pub(crate) fn ruled<'a>(catalog: &'a Catalog, check: &Check<'_>) -> Result<&'a ReadyRule> {
    let rule = catalog.find(check.rule)?;
    let options = &check.options;
    if check.key.is_empty() {
        return Err(rule.refused("the key is empty; it has to say who is counted"));
    }
    if options.cost == 0 || options.cost >= MAX_MICROS {
        return Err(rule.refused(&format!("cost {}: must be at least 1 and below 2^53", options.cost)));
    }
    if let Some(timeout) = options.timeout {
        validate_time("timeout", timeout).map_err(|error| rule.refused(error.message()))?;
    }
    if options.request_id.is_some() {
        return Err(repeat::not_repeatable(rule));
    }
    match (options.resource, rule.needs_resource) {
        (None, false) => Ok(rule),
        (Some(""), true) => Err(rule.refused("the resource is empty")),
        (Some(_), true) => Ok(rule),
        (None, true) => Err(rule.refused("resource is missing: the rule has a limit of scope \"resource\"")),
        (Some(_), false) => {
            Err(rule.refused("resource is not allowed: no limit of the rule has scope \"resource\""))
        }
    }
}

impl<'a> Target<'a> {
    #[inline]
    pub(super) fn new(catalog: &'a Catalog, check: &Check<'a>) -> Result<Self> {
        let rule = ruled(catalog, check)?;
        let Check { key, options: CheckOptions { cost, resource, limit, .. }, .. } = *check;
        let (tag, member) = match resource {
            None => (catalog.key_name(rule, key), None),
            Some(resource) => (catalog.resource_name(rule, resource), Some(catalog.key_name(rule, key))),
        };
        Ok(Self { rule, tag, member, cost: cost as f64, weight: cost as f64, limit })
    }

    /// One whose key and resource are stored names already.
    #[inline]
    pub(super) fn stored(catalog: &'a Catalog, item: &'a TicketItem, cost: u64) -> Result<Self> {
        let rule = catalog.find(&item.rule)?;
        if rule.holds.is_none() {
            return Err(rule.refused(
                "it no longer has reservations, so none can be ended (add \"reservations\": true again)",
            ));
        }
        if item.member.is_some() != rule.needs_resource {
            return Err(
                rule.refused("whether it limits a resource was changed since the reservation was made")
            );
        }
        let member = item.member.as_deref().map(Cow::Borrowed);
        let (tag, weight) = (Cow::Borrowed(item.tag.as_str()), item.cost as f64);
        Ok(Self { rule, tag, member, cost: cost as f64, weight, limit: item.limit })
    }

    #[inline]
    pub(super) fn member(&self, scope: Scope) -> Option<&Cow<'a, str>> {
        if scope == Scope::Key { self.member.as_ref() } else { None }
    }

    /// One for each scope that the rule has.
    #[inline]
    pub(super) fn holders(&self, group: usize) -> impl Iterator<Item = Holder<'a>> {
        let rule = self.rule;
        rule.holds.iter().flat_map(move |holds| {
            holds.scopes().map(move |(scope, number, suffix)| Holder {
                rule,
                lease: holds.lease,
                number,
                scope,
                suffix,
                tag: self.tag.clone(),
                member: self.member(scope).cloned(),
                weight: self.weight,
                group,
            })
        })
    }

    /// What may stand beside the states of the key.
    #[inline]
    pub(super) fn recorded_key(&self) -> Option<RecordedKey<'a>> {
        let rule = self.rule;
        rule.key_records.as_ref().map(|key_records| RecordedKey { rule, key_records, tag: self.tag.clone() })
    }

    /// `holders` are the places of the rule's own among `all`; `recorded_key` is that of the key.
    #[inline]
    pub(super) fn charge(
        &self,
        limit: &'a ReadyLimit,
        group: usize,
        (holders, all): (&[usize], &[Holder<'a>]),
        recorded_key: Option<usize>,
    ) -> Result<Charge<'a>> {
        let policy = match self.limit {
            None => Cow::Borrowed(&limit.policy),
            Some(amount) => Cow::Owned(self.rule.with_limit(amount)?),
        };
        Ok(Charge {
            rule: self.rule,
            limit,
            policy,
            tag: self.tag.clone(),
            member: self.member(limit.scope).cloned(),
            cost: self.cost,
            amount: self.limit,
            group,
            holder: holders.iter().copied().find(|&holder| all[holder].scope == limit.scope),
            recorded_key,
            is_part: false,
            first_policy: OnceBox::new(),
            region: OnceRegion::default(),
            is_unheard: false,
        })
    }
}

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
    /// What is held of it, as an index of the plan's.
    pub(crate) holder: Option<usize>,
    /// What may stand beside it, as an index of the plan's.
    pub(crate) recorded_key: Option<usize>,
    /// Whether this region decides by its part, as it cannot reach the one in charge.
    pub(crate) is_part: bool,
    /// Which region is in charge of it.
    pub(crate) region: OnceRegion,
    /// Whether that region has yet to say its terms.
    pub(crate) is_unheard: bool,
    /// The policy of the first call, where this one repeats it and the rule was changed in between.
    pub(super) first_policy: OnceBox<Policy>,
}

/// What is held for a key, or a resource, of a rule, and what is asked of it.
#[derive(Debug, Clone)]
pub(crate) struct Holder<'a> {
    pub(crate) rule: &'a ReadyRule,
    pub(crate) lease: Micros,
    /// Its number, as those of limits.
    pub(crate) number: LimitNumber,
    pub(crate) scope: Scope,
    pub(super) suffix: &'static str,
    pub(crate) tag: Cow<'a, str>,
    pub(crate) member: Option<Cow<'a, str>>,
    pub(crate) weight: f64,
    pub(crate) group: usize,
}

impl Holder<'_> {
    /// The name of the set in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), self.suffix)
    }

    /// The name among those of its number.
    #[inline]
    pub(crate) fn local_name(&self) -> Cow<'_, str> {
        local_name(&self.tag, self.member.as_deref())
    }
}

/// One key of a rule beside whose states something may stand: a block, or a limit of its own.
#[derive(Debug, Clone)]
pub(crate) struct RecordedKey<'a> {
    pub(crate) rule: &'a ReadyRule,
    pub(crate) key_records: &'a KeyRecordPolicy,
    pub(crate) tag: Cow<'a, str>,
}

impl RecordedKey<'_> {
    /// How the key is blocked.
    pub(crate) fn blocking(&self) -> Blocking {
        self.key_records.blocking.unwrap_or_default()
    }

    /// The name in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, &self.tag, None, KeyRecordPolicy::SUFFIX)
    }

    /// The name among those of its number.
    pub(crate) fn local_name(&self) -> Cow<'_, str> {
        local_name(&self.tag, None)
    }
}

/// What may stand beside the states of a key although its rule has neither blocks nor stored limits: it had them once.
#[derive(Debug)]
pub(crate) struct Stranded<'a> {
    rule: &'a ReadyRule,
    tag: &'a str,
}

impl<'a> Stranded<'a> {
    /// That of the key of a charge.
    pub(super) fn of(charge: &'a Charge<'_>) -> Option<Self> {
        let rule = charge.rule;
        (rule.key_records.is_none() && !rule.needs_resource).then_some(Self { rule, tag: &charge.tag })
    }

    /// The name in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, self.tag, None, KeyRecordPolicy::SUFFIX)
    }

    /// Its number, as those of limits, and the name among those of that number.
    pub(crate) fn local_name(&self) -> (LimitNumber, &str) {
        (self.rule.key_record, self.tag)
    }
}

impl Charge<'_> {
    /// Whether a limit that is stored for the key takes the place of the rule's.
    pub(crate) fn takes_stored(&self) -> bool {
        self.amount.is_none()
            && self.rule.key_records.as_ref().is_some_and(|key_records| key_records.overrides)
    }

    /// The burst where another limit takes the place of the rule's; `None`: as much as that limit.
    pub(crate) fn burst(&self) -> Option<u64> {
        self.rule.amounts(self.limit, (self.policy.as_ref(), self.amount))?.burst
    }

    /// The policy where this limit, if it is not 0, is stored for the key.
    #[inline]
    pub(crate) fn policy_at(&self, stored: u64) -> Cow<'_, Policy> {
        match self.rule.policy_at(stored, || self.burst()).filter(|_| self.takes_stored()) {
            Some(policy) => Cow::Owned(policy),
            None => Cow::Borrowed(self.first_policy.get().unwrap_or(self.policy.as_ref())),
        }
    }

    /// Puts it on the terms of the region in charge; on none that make no sense.
    pub(crate) fn put_on(&mut self, terms: Terms) {
        if terms != self.policy.terms()
            && let Some(policy) = self.policy.on_terms_of_rule(terms)
        {
            self.policy = Cow::Owned(policy);
        }
    }

    /// Takes note that the answer is that of an earlier call, on these terms. Whether they are those of a limit.
    pub(crate) fn answered_on(&self, terms: Terms) -> bool {
        if terms == self.policy.terms() {
            return true;
        }
        let policy = self.policy.on_terms(terms);
        policy.is_some_and(|policy| self.first_policy.set(Box::new(policy)).is_ok())
    }

    /// How long what is held counts at most once it is charged: by the rule's own limit, too, under which another call may
    /// charge it.
    #[inline]
    pub(crate) fn longest(&self) -> Micros {
        self.policy.longest_by(&self.limit.policy)
    }

    /// The name of the state in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        if self.is_part {
            return self.named(prefix, &format!("part-{}", self.limit.suffix));
        }
        self.named(prefix, &self.limit.suffix)
    }

    /// The name of what this region was lent of it.
    pub(crate) fn name_of_allotment(&self, prefix: &str) -> String {
        self.named(prefix, &format!("lent-{}", self.limit.suffix))
    }

    /// The name of what a region states of the limit: its terms.
    pub(crate) fn name_of_terms(&self, prefix: &str) -> String {
        let rule = &self.rule.rule.id;
        key::name(prefix, rule, &key::canonical(rule), None, &format!("terms-{}", self.limit.suffix))
    }

    fn named(&self, prefix: &str, suffix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), suffix)
    }

    /// The name of the state among those of its limit. A brace ends the tag, for it is escaped inside one.
    #[inline]
    pub(crate) fn local_name(&self) -> Cow<'_, str> {
        local_name(&self.tag, self.member.as_deref())
    }
}

#[inline]
fn local_name<'a>(tag: &'a str, member: Option<&str>) -> Cow<'a, str> {
    match member {
        None => Cow::Borrowed(tag),
        Some(member) => Cow::Owned(format!("{tag}}}{member}")),
    }
}
