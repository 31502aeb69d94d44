//! Sleeps of tasks on a foreign loop.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::limiter::{Repeated, Sleeper};
use crate::redis::{Host, LoopHost};
use crate::sync::lock::Mutex;

/// Names a sleep: when it ends, and a number of its own.
type Name = (Instant, u64);

/// The sleeps of one limiter, in the order of their ends.
#[derive(Clone)]
pub(super) struct Timers {
    state: Arc<Mutex<Sleeps>>,
    host: Arc<LoopHost>,
}

#[derive(Default)]
struct Sleeps {
    wakers: BTreeMap<Name, Waker>,
    last: u64,
    repeats: Vec<Repeat>,
}

/// What is done again and again, also while nobody calls.
struct Repeat {
    next: Instant,
    span: Duration,
    what: Repeated,
}

impl Timers {
    /// The host is hurried when a sleep begins that ends before all others.
    pub(super) fn new(host: Arc<LoopHost>) -> Self {
        Self { state: Arc::default(), host }
    }

    /// When the next sleep ends, or something is to be done again.
    pub(super) fn next(&self) -> Option<Instant> {
        let state = self.state.lock();
        let sleep = state.wakers.first_key_value().map(|((end, _), _)| *end);
        sleep.into_iter().chain(state.repeats.iter().map(|repeat| repeat.next)).min()
    }

    /// Whether something is done while nobody calls.
    pub(super) fn repeats(&self) -> bool {
        !self.state.lock().repeats.is_empty()
    }

    /// Ends the sleeps whose time is up, and does what is due.
    pub(super) fn expire(&self, now: Instant) {
        let mut over = Vec::new();
        let mut state = self.state.lock();
        while let Some(first) = state.wakers.first_entry().filter(|first| first.key().0 <= now) {
            over.push(first.remove());
        }
        let due: Vec<_> = state.repeats.extract_if(.., |repeat| repeat.next <= now).collect();
        drop(state);
        over.into_iter().for_each(Waker::wake);
        for mut repeat in due {
            if (repeat.what)() {
                repeat.next = now + repeat.span;
                self.state.lock().repeats.push(repeat);
            }
        }
    }
}

impl Sleeper for Timers {
    fn sleep(&self, end: Instant) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut state = self.state.lock();
        state.last += 1;
        let name = (end, state.last);
        drop(state);
        Box::pin(Sleep { timers: self.clone(), name })
    }

    fn repeat(&self, span: Duration, what: Repeated) {
        self.state.lock().repeats.push(Repeat { next: Instant::now() + span, span, what });
        self.host.hurry();
        // The loop may have no other reason to ask when to come back.
        self.host.notify();
    }
}

struct Sleep {
    timers: Timers,
    name: Name,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.name.0 {
            return Poll::Ready(());
        }
        let mut state = self.timers.state.lock();
        let is_new = state.wakers.insert(self.name, context.waker().clone()).is_none();
        if is_new && state.wakers.first_key_value().is_some_and(|(first, _)| *first == self.name) {
            self.timers.host.hurry();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.timers.state.lock().wakers.remove(&self.name);
    }
}
