//! Reservations in memory under a rule with one limit, which need no plan.

use std::borrow::Cow;
use std::iter::once;
use std::time::Duration;

use smallvec::smallvec;

use super::memory::InMemory;
use super::shared::Shared;
use crate::algorithm::{HoldId, Lease, Policy};
use crate::catalog::{Catalog, Holds, ReadyLimit, ReadyRule};
use crate::decision::Source;
use crate::error::Result;
use crate::memory::SingleLimitKey;
use crate::plan::{End, Plan, RawDecision, ruled};
use crate::request::{Check, CheckOptions};
use crate::reservation::{Granted, Reservation, Ticket, TicketItem, fresh, is_surely_short};

/// A check of which the limit is alone in its rule.
pub(super) struct LoneCheck<'a> {
    rule: &'a ReadyRule,
    limit: &'a ReadyLimit,
    holds: &'a Holds,
    /// The key as it is stored.
    name: Cow<'a, str>,
    cost: u64,
    amount: Option<u64>,
}

impl<'a> LoneCheck<'a> {
    /// `None`: to reserve for the check takes a plan.
    #[inline(always)]
    pub(super) fn of(catalog: &'a Catalog, check: &Check<'a>, prefix: &str) -> Result<Option<Self>> {
        let rule = ruled(catalog, check)?;
        let Some((limit, holds)) = rule.held_alone() else { return Ok(None) };
        let name = catalog.key_name(rule, check.key);
        let is_short = is_surely_short(prefix, &rule.rule.id, &name);
        let CheckOptions { cost, limit: amount, .. } = check.options;
        Ok(is_short.then_some(Self { rule, limit, holds, name, cost, amount }))
    }

    /// What a ticket says of it.
    #[inline(always)]
    fn ticket_item(&self) -> TicketItem {
        TicketItem {
            places: smallvec![0],
            rule: self.rule.rule.id.as_str().into(),
            tag: self.name.as_ref().into(),
            member: None,
            cost: self.cost,
            limit: self.amount,
        }
    }
}

impl InMemory {
    /// Reserves for one check.
    pub(super) fn reserve_alone(&self, check: &LoneCheck<'_>, prefix: &str) -> Result<Reservation> {
        let &LoneCheck { rule, limit, holds, ref name, cost, amount } = check;
        let policy = policy(rule, limit, amount)?;
        let price = amount.filter(|_| policy.has_price()).map(|_| policy.price());
        let (id, lease) = (fresh()?, Lease { weight: cost as f64, counts: true, price });
        let lone = SingleLimitKey { limit, holds, policy: &policy, name };
        let (outcome, token) =
            self.with_single_limit(lone, |account| account.reserve(id, lease, rule.rule.shadow));
        let decision = RawDecision::of(rule, once((&*policy, &outcome)), Source::Memory).into();
        rule.counters.decided(&decision, name, cost);
        let Some(token) = token else { return Ok(Reservation::unheld(decision)) };
        let ticket = Ticket { id, prefix: prefix.into(), items: smallvec![check.ticket_item()] };
        let lease = Duration::from_micros(holds.lease.unsigned_abs());
        Ok(Reservation::new(decision, Some(Granted { ticket, token, lease })))
    }

    /// Ends or renews a reservation: whether it was held. `None`: that takes a plan.
    #[inline(always)]
    fn end_alone(
        &self,
        catalog: &Catalog,
        (ticket, costs): (&Ticket, &[u64]),
        end: End,
    ) -> Result<Option<bool>> {
        let ([TicketItem { rule, tag, member: None, limit: amount, .. }], &[cost]) =
            (ticket.items.as_slice(), costs)
        else {
            return Ok(None);
        };
        let rule = catalog.find(rule)?;
        let Some((limit, holds)) = rule.held_alone() else { return Ok(None) };
        let (policy, cost) = (policy(rule, limit, *amount)?, cost as f64);
        let lone = SingleLimitKey { limit, holds, policy: &policy, name: tag };
        let ended = self.with_single_limit(lone, |account| account.end(end, &ticket.id, cost));
        ended.map(Some).ok_or_else(|| rule.overdrawn(cost))
    }
}

impl Shared {
    /// Ends or renews a reservation in memory: whether it was held.
    pub(super) fn end_in_memory(
        &self,
        memory: &InMemory,
        catalog: &Catalog,
        (ticket, costs): (&Ticket, &[u64]),
        end: End,
    ) -> Result<bool> {
        let ended = memory.end_alone(catalog, (ticket, costs), end)?;
        match ended {
            Some(ended) if !ended || self.queue.is_idle() => Ok(ended),
            _ => {
                self.end_by_plan(memory, ended, &Plan::of_ticket(catalog, ticket, costs)?, (end, &ticket.id))
            }
        }
    }

