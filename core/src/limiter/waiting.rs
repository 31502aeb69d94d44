//! Waits of both limiters until a cost is admitted: one waiter asks, the others queue behind it.

use std::pin::pin;
use std::thread;
use std::time::{Duration, Instant};

use tokio::select;

use super::asynchronous::{self, AsyncRateLimiter};
use super::attempt::{alone, attempt_in_memory, attempt_result};
use super::blocking::{self, RateLimiter};
use super::centre::Centre;
use super::queue::{AttemptResult, Moment, Retryable, Stake, WaitStep, Waiter};
use super::sleeper::sleeper;
use crate::decision::{Decision, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::{Form, Op, Plan, SmallList};
use crate::request::{Check, CheckOptions};

/// How long a wait sleeps before it looks whether the limiter was closed. A sleep that `close` would end at once
/// needs a lock, which a forked child may inherit locked.
const NAP: Duration = Duration::from_millis(50);

/// When a sleep ends whose end the clock cannot show.
const LONGEST_SLEEP: Duration = Duration::from_secs(86400 * 365);

impl RateLimiter {
    /// Waits until the cost is admitted, for `timeout` at most. That is the time to be admitted: each of the checks may
    /// take as long as any. A timeout of zero makes this a check.
    ///
    /// Waits for the same key take turns, in the order of their arrival: one of them sleeps for `retry_after` and
    /// checks, and those behind it ask nothing. A [`check`](Self::check) takes no turn: it may get what the first
    /// in the queue waits for. Between processes there is no order but that in which their checks reach the server.
    ///
    /// The last decision is returned: a denial as soon as it is known that the wait would go beyond the
    /// timeout; `retry_after` is then at least the time until the caller's turn. With a
    /// [`ManualClock`](crate::ManualClock) nothing sleeps; the clock is moved on instead.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn wait(&self, rule: &str, key: &str, timeout: Duration) -> Result<Decision> {
        self.wait_with(rule, key, CheckOptions::new(), timeout)
    }

    /// [`wait`](Self::wait) with a cost, a resource or another limit.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn wait_with(
        &self,
        rule: &str,
        key: &str,
        options: CheckOptions<'_>,
        timeout: Duration,
    ) -> Result<Decision> {
        self.wait_sleeping(&[Check::new(rule, key).with(options)], Form::Single, timeout, park)
    }

    /// Waits until several checks are admitted together, as [`check_all`](Self::check_all) decides them: all of them
    /// are charged, or none is. It takes its turn among all waits for any of the keys, and holds up those behind it
    /// only where it was denied: no set of waits can block each other.
    ///
    /// # Errors
    /// As [`check_all`](Self::check_all).
    pub fn wait_all(&self, checks: &[Check<'_>], timeout: Duration) -> Result<Decision> {
        self.wait_sleeping(checks, Form::WithParts, timeout, park)
    }

    /// Waits by a sleep that is asked for short spans and ends when the thread is unparked: where it answers false,
    /// the wait ends with an error.
    pub(crate) fn wait_sleeping(
        &self,
        checks: &[Check<'_>],
        form: Form,
        timeout: Duration,
        sleep: impl FnMut(Duration) -> bool,
    ) -> Result<Decision> {
        self.ensure_open()?;
        let is_in_memory = matches!(self.backend, blocking::Backend::Memory(_));
        let mut first = None;
        if timeout.is_zero() || is_in_memory && self.centre.queue.is_idle() {
            let asked = self.ask(checks, Op::Check, form)?;
            if timeout.is_zero() || asked.answer.is_admitted() {
                return Ok(asked.answer);
            }
            first = Some(asked);
        }
        let stakes = self.centre.stakes(checks, Op::Check)?;
        self.in_turn(stakes, timeout, first, sleep, |op| self.ask(checks, op, form))
    }

    /// Asks when it is the caller's turn, until the answer is final or would come too late. `Op::Check` asks to be
    /// admitted, `Op::Peek` only looks. `first` is the answer to a check that was just made.
    pub(super) fn in_turn<T: Retryable>(
        &self,
        stakes: SmallList<Stake>,
        timeout: Duration,
        mut first: Option<AttemptResult<T>>,
        mut sleep: impl FnMut(Duration) -> bool,
        mut ask: impl FnMut(Op) -> Result<AttemptResult<T>>,
    ) -> Result<T> {
        let centre = &self.centre;
        let mut passed = centre.passed();
        let mut waiter = centre.queue.enter(stakes, timeout, centre.moment_of_asking(passed));
        loop {
            match waiter.next(centre.moment_of_asking(passed)) {
                WaitStep::Return(answer) => return Ok(answer),
                WaitStep::Ask(op) => {
                    let asked = match first.take().filter(|_| op == Op::Check) {
                        Some(asked) => asked,
                        None => ask(op)?,
                    };
                    if let Some(answer) = waiter.record(op, asked, centre.moment_of_asking(passed)) {
                        return Ok(answer);
                    }
                }
                WaitStep::Sleep { is_held: false, .. } if centre.is_manual() => centre.let_pass(&mut waiter),
                WaitStep::Sleep { until, .. } => {
                    first = None;
                    self.sleep(&waiter, until, &mut sleep)?;
                    passed = centre.passed();
                }
            }
        }
    }

    /// Sleeps until the waiter is called or the limiter is closed.
    fn sleep<T>(
        &self,
        waiter: &Waiter<'_, T>,
        until: Moment,
        sleep: &mut impl FnMut(Duration) -> bool,
    ) -> Result<()> {
        while !waiter.is_called() {
            let left = Duration::from_micros(until.saturating_sub(self.centre.moment()));
            if left.is_zero() {
                break;
            }
            if !sleep(left.min(NAP)) {
                return Err(Error::new(ErrorKind::Timeout, "the wait was interrupted"));
            }
            self.ensure_open()?;
        }
        Ok(())
    }

    pub(super) fn ask(&self, checks: &[Check<'_>], op: Op, form: Form) -> Result<AttemptResult<Decision>> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        match (&self.backend, checks) {
            (blocking::Backend::Memory(memory), [check])
                if form == Form::Single && check.options.request_id.is_none() =>
            {
                memory.single(&catalog, check, op).map(alone)
            }
            (blocking::Backend::Memory(memory), _) => {
                attempt_in_memory(memory, &Plan::new(&catalog, checks, op)?, op, form)
            }
            (blocking::Backend::Server(redis), _) => {
                let plan = Plan::new(&catalog, checks, op)?;
                let (outcomes, forecast) = self.outcomes(redis, &plan, op, !self.centre.is_manual())?;
                Ok(attempt_result(&plan, &outcomes, forecast, Source::Server, form))
            }
        }
    }

    /// Lets the first waiter for what a check is about ask again: something was given back.
    pub(super) fn freed(&self, check: &Check<'_>) {
        self.centre.freed(check);
    }
}

impl AsyncRateLimiter {
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
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn wait(&self, rule: &str, key: &str, timeout: Duration) -> Result<Decision> {
        self.wait_with(rule, key, CheckOptions::new(), timeout).await
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
        self.wait_for(&[Check::new(rule, key).with(options)], Form::Single, timeout).await
    }

    /// Waits until several checks are admitted together, as [`check_all`](Self::check_all) decides them: all of them
    /// are charged, or none is. It takes its turn among all waits for any of the keys, and holds up those behind it
    /// only where it was denied: no set of waits can block each other.
    ///
    /// # Errors
    /// As [`check_all`](Self::check_all).
    pub async fn wait_all(&self, checks: &[Check<'_>], timeout: Duration) -> Result<Decision> {
        self.wait_for(checks, Form::WithParts, timeout).await
    }

    async fn wait_for(&self, checks: &[Check<'_>], form: Form, timeout: Duration) -> Result<Decision> {
        self.ensure_open()?;
        let is_in_memory = matches!(self.backend, asynchronous::Backend::Memory(_));
        let mut first = None;
        if timeout.is_zero() || is_in_memory && self.centre.queue.is_idle() {
            let asked = self.ask(checks, Op::Check, form).await?;
            if timeout.is_zero() || asked.answer.is_admitted() {
                return Ok(asked.answer);
            }
            first = Some(asked);
        }
        let stakes = self.centre.stakes(checks, Op::Check)?;
        self.in_turn(stakes, timeout, first, Question { limiter: self, checks, form }).await
    }

    /// Asks when it is the caller's turn, until the answer is final or would come too late. `Op::Check` asks to be
    /// admitted, `Op::Peek` only looks. `first` is the answer to a check that was just made.
    pub(super) async fn in_turn<T: Retryable>(
        &self,
        stakes: SmallList<Stake>,
        timeout: Duration,
        mut first: Option<AttemptResult<T>>,
        mut question: impl AskAsync<T>,
    ) -> Result<T> {
        let centre = &self.centre;
        let mut passed = centre.passed();
        let mut waiter = centre.queue.enter(stakes, timeout, centre.moment_of_asking(passed));
        loop {
            match waiter.next(centre.moment_of_asking(passed)) {
                WaitStep::Return(answer) => return Ok(answer),
                WaitStep::Ask(op) => {
                    let asked = match first.take().filter(|_| op == Op::Check) {
                        Some(asked) => asked,
                        None => question.ask(op).await?,
                    };
                    if let Some(answer) = waiter.record(op, asked, centre.moment_of_asking(passed)) {
                        return Ok(answer);
                    }
                }
                WaitStep::Sleep { is_held: false, .. } if centre.is_manual() => centre.let_pass(&mut waiter),
                WaitStep::Sleep { until, .. } => {
                    first = None;
                    self.sleep(&waiter, until).await?;
                    passed = centre.passed();
                }
            }
        }
    }

    /// Sleeps until the waiter is called or the limiter is closed.
    async fn sleep<T>(&self, waiter: &Waiter<'_, T>, until: Moment) -> Result<()> {
        let sleeper = sleeper(self.sleeper.as_ref())?;
        let span = Duration::from_micros(until.saturating_sub(self.centre.moment()));
        let end = Instant::now().checked_add(span).unwrap_or_else(|| Instant::now() + LONGEST_SLEEP);
        // First in line, then a look: a `close` in between is noticed by the one or the other.
        let mut closing = pin!(self.closing().notified());
        closing.as_mut().enable();
        self.ensure_open()?;
        select! {
            () = std::future::poll_fn(|context| waiter.poll_called(context)) => Ok(()),
            () = sleeper.sleep(end) => Ok(()),
            () = closing => Err(Error::closed()),
        }
    }

    pub(super) async fn ask(
        &self,
        checks: &[Check<'_>],
        op: Op,
        form: Form,
    ) -> Result<AttemptResult<Decision>> {
        self.ensure_open()?;
        let catalog = self.centre.rules.snapshot();
        match (&self.backend, checks) {
            (asynchronous::Backend::Memory(memory), [check])
                if form == Form::Single && check.options.request_id.is_none() =>
            {
                memory.single(&catalog, check, op).map(alone)
            }
            (asynchronous::Backend::Memory(memory), _) => {
                attempt_in_memory(memory, &Plan::new(&catalog, checks, op)?, op, form)
            }
            (asynchronous::Backend::Server(redis), _) => {
                let plan = Plan::new(&catalog, checks, op)?;
                let (outcomes, forecast) = self.outcomes(redis, &plan, op, !self.centre.is_manual()).await?;
                Ok(attempt_result(&plan, &outcomes, forecast, Source::Server, form))
            }
        }
    }

    /// Lets the first waiter for what a check is about ask again: something was given back.
    pub(super) fn freed(&self, check: &Check<'_>) {
        self.centre.freed(check);
    }
}

/// What a task asks again and again. (A closure would do, if its future could be said to be `Send`.)
pub(super) trait AskAsync<T> {
    fn ask(&mut self, op: Op) -> impl Future<Output = Result<AttemptResult<T>>> + Send;
}

/// Whether some checks are admitted.
struct Question<'a> {
    limiter: &'a AsyncRateLimiter,
    checks: &'a [Check<'a>],
    form: Form,
}

impl AskAsync<Decision> for Question<'_> {
    async fn ask(&mut self, op: Op) -> Result<AttemptResult<Decision>> {
        self.limiter.ask(self.checks, op, self.form).await
    }
}

impl Centre {
    /// What some checks ask of the states they are about.
    pub(super) fn stakes(&self, checks: &[Check<'_>], op: Op) -> Result<SmallList<Stake>> {
        let catalog = self.rules.snapshot();
        Ok(self.queue.stakes(&Plan::new(&catalog, checks, op)?))
    }

    /// Moves a manual clock on by the wait of the last denial.
    fn let_pass<T: Retryable>(&self, waiter: &mut Waiter<'_, T>) {
        let moved = self.pass(waiter.wait).unwrap_or_default();
        waiter.awake(waiter.wait.saturating_sub(moved));
    }

    fn freed(&self, check: &Check<'_>) {
        if !self.queue.is_idle()
            && let Ok(stakes) = self.stakes(&[check.split_request_id().0], Op::Peek)
        {
            self.queue.freed(stakes.iter().map(|stake| stake.lane));
        }
    }
}

pub(super) fn park(span: Duration) -> bool {
    thread::park_timeout(span);
    true
}
