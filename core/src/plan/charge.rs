//! What one call asks of one state.

use std::borrow::Cow;

use crate::algorithm::{Micros, Policy};
use crate::catalog::{LimitNumber, ReadyLimit, ReadyRule};
use crate::key;
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
}

/// What is held for a key, or a resource, of a rule, and what is asked of it.
#[derive(Debug)]
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

impl Charge<'_> {
    /// The name of the state in Redis.
    pub(crate) fn name(&self, prefix: &str) -> String {
        key::name(prefix, &self.rule.rule.id, &self.tag, self.member.as_deref(), &self.limit.suffix)
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
