//! By whose limit a key is decided that several regions count: by that of the region in charge.

use std::sync::Arc;

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::plan::{Charge, Plan};
use crate::sequence::{look_terms_up, state_terms, stated_terms};

impl<D: Driver> ServerCalls<'_, D> {
    /// Puts a plan on the terms of the regions in charge, as far as they are known, and states the own ones. Nobody waits
    /// for that: until a region has answered, the own terms apply.
    #[inline(always)]
    pub(super) fn on_terms_in_charge(self, plan: &mut Plan<'_>) {
        if self.shared.wire.regions.is_some() {
            plan.charges.iter_mut().for_each(|charge| self.on_terms(charge));
        }
    }

    fn on_terms(self, charge: &mut Charge<'_>) {
        // A limit that the call brings is the same everywhere.
        if charge.rule.rule.global_us.is_none() || charge.amount.is_some() {
            return;
        }
        let (wire, stated) = (&self.shared.wire, &self.servers.stated);
        let (limit, now) = (charge.limit.number, self.shared.own_time());
        if stated.states(limit, charge.policy.terms(), now) {
            self.server.send_detached(state_terms(charge, &wire.prefix));
        }
        let Some(region) = wire.region_of(charge) else { return };
        let (theirs, is_due) = stated.of(region, limit, now);
        if is_due {
            let servers = Arc::downgrade(self.servers);
            let hear = move |reply| {
                if let (Some(servers), Ok(terms)) = (servers.upgrade(), stated_terms(reply)) {
                    servers.stated.heard(region, limit, terms);
                }
            };
            self.servers.at(Some(region)).send_then(look_terms_up(charge, &wire.prefix), Box::new(hear));
        }
        if let Some(theirs) = theirs {
            charge.put_on(theirs);
        }
    }
}
