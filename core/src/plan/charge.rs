//! What one call asks of one state.

use std::borrow::Cow;

use once_cell::race::OnceBox;

use crate::algorithm::{Blocking, Micros, Policy, Terms};
use crate::catalog::{KeyRecordPolicy, LimitNumber, ReadyLimit, ReadyRule};
use crate::keys::key;
use crate::regions::OnceRegion;
use crate::rules::Scope;

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

    /// The policy where this limit, if it is not 0, is stored for the key.
    #[inline]
    pub(crate) fn policy_at(&self, stored: u64) -> Cow<'_, Policy> {
        match self.rule.policy_at(stored).filter(|_| self.takes_stored()) {
            Some(policy) => Cow::Owned(policy),
            None => Cow::Borrowed(self.first_policy.get().unwrap_or(self.policy.as_ref())),
        }
    }

    /// Puts it on the terms of the region in charge; on none that make no sense.
    pub(crate) fn put_on(&mut self, terms: Terms) {
        if terms != self.policy.terms()
            && let Some(policy) = self.policy.on_terms(terms).filter(|policy| policy.most() > 0)
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
