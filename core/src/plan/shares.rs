//! The same call by other policies: by a process's share of the limits.

use once_cell::race::OnceBox;

use super::{Charge, List, Plan};
use crate::algorithm::Policy;
use crate::regions::OnceRegion;
use std::borrow::Cow;

impl<'a> Plan<'a> {
    /// The same plan by the policies that `policy` gives; what has none is decided apart, and hinders nothing else.
    pub(crate) fn by(&self, policy: impl Fn(&Charge<'a>) -> Option<Policy>) -> Self {
        let mut groups = self.groups;
        let mut charges = List::with_capacity(self.charges.len());
        for charge in self.charges.iter() {
            let own = policy(charge);
            let group = if own.is_some() { charge.group } else { groups };
            groups += usize::from(own.is_none());
            charges.push(charge.by(own.map_or_else(|| charge.policy.clone(), Cow::Owned), group));
        }
        Self {
            charges,
            items: self.items.iter().cloned().collect(),
            holders: self.holders.clone(),
            recorded_keys: self.recorded_keys.iter().cloned().collect(),
            timeout: self.timeout,
            request: self.request.clone(),
            groups,
            is_counted: self.is_counted,
        }
    }
}

impl<'a> Plan<'a> {
    /// The same where `is_cut_off`: charged here, by this part of the limit, to states of their own.
    pub(crate) fn by_part(&self, part: f64, is_cut_off: impl Fn(&Charge<'a>) -> bool) -> Self {
        let mut plan = self.by(|charge| Some(charge.policy.as_ref().clone()));
        for (charge, stated) in plan.charges.iter_mut().zip(self.charges.iter()) {
            if is_cut_off(stated) {
                charge.policy = Cow::Owned(charge.part(part));
                (charge.is_part, charge.holder, charge.recorded_key) = (true, None, None);
            }
        }
        plan
    }
}

impl<'a> Charge<'a> {
    fn by(&self, policy: Cow<'a, Policy>, group: usize) -> Self {
        Self {
            rule: self.rule,
            limit: self.limit,
            policy,
            tag: self.tag.clone(),
            member: self.member.clone(),
            cost: self.cost,
            amount: self.amount,
            group,
            holder: self.holder,
            recorded_key: self.recorded_key,
            is_part: self.is_part,
            first_policy: OnceBox::new(),
            region: OnceRegion::default(),
            is_unheard: false,
        }
    }

    /// The policy of this share of the limit; `None` where that leaves less than 1.
    pub(crate) fn share(&self, share: f64) -> Option<Policy> {
        if share >= 1.0 {
            return Some(self.policy.as_ref().clone());
        }
        self.rule.share(self.limit, (self.policy.as_ref(), self.amount), share)
    }

    /// The policy of the part of a region.
    fn part(&self, part: f64) -> Policy {
        self.rule.part(self.limit, (self.policy.as_ref(), self.amount), part)
    }
}
