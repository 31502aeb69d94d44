//! By whose limit a key is decided that several regions count: by that of the region in charge.

use std::sync::Arc;

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::servers::Servers;
use crate::algorithm::{Micros, Policy, Terms};
use crate::catalog::LimitNumber;
use crate::error::{Error, Result};
use crate::events::event;
use crate::plan::{Charge, Plan};
use crate::redis::CallDeadline;
use crate::sequence::{located, look_terms_up, state_terms, stated_terms};
use crate::text::words::quote;

/// What a region is asked about its terms.
struct Question {
    region: usize,
    limit: LimitNumber,
    own: Policy,
    /// For the log: the rule, and the region.
    names: [String; 2],
    asked_at: Micros,
}

impl<D: Driver> ServerCalls<'_, D> {
    /// Puts a plan on the terms of the regions in charge, as far as they are known, and states the own ones. Nobody waits
    /// for that: among threads one that is made for it hears the answer, once in ten seconds for each rule. What a region has
    /// never said is asked by each call that needs it: see `hear_terms`.
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
        match stated.of(region, limit, now) {
            Some((terms, is_due)) => {
                if is_due {
                    self.look_up_again(charge, region);
                }
                terms.into_iter().for_each(|terms| charge.put_on(terms));
            }
            None => charge.is_unheard = true,
        }
    }

    fn look_up_again(self, charge: &Charge<'_>, region: usize) {
        let (servers, question) = (Arc::downgrade(self.servers), self.question(charge, region));
        let hear = move |reply| {
            if let Some(servers) = servers.upgrade() {
                let _ = servers.hear(&question, reply);
            }
        };
        let call = look_terms_up(charge, &self.shared.wire.prefix);
        self.servers.at(Some(region)).send_then(call, Box::new(hear));
    }

    fn question(self, charge: &Charge<'_>, region: usize) -> Question {
        let name =
            self.shared.wire.regions.as_ref().map_or_else(String::new, |regions| quote(regions.name(region)));
        Question {
            region,
            limit: charge.limit.number,
            own: charge.policy.as_ref().clone(),
            names: [quote(&charge.rule.rule.id), name],
            asked_at: self.shared.own_time(),
        }
    }

    /// Whether a region in charge has yet to say its terms.
    #[inline(always)]
    pub(super) fn lacks_terms(self, plan: &Plan<'_>) -> bool {
        self.shared.wire.regions.is_some() && plan.charges.iter().any(|charge| charge.is_unheard)
    }

    /// Asks for the terms that a plan lacks, all regions at the same time. Answers those that cannot be asked, and why.
    pub(super) async fn hear_terms(
        self,
        plan: &mut Plan<'_>,
        deadline: CallDeadline,
    ) -> Option<(Vec<usize>, Error)> {
        let wire = &self.shared.wire;
        let (mut asked, mut asks) = (Vec::new(), Vec::new());
        for (index, charge) in plan.charges.iter().enumerate().filter(|(_, charge)| charge.is_unheard) {
            if let Some(region) = wire.region_of(charge) {
                asked.push((index, self.question(charge, region)));
                asks.push((region, look_terms_up(charge, &wire.prefix)));
            }
        }
        let (replies, _) = self.ask_all(asks, deadline).await;
        let (mut cut_off, mut failure) = (Vec::new(), None);
        for ((index, question), reply) in asked.into_iter().zip(replies) {
            match self.servers.hear(&question, reply) {
                Ok(terms) => terms.into_iter().for_each(|terms| plan.charges[index].put_on(terms)),
                Err(error) => {
                    cut_off.push(question.region);
                    failure = Some(located(error.not_done(), plan, &[index], wire));
                }
            }
        }
        failure.map(|error| (cut_off, error))
    }
}

impl<D: Driver> Servers<D> {
    /// Takes note of what a region has said, and logs where it differs. By one that is there and cannot say, the own
    /// terms apply, or what it said before.
    fn hear(&self, question: &Question, reply: Result<Value>) -> Result<Option<Terms>> {
        let &Question { region, limit, ref own, names: [ref rule, ref name], asked_at } = question;
        let terms = match stated_terms(reply) {
            Ok(terms) => terms.filter(|terms| own.on_terms_of_rule(*terms).is_some()),
            Err(error) if error.is_undecided() => {
                self.stated.lost(Some(region), limit);
                return Err(error);
            }
            Err(_) => {
                self.stated.refused(region, limit, asked_at);
                return Ok(None);
            }
        };
        if self.stated.heard(region, limit, (terms, own.terms()), asked_at) {
            event!(
                Warn,
                limit_differs,
                "rule {rule}: region {name} has another limit or burst, which applies to the keys that it is in charge of"
            );
        }
        Ok(terms)
    }
}
