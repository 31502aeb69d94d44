//! Waits until a cost is admitted: one waiter asks, the others queue behind it.

use std::time::Duration;

use super::attempt::{alone, attempt_in_memory, attempt_result};
use super::backend::{Backend, Limiter, ServerCalls};
use super::both::both_limiters;
use super::driver::Driver;
use super::queue::{AttemptResult, Claim, Retryable, WaitStep, Waiter};
use super::rest::Rest;
use super::shared::Shared;
use crate::algorithm::HoldId;
use crate::decision::Decision;
use crate::error::{Error, Result};
use crate::metrics::WaitingCall;
use crate::plan::{Form, Op, Plan, SmallList};
use crate::request::{Check, CheckOptions};

both_limiters! {
    /// Waits until the cost is admitted, for `timeout` at most. That is the time to be admitted: each of the checks may
    /// take as long as any. A timeout of zero makes this a check.
    ///
    /// Waits for the same key take turns, in the order of their arrival: one of them sleeps for `retry_after` and
    /// checks, and those behind it ask nothing. A future that is dropped leaves the queue. A [`check`](Self::check)
    /// takes no turn: it may get what the first in the queue waits for. Between processes there is no order but that
    /// in which their checks reach the server.
    ///
    /// The last decision is returned: a denial as soon as it is known that the wait would go beyond the
    /// timeout; `retry_after` is then at least the time until the caller's turn. With a
    /// [`ManualClock`](crate::ManualClock) nothing sleeps; the clock is moved on instead.
    ///
    /// While no server can decide it goes on asking, every [`breaker_probe`](crate::Builder::breaker_probe) at most.
    ///
    /// # Errors
    /// As [`check`](Self::check); that no server could decide, when the time is over.
    pub async fn wait(&self, rule: &str, key: &str, timeout: Duration) -> Result<Decision> {
        self.wait_in_turn(&[Check::new(rule, key)], Form::Single, timeout)
    }

    /// [`wait`](Self::wait) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn wait_with(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        timeout: Duration,
    ) -> Result<Decision> {
        self.wait_in_turn(&[Check::new(rule, key).with(options)], Form::Single, timeout)
    }

    /// Waits until several checks are admitted together, as [`check_all`](Self::check_all) decides them: all of them
    /// are charged, or none is. It takes its turn among all waits for any of the keys, and holds up those behind it
    /// only where it was denied: no set of waits can block each other.
    ///
    /// # Errors
    /// As [`check_all`](Self::check_all).
    pub async fn wait_all(&self, checks: &[Check<'_>], timeout: Duration) -> Result<Decision> {
        self.wait_in_turn(checks, Form::WithParts, timeout)
    }
}

/// What a waiter enters the queue with.
pub(super) struct Entry {
    claims: SmallList<Claim>,
    /// One for each rule that it waits under.
    counted: SmallList<WaitingCall>,
}

/// What a waiter asks again and again. (A closure would do, if its future could be said to be `Send`.)
pub(super) trait Ask<T> {
    fn ask(&mut self, op: Op) -> impl Future<Output = Result<AttemptResult<T>>> + Send;

    /// Whether to ask again after an error: where no server could decide.
    fn may_go_on(&self, error: &Error) -> bool {
        error.is_undecided()
    }
}

/// Whether some checks are admitted.
struct Question<'a, D> {
    limiter: &'a Limiter<D>,
    checks: &'a [Check<'a>],
    form: Form,
}

impl<D: Driver> Ask<Decision> for Question<'_, D> {
    async fn ask(&mut self, op: Op) -> Result<AttemptResult<Decision>> {
        self.limiter.ask(self.checks, op, self.form).await
    }
}

