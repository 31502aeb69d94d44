//! The limiter for threads.

use std::fmt;
use std::time::Duration;

use super::centre::Centre;
use super::memory::InMemory;
use super::talk::talk_blocking;
use crate::catalog::Catalog;
use crate::decision::{Decision, Source};
use crate::error::Result;
use crate::matching::{Explanation, Request, RequestMatch};
use crate::plan::{Forecast, Form, Op, Outcome, Plan, SmallList};
use crate::redis::BlockingRedis;
use crate::request::{Check, CheckAllOptions, CheckOptions};
use crate::rules::Rules;
use crate::sources::RulesStatus;
use crate::time::timeout::validate_time;
use crate::transaction::{Reset, located_by_hand, reset};

/// Decides whether a cost is admitted; blocks the calling thread for one round trip.
///
/// Safe to share between threads. On a server, calls use a pool of connections that are opened when
/// they are first needed.
///
/// ```
/// use sluicegate::{RateLimiter, Rules};
///
/// let rules = Rules::from_json(
///     r#"[{"rule_id": "login", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 60}]"#,
/// )?;
/// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
///
/// assert_eq!(limiter.check("login", "alice")?.remaining, 1);
/// assert!(limiter.check("login", "alice")?.allowed);
/// let denied = limiter.check("login", "alice")?;
/// assert!(!denied.allowed && denied.retry_after.as_secs() < 60);
/// # Ok::<(), sluicegate::Error>(())
/// ```
pub struct RateLimiter {
    pub(super) centre: Centre,
    pub(super) backend: Backend,
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter").field("prefix", &self.centre.wire.prefix).finish_non_exhaustive()
    }
}

pub(super) enum Backend {
    Memory(InMemory),
    Server(Box<BlockingRedis>),
}

impl RateLimiter {
    pub(super) fn new(centre: Centre, backend: Backend) -> Self {
        Self { centre, backend }
    }

