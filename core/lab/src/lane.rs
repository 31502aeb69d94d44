//! One strategy: a rule alone on an engine of its own, with the calls that come to it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sluicegate::rules::{Algorithm, Rule, Rules, Scope};
use sluicegate::{CheckOptions, Decision, ManualClock, RateLimiter, Reservation, Result};

use super::fleet::{Fleet, Verdict};
use super::observer::{Observer, Record};
use super::options::Options;
use super::tally::{CountedCall, Tally};
use super::traffic::{CallResult, DueCall, Flow, Traffic};

/// What an admitted call holds while it is under way.
struct HeldByCall<'a> {
    reservation: Reservation,
    key: &'a str,
    resource: &'a str,
    cost: u64,
}

/// A rule during a run; times are microseconds since the beginning of the run.
pub(super) struct RuleRun<'a> {
    /// Its place among the strategies.
    pub(super) number: usize,
    rule: &'a Arc<Rule>,
    needs_resource: bool,
    limiter: RateLimiter,
    /// Decide instead of the limiter.
    fleet: Option<Fleet<'a>>,
    /// What is the time; without it, the limiter's own clock.
    clock: Option<ManualClock>,
    start_us: u64,
    flows: Vec<Flow<'a>>,
    queue: BinaryHeap<Reverse<Event>>,
    /// Calls that come at once come in the order in which they were made.
    made: u64,
    /// Under a rule of `concurrency`, by the numbers of the events that end them.
    held: HashMap<u64, HeldByCall<'a>>,
    pub(super) tally: Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_us: u64,
    what: What,
    made: u64,
    flow: u32,
    caller: u32,
}

/// What ends at a moment gives room to what begins then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    End,
    Call,
}

impl<'a> RuleRun<'a> {
    pub(super) fn new(
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
            number: 0,
            rule,
            needs_resource: rule.limits.iter().any(|limit| limit.scope == Scope::Resource),
            limiter: builder.build()?,
            fleet: None,
            clock,
            start_us: options.start_us,
            flows: traffic.flows(&rule.id, options.seed, options.start_us),
            queue: BinaryHeap::new(),
            made: 0,
            held: HashMap::new(),
            tally,
        };
        for flow in 0..lane.flows.len() {
            for (at_us, caller) in lane.flows[flow].begin() {
                lane.push(at_us, flow as u32, caller);
            }
        }
        Ok(lane)
    }

    /// Lets processes decide by units that they borrow.
    pub(super) fn by_fleet(mut self, fleet: Fleet<'a>) -> Self {
        self.tally.name = format!("{}-{}", self.rule.id, fleet.name());
        self.fleet = Some(fleet);
        self
    }

    /// What was counted.
    pub(super) fn into_tally(mut self) -> Tally {
        self.tally.borrowing = self.fleet.map(|fleet| (fleet.count, fleet.requests));
        self.tally
    }

    fn push(&mut self, at_us: u64, flow: u32, caller: u32) {
        self.made += 1;
        self.queue.push(Reverse(Event { at_us, what: What::Call, made: self.made, flow, caller }));
    }

    /// Lets what is held end at a time.
    fn hold(&mut self, at_us: u64, held: HeldByCall<'a>) {
        self.made += 1;
        self.queue.push(Reverse(Event { at_us, what: What::End, made: self.made, flow: 0, caller: 0 }));
        self.held.insert(self.made, held);
    }

    /// When the next call comes, or one under way ends.
    pub(super) fn next_us(&self) -> Option<u64> {
        self.queue.peek().map(|event| event.0.at_us)
    }

    /// Makes the next call, or ends the next one, at `now_us`.
    pub(super) fn step(&mut self, now_us: u64, observer: &mut impl Observer) -> Result<()> {
        let Some(Reverse(Event { what, made, flow, caller, .. })) = self.queue.pop() else { return Ok(()) };
        if let Some(clock) = &self.clock {
            clock.set_us(self.start_us + now_us);
        }
        if what == What::End {
            return self.end(made, now_us);
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

    /// Ends a call that was under way. Its lease may have ended before it, which the tally does not care about: it
    /// counts what was really under way.
    fn end(&mut self, made: u64, now_us: u64) -> Result<()> {
        let Some(HeldByCall { reservation, key, resource, cost }) = self.held.remove(&made) else {
            return Ok(());
        };
        self.limiter.release(&reservation)?;
        self.tally.end(now_us, key, resource, cost);
        Ok(())
    }

    /// Leaves nothing at a server that this run holds.
    pub(super) fn release_all(&mut self) -> Result<()> {
        self.held.drain().try_for_each(|(_, held)| self.limiter.release(&held.reservation).map(drop))
    }

    fn check(&mut self, due: DueCall<'a>, now_us: u64, observer: &mut impl Observer) -> Result<CallResult> {
        let DueCall { key, cost, resource, duration_us } = due;
        let mut options = CheckOptions::new().cost(cost);
        if self.needs_resource {
            options = options.resource(resource);
        }
        let (verdict, reservation) = match &mut self.fleet {
            Some(fleet) => (fleet.decide(self.start_us + now_us, key, cost), None),
            None => self.decide(key, options)?,
        };
        let Verdict { allowed: admitted, remaining, retry_after_us, borrowed } = verdict;
        let resource = options.resource.map_or("", |_| resource);
        let denied = !admitted;
        self.tally.add(&CountedCall { at_us: now_us, key, resource, cost, admitted, denied, borrowed });
        observer.decided(&Record {
            strategy: self.number,
            rule: &self.tally.name,
            at_us: self.start_us + now_us,
            key,
            resource: options.resource,
            cost,
            admitted,
            remaining,
            retry_after: retry_after_us.map_or(Duration::MAX, Duration::from_micros),
        });
        if let (Some(reservation), Some(duration_us)) = (reservation, duration_us) {
            self.hold(now_us + duration_us, HeldByCall { reservation, key, resource, cost });
        }
        Ok(CallResult { admitted, retry_after_us })
    }

    /// The decision on a call, with what an admitted one holds under a rule of `concurrency`.
    fn decide(&self, key: &str, options: CheckOptions<'_>) -> Result<(Verdict, Option<Reservation>)> {
        if self.rule.algorithm != Algorithm::Concurrency {
            return Ok((Verdict::from(&self.limiter.check_with(&self.rule.id, key, options)?), None));
        }
        let reservation = self.limiter.reserve_with(&self.rule.id, key, options)?;
        let verdict = Verdict::from(reservation.decision());
        Ok((verdict, Some(reservation).filter(|_| verdict.allowed)))
    }
}

impl From<&Decision> for Verdict {
    fn from(decision: &Decision) -> Self {
        let wait = decision.retry_after;
        Self {
            // A rule in shadow is looked at for what it would do.
            allowed: decision.allowed && !decision.shadow_denied,
            remaining: decision.remaining,
            retry_after_us: (wait != Duration::MAX).then_some(wait.as_micros() as u64),
            borrowed: 0,
        }
    }
}