impl<D: Driver> Limiter<D> {
    pub(super) async fn wait(
        &self,
        checks: &[Check<'_>],
        form: Form,
        timeout: Duration,
        rest: impl Rest,
    ) -> Result<Decision> {
        self.ensure_open()?;
        let mut first = None;
        if timeout.is_zero() || self.is_in_memory() && self.shared.queue.is_idle() {
            let asked = self.ask(checks, Op::Check, form).await?;
            if timeout.is_zero() || asked.answer.is_admitted() {
                return Ok(asked.answer);
            }
            first = Some(asked);
        }
        let entry = self.shared.entry(checks, Op::Check)?;
        self.in_turn(entry, timeout, first, Question { limiter: self, checks, form }, rest).await
    }

    /// Asks when it is the caller's turn, until the answer is final or would come too late. `Op::Check` asks to be
    /// admitted, `Op::Peek` only looks. `first` is the answer to a check that was just made.
    pub(super) async fn in_turn<T: Retryable>(
        &self,
        entry: Entry,
        timeout: Duration,
        mut first: Option<AttemptResult<T>>,
        mut question: impl Ask<T>,
        mut rest: impl Rest,
    ) -> Result<T> {
        let shared = &self.shared;
        let _counted = entry.counted;
        let mut passed = shared.passed();
        let mut waiter = shared.queue.enter(entry.claims, timeout, shared.moment_of_asking(passed));
        loop {
            match waiter.next(shared.moment_of_asking(passed)) {
                WaitStep::Return(answer) => return Ok(answer),
                WaitStep::Ask(op) => {
                    let asked = match first.take().filter(|_| op == Op::Check) {
                        Some(asked) => asked,
                        None => match question.ask(op).await {
                            // By a manual clock, no server comes back.
                            Err(error) if question.may_go_on(&error) && !shared.is_manual() => {
                                let probe = shared.fallback.probe();
                                if !waiter.undecided(op, probe, shared.moment_of_asking(passed)) {
                                    return Err(error);
                                }
                                continue;
                            }
                            asked => asked?,
                        },
                    };
                    if let Some(answer) = waiter.record(op, asked, shared.moment_of_asking(passed)) {
                        return Ok(answer);
                    }
                }
                WaitStep::Sleep { is_held: false, .. } if shared.is_manual() => shared.let_pass(&mut waiter),
                WaitStep::Sleep { until, .. } => {
                    first = None;
                    rest.rest(self, &waiter, until).await?;
                    passed = shared.passed();
                }
            }
        }
    }

    pub(super) async fn ask(
        &self,
        checks: &[Check<'_>],
        op: Op,
        form: Form,
    ) -> Result<AttemptResult<Decision>> {
        self.ensure_open()?;
        let catalog = self.catalog();
        match (&self.backend, checks) {
            (Backend::Memory(memory), [check])
                if form == Form::Single && check.options.request_id.is_none() =>
            {
                memory.single(&catalog, check, op).map(alone)
            }
            (Backend::Memory(memory), _) => {
                attempt_in_memory(memory, &Plan::new(&catalog, checks, op)?, op, form)
            }
            (Backend::Server(servers), _) => {
                let mut plan = Plan::new(&catalog, checks, op)?;
                let calls = ServerCalls { shared: &self.shared, server: &servers.near, servers };
                calls.on_terms_in_charge(&mut plan);
                let decided =
                    calls.decide(&mut plan, op, HoldId::default(), !self.shared.is_manual()).await?;
                Ok(attempt_result(&plan, &decided.outcomes, decided.forecast, decided.origin, form))
            }
        }
    }
}

impl Shared {
    /// What a waiter for some checks enters the queue with. From now on it counts as one that waits.
    pub(super) fn entry(&self, checks: &[Check<'_>], op: Op) -> Result<Entry> {
        let catalog = self.rules.snapshot();
        let plan = Plan::new(&catalog, checks, op)?;
        let counted = plan.rules().map(|rule| rule.counters.waits()).collect();
        Ok(Entry { claims: self.queue.claims(&plan), counted })
    }

    /// What some checks ask of the states they are about.
    fn claims(&self, checks: &[Check<'_>], op: Op) -> Result<SmallList<Claim>> {
        let catalog = self.rules.snapshot();
        Ok(self.queue.claims(&Plan::new(&catalog, checks, op)?))
    }

    /// Moves a manual clock on by the wait of the last denial.
    fn let_pass<T: Retryable>(&self, waiter: &mut Waiter<'_, T>) {
        let moved = self.pass(waiter.wait).unwrap_or_default();
        waiter.awake(waiter.wait.saturating_sub(moved));
    }

    /// Lets the first waiter for what a check is about ask again: something was given back.
    pub(super) fn freed(&self, check: &Check<'_>) {
        if !self.queue.is_idle()
            && let Ok(claims) = self.claims(&[check.split_request_id().0], Op::Peek)
        {
            self.queue.freed(claims.iter().map(|claim| claim.lane));
        }
    }
}