    /// Admits a cost of 1 for `key` under `rule`, or denies it.
    ///
    /// # Errors
    /// [`UnknownRule`](crate::ErrorKind::UnknownRule), [`InvalidArgument`](crate::ErrorKind::InvalidArgument)
    /// (an empty key, a missing resource), [`Connection`](crate::ErrorKind::Connection),
    /// [`Timeout`](crate::ErrorKind::Timeout) or [`Server`](crate::ErrorKind::Server) when the server
    /// cannot decide, and [`Closed`](crate::ErrorKind::Closed) after [`close`](Self::close). A denial is not
    /// an error.
    #[inline(always)]
    pub fn check(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Check)
    }

    /// [`check`](Self::check) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    #[inline(always)]
    pub fn check_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Check)
    }

    /// Decides several checks together: all of them are charged, or none is.
    ///
    /// The decision is that of the deciding check, and its `parts` hold one decision per item, in order.
    /// On a Redis Cluster, items in different hash slots are looked at and then charged slot by slot in order
    /// of rule priority, and a denial refunds those before it: in between a third caller may be denied
    /// needlessly, and never admitted wrongly.
    ///
    /// # Errors
    /// As [`check`](Self::check); an empty list is an `InvalidArgument`.
    #[inline]
    pub fn check_all(&self, checks: &[Check<'_>]) -> Result<Decision> {
        self.all(&self.centre.rules.snapshot(), checks)
    }

    /// [`check_all`](Self::check_all) that may be repeated, by an id of the call as a whole.
    ///
    /// # Errors
    /// As [`check_all`](Self::check_all); an id that another call had is an `InvalidArgument`, and on a Redis Cluster
    /// one for items in several hash slots.
    #[inline]
    pub fn check_all_with(&self, checks: &[Check<'_>], options: CheckAllOptions<'_>) -> Result<Decision> {
        self.together(&self.centre.rules.snapshot(), checks, Op::Check, options.request_id)
    }

    #[inline]
    pub(super) fn all(&self, catalog: &Catalog, checks: &[Check<'_>]) -> Result<Decision> {
        self.together(catalog, checks, Op::Check, None)
    }

    /// Looks at several items, each by itself.
    pub(super) fn peek_all(&self, catalog: &Catalog, checks: &[Check<'_>]) -> Result<Decision> {
        if checks.is_empty() {
            self.ensure_open()?;
            return Ok(Decision::unruled(self.source()));
        }
        self.together(catalog, checks, Op::Peek, None)
    }

    #[inline]
    fn together(
        &self,
        catalog: &Catalog,
        checks: &[Check<'_>],
        op: Op,
        request_id: Option<&str>,
    ) -> Result<Decision> {
        self.ensure_open()?;
        let plan = Plan::repeatable(catalog, checks, (op, Form::WithParts), request_id)?;
        match &self.backend {
            Backend::Memory(memory) => memory.all(&plan, op),
            Backend::Server(redis) => self.converse(redis, &plan, op, Form::WithParts),
        }
    }

    /// Returns the rules that [`check_request`](Self::check_request) would apply, in order of priority, then of
    /// their file. Nothing is counted.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`check_request`](Self::check_request).
    pub fn match_request(&self, request: &Request<'_>) -> Result<Vec<RequestMatch>> {
        self.centre.rules.snapshot().matcher().matches(request)
    }

    /// For every rule, in the same order, whether it matches and, if not, the first condition that does
    /// not hold. Evaluates every rule: use it for diagnosis, not for every request.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`check_request`](Self::check_request).
    pub fn explain_request(&self, request: &Request<'_>) -> Result<Vec<Explanation>> {
        self.centre.rules.snapshot().matcher().explain(request)
    }

    /// What [`check`](Self::check) would answer now; changes nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn peek(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Peek)
    }

    /// What [`check_with`](Self::check_with) would answer now; changes nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn peek_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Peek)
    }

    /// Gives back a cost of 1 that turned out not to be used, the newest first, and answers as
    /// [`peek`](Self::peek) would then. What is no longer counted is not given back.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn refund(&self, rule: &str, key: &str) -> Result<Decision> {
        self.refund_with(rule, key, CheckOptions::new())
    }

    /// [`refund`](Self::refund) with a cost or a resource.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn refund_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        let check = Check::new(rule, key).with(options);
        let decision = self.single(&check, Op::Refund);
        self.freed(&check);
        decision
    }

    /// Counts a cost of 1 that was used already, also beyond the limit, and answers as [`peek`](Self::peek) would
    /// then: a key that is overdrawn is denied until that has passed by the algorithm's own arithmetic.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn charge(&self, rule: &str, key: &str) -> Result<Decision> {
        self.single(&Check::new(rule, key), Op::Charge)
    }

    /// [`charge`](Self::charge) with a cost, a resource or another limit. A `sliding_log` takes twice its limit at
    /// most of one charge.
    ///
    /// # Errors
    /// As [`check`](Self::check); a charge that would overdraw the limit by more than 2^53 units or microseconds is
    /// an `InvalidArgument`, and nothing is charged.
    pub fn charge_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.single(&Check::new(rule, key).with(options), Op::Charge)
    }

    /// Forgets what was counted for `key` under `rule`, and nothing else.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn reset(&self, rule: &str, key: &str) -> Result<()> {
        self.reset_with(rule, key, CheckOptions::new())
    }

    /// [`reset`](Self::reset) for a rule that limits a resource: the key's use of it is forgotten. What the
    /// resource was used in all is kept, since other keys have a part in it; a rule that counts nothing
    /// else forgets that. Cost and limit say nothing to a reset.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn reset_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.ensure_open()?;
        self.forget(&self.centre.rules.snapshot(), Check::new(rule, key).with(options))
    }

    pub(super) fn forget(&self, catalog: &Catalog, check: Check<'_>) -> Result<()> {
        let plan = Plan::new(catalog, &[check], Op::Peek)?;
        match &self.backend {
            Backend::Memory(memory) => memory.reset(&plan),
            Backend::Server(redis) => {
                let deadline = redis.deadline(plan.timeout);
                let reset = reset(&plan, &self.centre.wire, self.centre.now());
                let keys = reset.keys();
                let done = match reset {
                    Reset::Delete(names) => redis.delete(&names, deadline),
                    Reset::Forget(call) => redis.call(call, deadline).map(drop),
                };
                done.map_err(|error| located_by_hand(error, &plan, keys))?;
            }
        }
        self.freed(&check);
        Ok(())
    }

    /// Checks that the server answers.
    ///
    /// # Errors
    /// Whatever keeps the server from answering.
    pub fn ping(&self) -> Result<()> {
        self.try_server(None)
    }

    /// [`ping`](Self::ping) that takes `timeout` at most, as [`CheckOptions::timeout`].
    ///
    /// # Errors
    /// As [`ping`](Self::ping).
    pub fn ping_with(&self, timeout: Duration) -> Result<()> {
        self.try_server(Some(timeout))
    }

    fn try_server(&self, timeout: Option<Duration>) -> Result<()> {
        self.ensure_open()?;
        timeout.map_or(Ok(()), |timeout| validate_time("timeout", timeout))?;
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Server(redis) => redis.ping(redis.deadline(timeout)),
        }
    }

    /// Closes the connections. Final: later calls, and waits of other threads, end with
    /// [`Closed`](crate::ErrorKind::Closed). What only looks at the rules still answers, by the last ones.
    pub fn close(&self) {
        self.centre.rules.close();
        match &self.backend {
            Backend::Memory(memory) => memory.close(),
            Backend::Server(redis) => redis.close(),
        }
    }

    #[cfg(feature = "bridge")]
    pub(crate) fn is_in_memory(&self) -> bool {
        matches!(self.backend, Backend::Memory(_))
    }

    /// Returns the rules in force.
    pub fn rules(&self) -> Rules {
        self.centre.rules.snapshot().rules().clone()
    }

    /// Returns which rules are in force, since when, and what was refused of their source.
    pub fn rules_status(&self) -> RulesStatus {
        self.centre.rules.status()
    }

    /// Before the arguments are looked at: a closed limiter says so, whatever it is asked.
    pub(crate) fn ensure_open(&self) -> Result<()> {
        match &self.backend {
            Backend::Memory(memory) => memory.ensure_open(),
            Backend::Server(redis) => redis.ensure_open(),
        }
    }

    pub(super) fn source(&self) -> Source {
        match &self.backend {
            Backend::Memory(_) => Source::Memory,
            Backend::Server(_) => Source::Server,
        }
    }

    #[inline(always)]
    pub(super) fn single(&self, check: &Check<'_>, op: Op) -> Result<Decision> {
        match &self.backend {
            Backend::Memory(memory) => memory.single(&self.centre.rules.snapshot(), check, op),
            Backend::Server(redis) => self.single_on(redis, check, op),
        }
    }

    /// The same of a server.
    pub(super) fn single_on(&self, redis: &BlockingRedis, check: &Check<'_>, op: Op) -> Result<Decision> {
        redis.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        let (check, id) = check.split_request_id();
        let plan = Plan::repeatable(&catalog, &[check], (op, Form::Single), id)?;
        self.converse(redis, &plan, op, Form::Single)
    }

    fn converse(&self, redis: &BlockingRedis, plan: &Plan<'_>, op: Op, form: Form) -> Result<Decision> {
        let mut transaction = self.centre.transaction(plan, op);
        talk_blocking(redis, &mut transaction, plan.timeout);
        transaction.finish(form)
    }

    /// What an operation has come to: one outcome per charge and, if it is wanted, what the states admit next.
    pub(super) fn outcomes(
        &self,
        redis: &BlockingRedis,
        plan: &Plan<'_>,
        op: Op,
        wants_forecast: bool,
    ) -> Result<(SmallList<Outcome>, Option<Forecast>)> {
        let transaction = self.centre.transaction(plan, op);
        let mut transaction = if wants_forecast { transaction.with_forecast() } else { transaction };
        talk_blocking(redis, &mut transaction, plan.timeout);
        transaction.outcomes()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn close_ends_a_wait() {
        let rule = r#"[{ "rule_id": "r", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60 }]"#;
        let rules = Rules::from_json(rule).unwrap();
        let limiter = RateLimiter::builder("memory://").rules(rules).build().unwrap();
        assert!(limiter.check("r", "k").unwrap().allowed);
        let began = Instant::now();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| limiter.wait("r", "k", Duration::MAX));
            thread::sleep(Duration::from_millis(20));
            limiter.close();
            assert_eq!(waiting.join().unwrap().unwrap_err().kind(), ErrorKind::Closed);
        });
        assert!(began.elapsed() < Duration::from_secs(10));
    }
}
