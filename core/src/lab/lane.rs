//! One strategy: a rule alone on an engine of its own, with the calls that come to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use super::observer::{Observer, Record};
use super::options::Options;
use super::tally::{Counted, Tally};
use super::traffic::{Answer, Due, Flow, Traffic};
use crate::clock::ManualClock;
use crate::error::Result;
use crate::limiter::RateLimiter;
use crate::request::CheckOptions;
use crate::rules::{Rule, Rules, Scope};

/// A rule during a run; times are microseconds since the beginning of the run.
pub(super) struct Lane<'a> {
    number: usize,
    rule: &'a Arc<Rule>,
    needs_resource: bool,
    limiter: RateLimiter,
    /// What is the time; without it, the limiter's own clock.
    clock: Option<ManualClock>,
    start_us: u64,
    flows: Vec<Flow<'a>>,
    queue: BinaryHeap<Reverse<Event>>,
    /// Calls that come at once come in the order in which they were made.
    made: u64,
    pub(super) tally: Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_us: u64,
    made: u64,
    flow: u32,
    caller: u32,
}

impl<'a> Lane<'a> {
    pub(super) fn new(
        number: usize,
        rule: &'a Arc<Rule>,
        rules: &Rules,
        traffic: &'a Traffic,
        options: &Options,
        tally: Tally,
    ) -> Result<Self> {
        let clock = (!options.real_time).then(|| ManualClock::new(options.start_us));
        let mut builder = RateLimiter::builder(&options.url).rules(rules.clone());
        if let Some(clock) = &clock {
            builder = builder.clock(clock.clone());
        }
        if let Some(prefix) = &options.prefix {
            builder = builder.prefix(prefix);
        }
        let mut lane = Self {
            number,
            rule,
            needs_resource: rule.limits.iter().any(|limit| limit.scope == Scope::Resource),
            limiter: builder.build()?,
            clock,
            start_us: options.start_us,
            flows: traffic.flows(&rule.id, options.seed, options.start_us),
            queue: BinaryHeap::new(),
            made: 0,
            tally,
        };
        for flow in 0..lane.flows.len() {
            for (at_us, caller) in lane.flows[flow].begin() {
                lane.push(at_us, flow as u32, caller);
            }
        }
        Ok(lane)
    }

    fn push(&mut self, at_us: u64, flow: u32, caller: u32) {
        self.made += 1;
        self.queue.push(Reverse(Event { at_us, made: self.made, flow, caller }));
    }

    /// When the next call comes.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.queue.peek().map(|event| event.0.at_us)
    }

    /// Makes the next call, which is made at `now_us`.
    pub(super) fn step(&mut self, now_us: u64, observer: &mut impl Observer) -> Result<()> {
        let Some(Reverse(Event { flow, caller, .. })) = self.queue.pop() else { return Ok(()) };
        if let Some(clock) = &self.clock {
            clock.set_us(self.start_us + now_us);
        }
        let due = self.flows[flow as usize].due(caller, now_us);
        let answer = self.check(due, now_us, observer)?;
        let reaction = self.flows[flow as usize].react(caller, now_us, answer);
        if let Some(next_us) = reaction.next_us {
            self.push(next_us, flow, caller);
        }
        if let Some(waited_us) = reaction.waited_us {
            self.tally.waits.add(waited_us);
        }
        Ok(())
    }

    fn check(&mut self, due: Due<'_>, now_us: u64, observer: &mut impl Observer) -> Result<Answer> {
        let Due { key, cost, resource } = due;
        let mut options = CheckOptions::new().cost(cost);
        if self.needs_resource {
            options = options.resource(resource);
        }
        let decision = self.limiter.check_with(&self.rule.id, key, options)?;
        // A rule in shadow is looked at for what it would do.
        let admitted = decision.allowed && !decision.shadow_denied;
        let resource = options.resource.unwrap_or_default();
        self.tally.add(&Counted { at_us: now_us, key, resource, cost, admitted, denied: !admitted });
        observer.decided(&Record {
            strategy: self.number,
            rule: &self.rule.id,
            at_us: self.start_us + now_us,
            key,
            resource: options.resource,
            cost,
            admitted,
            remaining: decision.remaining,
            retry_after: decision.retry_after,
        });
        let wait = decision.retry_after;
        let retry_after_us = (wait != Duration::MAX).then_some(wait.as_micros() as u64);
        Ok(Answer { admitted, retry_after_us })
    }
}
