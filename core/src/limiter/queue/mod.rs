//! The queue of those who wait on one limiter: who asks, who sleeps, and in which order.
//!
//! It knows nothing of rules: what is asked is the caller's business, who names the states it is about ([`Claim`])
//! and hands in each answer ([`AttemptResult`]). The queue says when to ask. Nothing here sleeps; see `waiting`.

mod lanes;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use crate::plan::{Forecast, Op, SmallList};
use crate::sync::fork::{PerProcess, generation};
use crate::sync::lock::Mutex;
use lanes::{Arrival, Denial, Lanes, NEVER, Next, Wake};
pub(super) use lanes::{Claim, Moment};

/// How soon to ask again when the wait is unknown.
const SOON: Duration = Duration::from_millis(1);

/// How often to ask, in microseconds, while something is held that another process may give back; a fifth less or more,
/// so that processes do not ask together.
pub(super) const POLL: u64 = 100_000;

/// The result of an attempt, which is either final or says when to retry.
pub(super) trait Retryable: Send + Sync {
    /// Whether there is nothing more to wait for.
    fn is_admitted(&self) -> bool;

    /// The wait until the same would be admitted; [`Duration::MAX`] when it never is.
    fn retry_after(&self) -> Duration;

    /// The same answer as a denial to one whose turn does not come within `retry_after`.
    #[must_use]
    fn refused(self, retry_after: Duration) -> Self;
}

/// The result of an attempt, and what it shows of the states.
pub(super) struct AttemptResult<T> {
    pub(super) answer: T,
    /// How long each state denies, in microseconds and in the order of the claims; may be left empty.
    pub(super) waits: SmallList<u64>,
    /// Whether there may be room sooner than a denial says: something is held that may be given back.
    pub(super) is_estimate: bool,
    /// What the states will admit next, after an admission.
    pub(super) forecast: Option<Forecast>,
}

#[derive(Debug)]
pub(super) struct WaitQueue(PerProcess<Shared>);

/// What all waiters of one process share.
#[derive(Debug, Default)]
struct Shared {
    lanes: Mutex<Lanes>,
    /// How many wait.
    present: AtomicUsize,
    hasher: RandomState,
}

/// What a waiter is to do.
pub(super) enum WaitStep<T> {
    /// To ask, and to record the answer.
    Ask(Op),
    /// To sleep until then, or until it is called.
    Sleep { until: Moment, is_held: bool },
    /// To return this.
    Return(T),
}

/// A waiter. It leaves the queue when it is dropped.
pub(super) struct Waiter<'a, T> {
    shared: &'a Shared,
    generation: u32,
    ticket: Arrival,
    deadline: Moment,
    /// The last denial.
    pub(super) wait: Duration,
    /// What it found when its turn could not come in time.
    looked: Option<T>,
}

impl WaitQueue {
    pub(super) fn new() -> Self {
        Self(PerProcess::new(Shared::default()))
    }

    /// Whether nobody waits.
    pub(super) fn is_idle(&self) -> bool {
        self.shared().present.load(Ordering::Relaxed) == 0
    }

    /// The lane of a state.
    pub(super) fn lane(&self, state: impl Hash) -> u64 {
        self.shared().hasher.hash_one(state)
    }

    /// Begins to wait, behind all others.
    pub(super) fn enter<T>(&self, claims: SmallList<Claim>, timeout: Duration, now: Moment) -> Waiter<'_, T> {
        let shared = self.shared();
        let deadline = now.saturating_add(micros(timeout));
        shared.present.fetch_add(1, Ordering::Relaxed);
        let ticket = shared.with(|lanes| lanes.enter(claims, deadline, now));
        let (generation, wait) = (generation(), Duration::ZERO);
        Waiter { shared, generation, ticket, deadline, wait, looked: None }
    }

    /// Wakes the first waiters of states that may have more room than they said: they ask again at once.
    pub(super) fn freed(&self, lanes: impl IntoIterator<Item = u64>) {
        self.shared().with(|all| lanes.into_iter().for_each(|lane| all.freed(lane)));
    }

    fn shared(&self) -> &Shared {
        self.0.get(|_| Shared::default())
    }

    #[cfg(test)]
    fn len(&self) -> (usize, usize) {
        self.shared().with(|lanes| lanes.len())
    }
}

impl Shared {
    /// Runs `work` behind the lock, and wakes whom it calls after that.
    fn with<T>(&self, work: impl FnOnce(&mut Lanes) -> T) -> T {
        let mut lanes = self.lanes.lock();
        let result = work(&mut lanes);
        let calls = lanes.take_calls();
        drop(lanes);
        calls.into_iter().for_each(Wake::wake);
        result
    }
}

