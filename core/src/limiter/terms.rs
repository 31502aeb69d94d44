//! By whose limit a key is decided that several regions count: by that of the region in charge.

use std::sync::Arc;

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::algorithm::Micros;
use crate::error::Result;
use crate::events::event;
use crate::plan::{Charge, Plan};
use crate::sequence::{look_terms_up, state_terms, stated_terms};
use crate::text::words::quote;

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
            let servers = Arc::downgrade(self.servers);
            let hear = move |reply: Result<Value>| {
                if let (Some(servers), Err(_)) = (servers.upgrade(), reply) {
                    servers.stated.lost(None, limit);
                }
            };
            self.server.send_then(state_terms(charge, &wire.prefix), Box::new(hear));
        }
        let Some(region) = wire.region_of(charge) else { return };
        let (theirs, is_due) = stated.of(region, limit, now);
        if is_due {
            self.look_up(charge, region, now);
        }
        if let Some(theirs) = theirs {
            charge.put_on(theirs);
        }
    }

    /// Looks up the terms of a region, and says so where they are other ones.
    fn look_up(self, charge: &Charge<'_>, region: usize, now: Micros) {
        let (wire, servers) = (&self.shared.wire, Arc::downgrade(self.servers));
        let (limit, own, rule) =
            (charge.limit.number, charge.policy.as_ref().clone(), quote(&charge.rule.rule.id));
        let name = wire.regions.as_ref().map_or_else(String::new, |regions| quote(regions.name(region)));
        let hear = move |reply| {
            let Some(servers) = servers.upgrade() else { return };
            let Ok(terms) = stated_terms(reply) else { return servers.stated.lost(Some(region), limit) };
            let terms = terms.filter(|terms| own.on_terms_of_rule(*terms).is_some());
            if servers.stated.heard(region, limit, (terms, own.terms()), now) {
                event!(
                    Warn,
                    limit_differs,
                    "rule {rule}: region {name} has another limit or burst, which applies to the keys that it is in charge of"
                );
            }
        };
        self.servers.at(Some(region)).send_then(look_terms_up(charge, &wire.prefix), Box::new(hear));
    }
}
