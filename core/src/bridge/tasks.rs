//! Calls as tasks that a foreign loop runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use hashbrown::HashMap;
use tokio_util::sync::ReusableBoxFuture;

use super::{Answer, Completion};
use crate::error::{Error, Result};
use crate::redis::LoopHost;
use crate::sync::inbox::Inbox;
use crate::sync::lock::Mutex;

/// The most tasks that are kept when they have ended.
const MOST_SPARE: usize = 128;

/// A call under way. Its memory, of some KB, serves one call after another.
struct Task {
    call: ReusableBoxFuture<'static, Result<Answer>>,
    identity: Arc<TaskWaker>,
    waker: Waker,
}

/// The calls of one limiter. They are polled by one thread at a time.
pub(super) struct Tasks {
    table: Mutex<TaskTable>,
    ready: Arc<ReadyQueue>,
}

#[derive(Default)]
struct TaskTable {
    running: HashMap<u64, Task>,
    spare: Vec<Task>,
    /// Those that are being gone on with.
    turn: Vec<u64>,
}

/// The calls that can go on.
struct ReadyQueue {
    tokens: Inbox<u64>,
    /// Whether a thread is about to look at them.
    is_looked_at: AtomicBool,
    host: Arc<LoopHost>,
}

/// Wakes one call after another; who wakes one that has ended does no harm to the next.
struct TaskWaker {
    token: AtomicU64,
    ready: Arc<ReadyQueue>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ready.tokens.push(self.token.load(Ordering::Acquire));
        // In this order here, and in the other one in `run`, no call is overlooked.
        if !self.ready.is_looked_at.load(Ordering::SeqCst) {
            self.ready.host.notify();
        }
    }
}

impl Tasks {
    /// The host is notified, from any thread, when [`run`](Self::run) should be called.
    pub(super) fn new(host: Arc<LoopHost>) -> Self {
        let ready = ReadyQueue { tokens: Inbox::default(), is_looked_at: AtomicBool::new(false), host };
        Self { table: Mutex::default(), ready: Arc::new(ready) }
    }

    /// Begins calls, each as far as it goes by itself. Answers those that have ended then.
    pub(super) fn begin<F>(&self, calls: impl Iterator<Item = (u64, F)>) -> Vec<Completion>
    where
        F: Future<Output = Result<Answer>> + Send + 'static,
    {
        let mut table = self.table.lock();
        calls.filter_map(|(token, call)| table.begin(token, call, &self.ready)).collect()
    }

    /// Whether a call can go on.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.tokens.is_empty()
    }

    /// Says that this thread will look at calls that can go on by [`run`](Self::run): nobody need notify it.
    pub(super) fn look(&self) {
        self.ready.is_looked_at.store(true, Ordering::SeqCst);
    }

    /// Goes on with calls that can. Answers those that have ended.
    pub(super) fn run(&self) -> Vec<Completion> {
        let mut completions = Vec::new();
        loop {
            if self.is_ready() {
                self.run_ready(&mut completions);
            }
            self.ready.is_looked_at.store(false, Ordering::SeqCst);
            if !self.is_ready() {
                return completions;
            }
            self.look();
        }
    }

    fn run_ready(&self, completions: &mut Vec<Completion>) {
        let mut table = self.table.lock();
        let mut turn = std::mem::take(&mut table.turn);
        self.ready.tokens.take_into(&mut turn);
        completions.reserve(turn.len());
        for token in turn.drain(..) {
            let Some(task) = table.running.get_mut(&token) else { continue };
            if let Poll::Ready(result) = task.call.poll(&mut Context::from_waker(&task.waker)) {
                let ended = table.running.remove(&token);
                ended.into_iter().for_each(|task| table.keep(task));
                completions.push(Completion { token, result });
            }
        }
        table.turn = turn;
    }

    /// Ends a call that nobody waits for any more. Answers whether there will be no completion of it.
    pub(super) fn cancel(&self, token: u64) -> bool {
        let cancelled = self.table.lock().running.remove(&token);
        cancelled.is_some()
    }

    /// Ends all calls that are under way, with this error.
    pub(super) fn end(&self, error: &Error) -> Vec<Completion> {
        let running = std::mem::take(&mut self.table.lock().running);
        running.into_keys().map(|token| Completion { token, result: Err(error.clone()) }).collect()
    }

    /// Leaves the calls as they are, in a forked child: to drop them takes locks that a thread may hold that does not exist
    /// there.
    pub(super) fn forget(&self) {
        if let Ok(mut table) = self.table.try_lock() {
            std::mem::forget(std::mem::take(&mut table.running));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.table.lock().running.is_empty()
    }
}

impl TaskTable {
    fn begin(
        &mut self,
        token: u64,
        call: impl Future<Output = Result<Answer>> + Send + 'static,
        ready: &Arc<ReadyQueue>,
    ) -> Option<Completion> {
        let mut task = match self.spare.pop() {
            Some(mut task) => {
                task.call.set(call);
                task.identity.token.store(token, Ordering::Release);
                task
            }
            None => {
                let identity = Arc::new(TaskWaker { token: AtomicU64::new(token), ready: Arc::clone(ready) });
                let waker = Waker::from(Arc::clone(&identity));
                Task { call: ReusableBoxFuture::new(call), identity, waker }
            }
        };
        match task.call.poll(&mut Context::from_waker(&task.waker)) {
            Poll::Ready(result) => {
                self.keep(task);
                Some(Completion { token, result })
            }
            Poll::Pending => {
                self.running.insert(token, task);
                None
            }
        }
    }

    /// Keeps a task that has ended for the next call.
    #[inline(always)]
    fn keep(&mut self, task: Task) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(task);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    #[test]
    fn calls_of_a_parent_are_not_dropped_in_a_child() {
        let tasks = Tasks::new(Arc::default());
        let held = Arc::new(());
        let call = |held: Arc<()>| async move {
            std::future::pending::<()>().await;
            drop(held);
            Ok(Answer::Done)
        };
        assert!(tasks.begin(std::iter::once((1, call(Arc::clone(&held))))).is_empty());
        let kept: Weak<()> = Arc::downgrade(&held);
        drop(held);
        tasks.forget();
        drop(tasks);
        assert_eq!(kept.strong_count(), 1);
    }
}
