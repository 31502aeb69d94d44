//! What one item of a call is about.

use std::borrow::Cow;

use once_cell::race::OnceBox;

use super::charge::{Charge, Holder, RecordedKey};
use super::repeat;
use crate::catalog::{Catalog, ReadyLimit, ReadyRule};
use crate::error::Result;
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
        })
    }
}
