//! By whose limit a key is decided that several regions count: by that of the region in charge.

use std::sync::Arc;

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::algorithm::Micros;
use crate::error::{Error, Result};
use crate::events::event;
use crate::plan::{Charge, Plan};
use crate::redis::CallDeadline;
use crate::regions::KnownTerms;
use crate::sequence::{located, look_terms_up, state_terms, stated_terms};
use crate::text::words::quote;

impl<D: Driver> ServerCalls<'_, D> {
    /// Puts a plan on the terms of the regions in charge, as far as they are known, and states the own ones. Nobody waits
    /// for that: among threads one that is made for it hears the answer, once in ten seconds for each rule. What has never been heard of a region is looked up once for all calls that need it.
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
                if let (Some(servers), Err(error)) = (servers.upgrade(), reply) {
                    servers.stated.lost(None, limit, &error);
                }
            };
            self.server.send_then(state_terms(charge, &wire.prefix), Box::new(hear));
        }
        let Some(region) = wire.region_of(charge) else { return };
        let (known, is_due) = stated.of(region, limit, now);
        if is_due {
            self.look_up(charge, region, now);
        }
        match known {
            KnownTerms::Heard(terms) => terms.into_iter().for_each(|terms| charge.put_on(terms)),
            KnownTerms::Awaited(terms) => charge.awaits = Some(terms),
        }
    }

    /// Looks up the terms of a region, and says so where they are other ones.
    fn look_up(self, charge: &Charge<'_>, region: usize, now: Micros) {
        let (wire, servers, server) =
            (&self.shared.wire, Arc::downgrade(self.servers), self.servers.at(Some(region)));
        let (limit, own, rule) =
            (charge.limit.number, charge.policy.as_ref().clone(), quote(&charge.rule.rule.id));
        let name = wire.regions.as_ref().map_or_else(String::new, |regions| quote(regions.name(region)));
        let hear = move |reply| {
            let Some(servers) = servers.upgrade() else { return };
            let terms = match stated_terms(reply) {
                Ok(terms) => terms.filter(|terms| own.on_terms_of_rule(*terms).is_some()),
                Err(error) => return servers.stated.lost(Some(region), limit, &error),
            };
            if servers.stated.heard(region, limit, (terms, own.terms()), now) {
                event!(
                    Warn,
                    limit_differs,
                    "rule {rule}: region {name} has another limit or burst, which applies to the keys that it is in charge of"
                );
            }
        };
        match server.usable() {
            Ok(()) => server.send_then(look_terms_up(charge, &wire.prefix), Box::new(hear)),
            Err(error) => hear(Err(error)),
        }
    }

    /// Whether a region in charge has yet to say its terms.
    #[inline(always)]
    pub(super) fn lacks_terms(self, plan: &Plan<'_>) -> bool {
        self.shared.wire.regions.is_some() && plan.charges.iter().any(|charge| charge.awaits.is_some())
    }

    /// Waits for the terms that a plan lacks. Answers the regions that cannot be asked, and why.
    pub(super) async fn hear_terms(
        self,
        plan: &mut Plan<'_>,
        deadline: CallDeadline,
    ) -> Option<(Vec<usize>, Error)> {
        let (mut cut_off, mut failure) = (Vec::new(), None);
        for index in 0..plan.charges.len() {
            let charge = &mut plan.charges[index];
            let Some(awaited) = charge.awaits.take() else { continue };
            let heard = self.server.wait_for(move |context| awaited.poll(context), deadline).await;
            match heard.unwrap_or_else(|| Err(deadline.error())) {
                Ok(terms) => terms.into_iter().for_each(|terms| charge.put_on(terms)),
                Err(error) => {
                    cut_off.extend(self.shared.wire.region_of(charge));
                    failure = Some(located(error.not_done(), plan, &[index], &self.shared.wire));
                }
            }
        }
        failure.map(|error| (cut_off, error))
    }
}
