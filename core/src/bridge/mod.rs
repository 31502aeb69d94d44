//! A limiter for event loops that are not Rust's: the common part of the bindings to other languages.
//!
//! Calls are submitted in batches, one per iteration of the loop, and their answers are fetched in bursts. What needs no
//! I/O is answered at once. All else are tasks that the loop itself runs, on connections that it watches: no thread
//! lies between a call and its answer. Where a loop can watch no files, a thread does that for it.
//!
//! What a loop does that can watch a file:
//! 1. Whenever it is woken, it asks [`Bridge::new_socket`] for a file to watch, and [`Bridge::is_socket_over`] whether
//!    to watch that no longer; then [`Bridge::end_socket`].
//! 2. When the file is readable, it calls [`Bridge::read_socket`].
//! 3. It calls [`Bridge::expire`] when that asks for it: while calls are under way, units are borrowed, or servers watch keys.
//! 4. After any of these, and after [`Bridge::submit`], it calls [`Bridge::drain`]: it is not woken for answers that
//!    are found on its own thread.

mod blocking;
mod line;
mod log;
mod message;
mod outbox;
mod runner;
mod tasks;
mod timers;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
pub use crate::http::{ForwardedHeader, Problem, TrustedProxies, client_address, is_header_name};
use crate::limiter::{AsyncRateLimiter, Builder};
pub use crate::options::{CredentialsReply, OPTIONS, OptionKind, OptionSpec, OptionValue};
pub use crate::plan::{Form, RawDecision};
use crate::redis::forked;
use crate::request::Check;
use crate::sync::fork::generation;
use crate::time::clock::LATEST;
pub use blocking::{change_key_record, end, reserve_sleeping, wait_sleeping};
pub use line::LogLine;
pub use log::{LogSink, end_background_log, log_in_background, log_to};
use message::answer;
pub use message::{
    Answer, Completion, End, Item, KeyRecordChange, Kind, OwnedCall, OwnedRequest, Reserved, Span, Used,
};
use runner::{OPENED, Runner};

/// The most calls in one batch. Several overlap: while the server works on one, the loop takes up the answers of
/// another.
const BATCH: usize = 32;

/// After so many batches the loop takes up what has come.
const TURN: usize = 16;

/// A limiter whose calls are submitted in batches and whose answers are fetched in bursts.
///
/// The order of answers is not that of the calls; tokens tell which is which.
pub struct Bridge {
    runner: Arc<Runner>,
    /// The process in which the limiter was opened; a forked child must not touch the connections.
    generation: u32,
}

impl Bridge {
    /// The token of the first completion, which says that the limiter is connected, or why not.
    pub const OPENED: u64 = OPENED;

    /// Begins to connect. `wake` is called, from any thread, when there are answers to fetch.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL or an option makes no sense; [`ErrorKind::Connection`] when the
    /// system has no more files to open.
    pub fn open(builder: Builder, wake: impl Fn() + Send + Sync + 'static) -> Result<Self> {
        let is_immediate = builder.is_immediate()?;
        let runner = Runner::new(wake);
        if is_immediate {
            let limiter = builder.open_on(None, runner.sleeper())?;
            runner.opened(Ok(limiter));
        } else {
            runner.open(builder)?;
        }
        Ok(Self { runner, generation: generation() })
    }

    /// The limiter, once it is open: for what needs no I/O, such as
    /// [`match_request`](AsyncRateLimiter::match_request).
    pub fn limiter(&self) -> Option<&AsyncRateLimiter> {
        self.runner.limiter()
    }

    /// Whether checks may be decided at once by what a server lent or said before.
    pub fn uses_cells(&self) -> bool {
        self.limiter().is_some_and(AsyncRateLimiter::uses_cells)
    }

    /// Decides a single item in memory, or by what a server lent or said before, and returns what `make` builds of the raw decision;
    /// `None` where a server has to be asked, which takes I/O,
    /// and before the limiter is open.
    #[inline]
    pub fn single_at_once<T>(
        &self,
        kind: Kind,
        check: &Check<'_>,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Option<Result<T>> {
        self.limiter()?.at_once(kind, check, make)
    }

    /// The answer to a call, if it needs neither I/O nor sleep.
    pub fn at_once(&self, call: &OwnedCall) -> Option<Result<Answer>> {
        let memory = self.limiter().filter(|limiter| limiter.is_in_memory())?;
        if call.sleeps() { None } else { at_once(answer(memory, call)) }
    }

