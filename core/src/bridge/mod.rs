//! A limiter for event loops that are not Rust's: the common part of the bindings to other languages.
//!
//! A call from a foreign loop that crossed to Tokio and back on its own would cost more than the check.
//! So calls cross in batches, one per turn of the loop, and travel to the server as one pipeline; their
//! answers are collected, and the loop is woken once per burst. What needs no I/O is answered at once,
//! on the caller's thread. And where the loop can watch a socket, checks on a single server cross to no other
//! thread at all: see `watch.rs`.

mod blocking;
#[cfg(unix)]
mod direct;
mod log;
mod message;
mod runner;
#[cfg(unix)]
mod traffic;
#[cfg_attr(not(unix), path = "unwatched.rs")]
mod watch;

use std::mem::take;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::clock::LATEST;
use crate::error::{Error, ErrorKind, Result};
use crate::fork::generation;
use crate::limiter::{AsyncRateLimiter, Builder};
pub use crate::plan::Verdict;
use crate::request::Check;
pub use blocking::{is_embedded, wait_sleeping};
pub use log::log_to_stderr;
pub use message::{Answer, Ask, Completion, Item, Kind, OwnedRequest};
use runner::{Runner, Source, answer};

/// The most calls in one pipeline. Several pipelines overlap: while the server works on one, the loop takes up
/// the answers of another.
const PIPELINE: usize = 32;

/// A limiter whose calls are submitted in batches and whose answers are fetched in bursts.
///
/// The order of answers is not that of the calls; tokens tell which is which.
pub struct Bridge {
    /// Where calls that need I/O or sleep are carried out; started with the first that does.
    runner: OnceLock<Runner>,
    shared: Arc<Shared>,
    /// The process that has the runner's thread; a forked child has not.
    generation: u32,
    closed: AtomicBool,
}

impl Bridge {
    /// The token of the first completion, which says that the limiter is connected, or why not.
    pub const OPENED: u64 = 0;

    /// Begins to connect. `wake` is called, from any thread, when there are answers to fetch.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL or an option makes no sense.
    pub fn open(builder: Builder, wake: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let shared = Shared {
            completions: Mutex::default(),
            limiter: OnceLock::new(),
            #[cfg(unix)]
            direct: direct::Direct::default(),
            wake: Box::new(wake),
        };
        let bridge = Self {
            runner: OnceLock::new(),
            shared: Arc::new(shared),
            generation: generation(),
            closed: AtomicBool::new(false),
        };
        if builder.is_immediate()? {
            let limiter = at_once(builder.connect()).unwrap_or_else(|| Err(crossed()))?;
            bridge.shared.limiter.get_or_init(|| Arc::new(limiter));
            bridge.shared.complete([Completion { token: Self::OPENED, result: Ok(Answer::Done) }]);
        } else {
            bridge.runner.get_or_init(|| Runner::start(Source::Builder(builder), &bridge.shared));
        }
        Ok(bridge)
    }

    /// The limiter, once it is open: for what needs no I/O, such as
    /// [`match_request`](AsyncRateLimiter::match_request).
    pub fn limiter(&self) -> Option<&AsyncRateLimiter> {
        self.shared.limiter.get().map(Arc::as_ref)
    }