    /// The same by a plan, or what is yet to be done of it when it `ended`.
    #[cold]
    fn end_by_plan(
        &self,
        memory: &InMemory,
        ended: Option<bool>,
        plan: &Plan<'_>,
        (end, id): (End, &HoldId),
    ) -> Result<bool> {
        let ended = ended.map_or_else(|| memory.end(plan, end, id), Ok)?;
        if ended {
            self.freed_by(plan, end);
        }
        Ok(ended)
    }
}

/// The policy of a rule's only limit for a call that may bring another amount.
#[inline]
fn policy<'a>(rule: &ReadyRule, limit: &'a ReadyLimit, amount: Option<u64>) -> Result<Cow<'a, Policy>> {
    match amount {
        None => Ok(Cow::Borrowed(&limit.policy)),
        Some(amount) => rule.with_limit(amount).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::effort::by_day;
    use crate::{CheckOptions, ManualClock, RateLimiter, Reservation, Rules, Usage};

    const ALGORITHMS: [&str; 7] = [
        r#""algorithm": "gcra", "limit": 5, "window_size_seconds": 10, "reservations": true"#,
        r#""algorithm": "fixed_window", "limit": 5, "window_size_seconds": 10, "reservations": true"#,
        r#""algorithm": "sliding_window", "limit": 5, "window_size_seconds": 10, "reservations": true"#,
        r#""algorithm": "sliding_log", "limit": 5, "window_size_seconds": 10, "reservations": true"#,
        r#""algorithm": "sliding_buckets", "limit": 5, "window_size_seconds": 10, "reservations": true"#,
        r#""algorithm": "decay", "limit": 5, "resolution_seconds": 10, "reservations": true"#,
        r#""algorithm": "concurrency", "limit": 5"#,
    ];

    /// Two limiters, of which the second needs plans: a limit might be stored for a key.
    fn limiters(fields: &str, clock: &ManualClock) -> [RateLimiter; 2] {
        ["", r#", "overrides": true"#].map(|more| {
            let rules = format!(r#"[{{"rule_id": "r", "lease_seconds": 5, {fields}{more}}}]"#);
            let rules = Rules::from_json(&rules).unwrap();
            RateLimiter::builder("memory://").rules(rules).clock(clock.clone()).build().unwrap()
        })
    }

    fn random(seed: &mut u64, below: u64) -> u64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    fn end(limiter: &RateLimiter, held: &Reservation, how: u64) -> bool {
        match how {
            0 => limiter.release(held),
            1 => limiter.renew(held),
            2 => limiter.commit(held, Usage::AsReserved),
            cost => limiter.commit(held, Usage::Cost(cost)),
        }
        .unwrap()
    }

    fn compare(fields: &str) {
        let clock = ManualClock::new(1_700_000_000_000_000);
        let limiters = limiters(fields, &clock);
        let (mut seed, mut all, mut denied, calls) = (7, Vec::new(), 0, by_day(3_000));
        for _ in 0..calls {
            match random(&mut seed, 50) {
                0 => clock.set_us(clock.now_us() - random(&mut seed, 4_000_000)),
                _ => clock.advance(Duration::from_micros(random(&mut seed, 1_500_000))),
            }
            let options = CheckOptions::new().cost(1 + random(&mut seed, 3));
            let limit = random(&mut seed, 30);
            let options = if (1..10).contains(&limit) { options.limit(limit) } else { options };
            let made = limiters.each_ref().map(|limiter| limiter.reserve_with("r", "k", options).unwrap());
            let shown = made.each_ref().map(|made| (format!("{:?}", made.decision()), made.token()));
            assert_eq!(shown[0], shown[1], "{fields}");
            denied += u32::from(!made[0].allowed || made[0].shadow_denied);
            all.push(made);
            let recent = all.len().min(8);
            let held = &all[all.len() - 1 - random(&mut seed, recent as u64) as usize];
            let how = random(&mut seed, 6);
            let ended = [0, 1].map(|at| end(&limiters[at], &held[at], how));
            assert_eq!(ended[0], ended[1], "{fields}");
            let seen = limiters.each_ref().map(|limiter| format!("{:?}", limiter.peek("r", "k").unwrap()));
            assert_eq!(seen[0], seen[1], "{fields}");
        }
        assert!((calls / 30..calls - calls / 30).contains(&denied), "{fields}: {denied} denied");
    }

    #[test]
    fn reservations_without_a_plan_are_those_with_one() {
        for fields in ALGORITHMS {
            compare(fields);
            compare(&format!("{fields}, \"shadow\": true"));
        }
    }
}
