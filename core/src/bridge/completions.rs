//! Answers that the loop has yet to fetch.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::message::Completion;

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
        let mut kept = self.lock();
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
            self.lock().extend(answers);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Completion>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
