//! Calls as tasks that a foreign loop runs, and their answers, which it fetches.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use hashbrown::HashMap;

use super::{Answer, Completion};
use crate::error::Result;
use crate::lock::Mutex;

/// A call under way.
pub(super) type CallFuture = Pin<Box<dyn Future<Output = Result<Answer>> + Send>>;

/// The calls of one limiter. They are polled by one thread at a time.
pub(super) struct Tasks {
    calls: Mutex<HashMap<u64, (CallFuture, Waker)>>,
    ready: Arc<ReadyQueue>,
}

/// The calls that can go on.
struct ReadyQueue {
    tokens: Mutex<VecDeque<u64>>,
    /// Whether a thread is about to look at them.
    is_looked_at: AtomicBool,
    notify: Box<dyn Fn() + Send + Sync>,
}

/// Wakes one call.
struct TaskWaker {
    token: u64,
    ready: Arc<ReadyQueue>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.tokens.lock().push_back(self.token);
        // In this order here, and in the other one in `run`, no call is overlooked.
        if !self.ready.is_looked_at.load(Ordering::SeqCst) {
            (self.ready.notify)();
        }
    }
}

impl Tasks {
    /// `notify` is called, from any thread, when [`run`](Self::run) should be.
    pub(super) fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        let ready = ReadyQueue {
            tokens: Mutex::default(),
            is_looked_at: AtomicBool::new(false),
            notify: Box::new(notify),
        };
        Self { calls: Mutex::default(), ready: Arc::new(ready) }
    }

    /// Begins a call, as far as it goes by itself. Answers it if that is the end.
    pub(super) fn begin(&self, token: u64, mut call: CallFuture) -> Option<Completion> {
        let waker = Waker::from(Arc::new(TaskWaker { token, ready: Arc::clone(&self.ready) }));
        let mut calls = self.calls.lock();
        match call.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => Some(Completion { token, result }),
            Poll::Pending => {
                calls.insert(token, (call, waker));
                None
            }
        }
    }

    /// Whether a call can go on.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.tokens.lock().is_empty()
    }

    /// Says that this thread will look at calls that can go on by [`run`](Self::run): nobody need notify it.
    pub(super) fn look(&self) {
        self.ready.is_looked_at.store(true, Ordering::SeqCst);
    }

    /// Goes on with calls that can. Answers those that have ended.
    pub(super) fn run(&self) -> Vec<Completion> {
        let mut completions = Vec::new();
        loop {
            self.run_ready(&mut completions);
            self.ready.is_looked_at.store(false, Ordering::SeqCst);
            if !self.is_ready() {
                return completions;
            }
            self.look();
        }
    }

    fn run_ready(&self, completions: &mut Vec<Completion>) {
        let mut calls = self.calls.lock();
        let ready = std::mem::take(&mut *self.ready.tokens.lock());
        for token in ready {
            let Some((call, waker)) = calls.get_mut(&token) else { continue };
            if let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(waker)) {
                calls.remove(&token);
                completions.push(Completion { token, result });
            }
        }
    }

    /// Ends a call that nobody waits for any more.
    pub(super) fn cancel(&self, token: u64) {
        let cancelled = self.calls.lock().remove(&token);
        drop(cancelled);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.lock().is_empty()
    }
}

/// The token of the first completion of a limiter.
pub(super) const OPENED: u64 = 0;

/// Answers that the loop has yet to fetch.
pub(super) struct Completions {
    answers: Mutex<Vec<Completion>>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl Completions {
    pub(super) fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self { answers: Mutex::default(), wake: Box::new(wake) }
    }

    /// Adds answers, and wakes the loop unless it has yet to fetch earlier ones.
    pub(super) fn tell(&self, answers: impl IntoIterator<Item = Completion>) {
        let mut kept = self.answers.lock();
        let fetched = kept.is_empty();
        kept.extend(answers);
        let wake = fetched && !kept.is_empty();
        drop(kept);
        if wake {
            self.wake();
        }
    }

    /// Wakes the loop.
    pub(super) fn wake(&self) {
        (self.wake)();
    }

    /// Adds answers without waking the loop, which is about to fetch them.
    pub(super) fn keep(&self, answers: Vec<Completion>) {
        if !answers.is_empty() {
            self.answers.lock().extend(answers);
        }
    }

    /// Whether there are answers to fetch.
    pub(super) fn has_answers(&self) -> bool {
        !self.answers.lock().is_empty()
    }

    pub(super) fn fetch(&self) -> Vec<Completion> {
        std::mem::take(&mut *self.answers.lock())
    }
}
