//! What all scripts of a limiter have in common.

use std::sync::Arc;

use crate::algorithm::Micros;
use crate::plan::{Charge, Plan};
use crate::regions::RegionMap;
use crate::rules::Rule;

/// What all calls of a limiter on a server have in common.
#[derive(Debug, Clone)]
pub(crate) struct CallSettings {
    pub(crate) prefix: String,
    /// Whether keys of different hash slots need calls of their own.
    pub(crate) cluster: bool,
    /// The same of the near server's, for a script that touches no other.
    pub(crate) near_cluster: bool,
    /// The time that a call may take unless it says otherwise, in microseconds.
    pub(crate) default_timeout: Micros,
    /// How long the answer to a request is kept.
    pub(crate) request_lifetime: Micros,
    /// Over which limits may hold.
    pub(crate) regions: Option<Arc<RegionMap>>,
}

impl CallSettings {
    /// Whether one script may touch all that a plan does: a single server does not mind slots.
    #[inline(always)]
    pub(super) fn take_one_script(&self, plan: &Plan<'_>) -> bool {
        plan.charges.len() == 1 || !self.cluster && self.regions.is_none()
    }

    /// The place of the region in charge of what is charged, where that is another one.
    #[inline(always)]
    pub(crate) fn region_of(&self, charge: &Charge<'_>) -> Option<usize> {
        if self.regions.is_none() || charge.is_part {
            return None;
        }
        charge.region.get_or(|| self.region_of_key(&charge.rule.rule, &charge.tag))
    }

    /// That of a call about one key.
    pub(crate) fn region_of_call(&self, plan: &Plan<'_>) -> Option<usize> {
        match (plan.charges.first(), plan.recorded_keys.first()) {
            (Some(charge), _) => self.region_of(charge),
            (None, Some(key)) => self.region_of_key(&key.rule.rule, &key.tag),
            (None, None) => None,
        }
    }

    #[inline(always)]
    fn region_of_key(&self, rule: &Rule, tag: &str) -> Option<usize> {
        let regions = self.regions.as_ref().filter(|_| rule.global_us.is_some())?;
        regions.elsewhere(&rule.id, tag)
    }
}