    /// Sends calls on their way, each with a token of the caller's choice. Each is answered, within the
    /// timeouts of the limiter. Checks, peeks and refunds of one batch that are about the same key are carried
    /// out in their order, unless a connection has to be opened, the server lacks a script or it is no longer in
    /// charge; nothing else has one.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`] in a forked child, where nothing was sent.
    pub fn submit(&self, calls: Vec<(u64, OwnedCall)>) -> Result<()> {
        if !self.is_mine() {
            return Err(forked());
        }
        let mut calls = calls.into_iter();
        let mut batches = 0;
        while calls.len() > 0 {
            self.runner.submit(calls.by_ref().take(BATCH));
            batches += 1;
            // Of very many calls the first are answered while the last are yet to be sent.
            if batches % TURN == 0 {
                self.runner.turn();
            }
        }
        Ok(())
    }

    /// Ends a call whose caller no longer wants it: one that waits leaves the queue, and what is reserved for it is
    /// released. Answers whether it was ended; if not, its answer is to be fetched, or was: a reservation in that is the caller's
    /// to release.
    pub fn cancel(&self, token: u64) -> bool {
        self.is_mine() && self.runner.cancel(token)
    }

    /// Whether the server has yet to release what calls had reserved that were cancelled. Who closes the limiter before that
    /// leaves it reserved until its lease ends.
    pub fn is_releasing(&self) -> bool {
        self.is_mine() && self.runner.is_releasing()
    }

    /// Fetches all answers that have come.
    pub fn drain(&self) -> Vec<Completion> {
        // In a forked child the lock may be held by a thread that does not exist there.
        if self.is_mine() { self.runner.answers.take() } else { Vec::new() }
    }

    /// Whether there are answers to fetch.
    pub fn has_answers(&self) -> bool {
        self.is_mine() && !self.runner.answers.is_empty()
    }

    /// Whether calls still make sense.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`].
    pub fn ensure_open(&self) -> Result<()> {
        if self.runner.is_closed.load(Ordering::Relaxed) { Err(Error::closed()) } else { Ok(()) }
    }

    /// Closes the limiter. Final: calls from then on are answered with [`ErrorKind::Closed`].
    pub fn close(&self) {
        self.runner.is_closed.store(true, Ordering::Release);
        if let Some(memory) = self.limiter().filter(|limiter| limiter.is_in_memory()) {
            memory.close();
        }
        if self.is_mine() {
            self.runner.close();
        }
    }

    /// A file that the loop has to watch from now on.
    pub fn new_socket(&self) -> Option<i32> {
        if self.is_mine() { self.runner.new_file() } else { None }
    }

    /// Whether the file should no longer be watched.
    pub fn is_socket_over(&self) -> bool {
        self.is_mine() && self.runner.is_over()
    }

    /// Closes the file, which is not watched any more. Of a limiter that is closed, neither a descriptor nor a thread is
    /// left then.
    pub fn end_socket(&self) {
        if self.is_mine() {
            self.runner.end_file();
            self.runner.join();
        }
    }

    /// Whether a call that is submitted now is the only one under way.
    pub fn is_socket_idle(&self) -> bool {
        self.is_mine() && self.runner.is_idle()
    }

    /// Takes up what has come.
    pub fn read_socket(&self) {
        if self.is_mine() {
            self.runner.turn();
        }
    }

    /// Spins for a moment for the answer to a call that is alone under way; to be called when the loop has nothing
    /// else to do.
    pub fn spin(&self) {
        if self.is_mine() {
            self.runner.spin();
        }
    }

    /// Ends the calls whose time is up, and gives back what is borrowed and not spent in time. Answers when to call it again, if
    /// any are under way or anything is borrowed.
    pub fn expire(&self) -> Option<Duration> {
        if self.is_mine() { self.runner.expire() } else { None }
    }

    /// Whether [`expire`](Self::expire) is to be called sooner than it last asked for.
    pub fn is_hurried(&self) -> bool {
        self.is_mine() && self.runner.is_hurried()
    }

    fn is_mine(&self) -> bool {
        generation() == self.generation
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.close();
        if self.is_mine() {
            self.runner.end_file();
        } else {
            self.runner.forget();
        }
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
#[inline]
fn at_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests;