    /// What is made of the verdict on a single item, if it needs no I/O.
    #[inline]
    pub fn single_at_once<T>(
        &self,
        kind: Kind,
        check: &Check<'_>,
        make: impl FnOnce(Verdict<'_>) -> T,
    ) -> Option<Result<T>> {
        self.limiter()?.at_once(kind.into(), check, make)
    }

    /// The answer to a call, if it needs neither I/O nor sleep.
    pub fn at_once(&self, ask: &Ask) -> Option<Result<Answer>> {
        let local = self.limiter().filter(|limiter| limiter.is_embedded())?;
        if matches!(ask, Ask::Wait(..)) { None } else { at_once(answer(local, ask)) }
    }

    /// Sends calls on their way, each with a token of the caller's choice. Each is answered, within the
    /// timeouts of the limiter. Checks, peeks and refunds of one batch that are about the same key are carried
    /// out in their order, unless a connection has to be opened, the server lacks a script or it is no longer in
    /// charge; nothing else has one.
    ///
    /// Calls about single items may go by a socket that the loop watches, and others by the runner: of calls
    /// that are under way at the same time, either may be carried out first.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] in a forked child, where nothing was sent.
    pub fn submit(&self, asks: Vec<(u64, Ask)>) -> Result<()> {
        if generation() != self.generation {
            return Err(crossed());
        }
        let mut asks = asks.into_iter();
        loop {
            let pipeline: Vec<_> = asks.by_ref().take(PIPELINE).collect();
            if pipeline.is_empty() {
                return Ok(());
            }
            self.send(pipeline)?;
        }
    }

    fn send(&self, pipeline: Vec<(u64, Ask)>) -> Result<()> {
        let asks = self.submit_direct(pipeline);
        if asks.is_empty() {
            return Ok(());
        }
        let Some(runner) = self.runner.get().or_else(|| self.late_runner()) else { return Err(crossed()) };
        runner.submit(asks, &self.shared);
        Ok(())
    }

    /// Ends a wait whose caller no longer wants it; its answer may have been fetched already. Other calls
    /// end by themselves.
    pub fn cancel(&self, token: u64) {
        if generation() == self.generation
            && let Some(runner) = self.runner.get()
        {
            runner.cancel(token);
        }
    }

    /// Fetches all answers that have come.
    pub fn drain(&self) -> Vec<Completion> {
        // In a forked child the lock may be held by a thread that does not exist there.
        if generation() != self.generation {
            return Vec::new();
        }
        take(&mut *self.shared.completions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether calls still make sense, at once, while the runner may be yet to close the limiter.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`].
    pub fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Relaxed) { Err(Error::closed()) } else { Ok(()) }
    }

    /// Closes the limiter. Final: calls from then on are answered with [`ErrorKind::Closed`].
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(local) = self.limiter().filter(|limiter| limiter.is_embedded()) {
            local.close();
        }
        if generation() == self.generation
            && let Some(runner) = self.runner.get()
        {
            self.close_direct();
            runner.close();
        }
    }

    /// The runner of a limiter that was opened without one.
    fn late_runner(&self) -> Option<&Runner> {
        let limiter = self.shared.limiter.get()?;
        Some(self.runner.get_or_init(|| Runner::start(Source::Limiter(Arc::clone(limiter)), &self.shared)))
    }
}

/// What the runner hands over.
struct Shared {
    completions: Mutex<Vec<Completion>>,
    /// Set when it is open.
    limiter: OnceLock<Arc<AsyncRateLimiter>>,
    #[cfg(unix)]
    direct: direct::Direct,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Shared {
    /// Adds answers, and wakes the loop unless it has yet to fetch earlier ones.
    fn complete(&self, answers: impl IntoIterator<Item = Completion>) {
        let mut completions = self.completions.lock().unwrap_or_else(PoisonError::into_inner);
        let fetched = completions.is_empty();
        completions.extend(answers);
        let wake = fetched && !completions.is_empty();
        drop(completions);
        if wake {
            (self.wake)();
        }
    }

    /// Adds answers without waking the loop, which is about to fetch them.
    #[cfg(unix)]
    fn keep(&self, answers: Vec<Completion>) {
        if !answers.is_empty() {
            self.completions.lock().unwrap_or_else(PoisonError::into_inner).extend(answers);
        }
    }

    fn refuse(&self, asks: Vec<(u64, Ask)>, error: &Error) {
        self.complete(asks.into_iter().map(|(token, _)| Completion { token, result: Err(error.clone()) }));
    }
}

/// A time that a [`ManualClock`](crate::ManualClock) can show; it would cut others without a word.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] beyond 2^53.
pub fn showable(now_us: u64) -> Result<u64> {
    if now_us > LATEST.unsigned_abs() {
        let message = format!("now_us {now_us}: must be a whole number from 0 to 2^53");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(now_us)
}

/// The output of a future that needs no I/O and so is ready when it is first polled.
fn at_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn crossed() -> Error {
    let what = "the process was forked after the limiter was opened; open another one in the child";
    Error::new(ErrorKind::Connection, what)
}

#[cfg(test)]
mod tests;
