//! What one call asks of one state.

use std::borrow::Cow;

use crate::algorithm::Policy;
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

    /// The name of the state among those of its limit. A brace ends the tag, for it is escaped inside one.
    pub(crate) fn local_name(&self) -> Cow<'_, str> {
        match &self.member {
            None => Cow::Borrowed(&self.tag),
            Some(member) => Cow::Owned(format!("{}}}{member}", self.tag)),
        }
    }
}