impl<T: Retryable> Waiter<'_, T> {
    /// What to do now.
    pub(super) fn next(&mut self, now: Moment) -> WaitStep<T> {
        match self.shared.with(|lanes| lanes.next(self.ticket, now)) {
            Next::Ask => WaitStep::Ask(Op::Check),
            Next::Sleep { until, is_held } => WaitStep::Sleep { until, is_held },
            Next::TooLate { opens } => match self.looked.take() {
                None => WaitStep::Ask(Op::Peek),
                Some(answer) => WaitStep::Return(refused(answer, opens, now)),
            },
        }
    }

    /// Takes the answer; gives it back if it is the last.
    pub(super) fn record(&mut self, op: Op, asked: AttemptResult<T>, now: Moment) -> Option<T> {
        let AttemptResult { answer, waits, is_estimate, forecast } = asked;
        let is_final = answer.is_admitted() || answer.retry_after() == Duration::MAX;
        if op == Op::Peek {
            if !answer.is_admitted() {
                let opens = self.shared.with(|lanes| lanes.opens(self.ticket));
                return Some(if is_final { answer } else { refused(answer, opens, now) });
            }
            // There is room, but others come first: perhaps they do not know of it.
            self.looked = Some(answer);
            self.shared.with(|lanes| lanes.prompt(self.ticket, now));
            return None;
        }
        if is_final {
            if let Some(forecast) = forecast {
                self.shared.with(|lanes| lanes.remember(self.ticket, forecast, now));
            }
            return Some(answer);
        }
        let wait = micros(answer.retry_after());
        let pause = if is_estimate { self.until_poll(wait, now) } else { wait };
        if pause == 0 || now.saturating_add(pause) > self.deadline {
            return Some(answer);
        }
        self.wait = answer.retry_after();
        self.shared.with(|lanes| lanes.denied(self.ticket, &Denial { wait, waits, pause, is_estimate }, now));
        None
    }

    /// Lets it sleep, as no server could decide, for `pause` at most. Answers whether it does: not when its time is over,
    /// nor one that only looked.
    pub(super) fn undecided(&mut self, op: Op, pause: u64, now: Moment) -> bool {
        let pause = pause.min(self.deadline.saturating_sub(now));
        if op == Op::Peek || pause == 0 {
            return false;
        }
        self.wait = Duration::from_micros(pause);
        let denial = Denial { wait: pause, waits: SmallList::new(), pause, is_estimate: true };
        self.shared.with(|lanes| lanes.denied(self.ticket, &denial, now));
        true
    }

    /// How long to sleep where the wait is an estimate; nothing when the time is over.
    fn until_poll(&self, wait: u64, now: Moment) -> u64 {
        let spread = self.shared.hasher.hash_one((self.ticket, now)) % (POLL / 5 * 2);
        wait.min(POLL - POLL / 5 + spread).min(self.deadline.saturating_sub(now))
    }

    /// Ends its sleep: the time has passed by another clock, which has moved `short` less than it was to.
    pub(super) fn awake(&mut self, short: Duration) {
        self.deadline = self.deadline.saturating_sub(micros(short));
        let (ticket, deadline) = (self.ticket, self.deadline);
        self.shared.with(|lanes| {
            lanes.set_deadline(ticket, deadline);
            lanes.awake(ticket);
        });
    }
}

impl<T> Waiter<'_, T> {
    /// Whether this thread, which is unparked when it is, has something to do.
    pub(super) fn is_called(&self) -> bool {
        self.shared.with(|lanes| lanes.is_called(self.ticket, || Wake::Thread(thread::current())))
    }

    /// The same for a task.
    pub(super) fn poll_called(&self, context: &Context<'_>) -> Poll<()> {
        let wake = || Wake::Task(context.waker().clone());
        if self.shared.with(|lanes| lanes.is_called(self.ticket, wake)) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl<T> Drop for Waiter<'_, T> {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that does not exist there.
        if self.generation == generation() {
            self.shared.with(|lanes| lanes.leave(self.ticket));
            self.shared.present.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The denial to a waiter whose turn does not come before `opens`.
fn refused<T: Retryable>(answer: T, opens: Option<Moment>, now: Moment) -> T {
    let turn = opens.map_or(Duration::ZERO, |opens| Duration::from_micros(opens.saturating_sub(now)));
    let retry_after = answer.retry_after().max(turn).max(SOON);
    answer.refused(retry_after)
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(NEVER)
}
