//! Wakes a thread or a task.

use std::task::Waker;
use std::thread::Thread;

/// How a waiter is woken.
#[derive(Debug)]
pub(super) enum Wake {
    Thread(Thread),
    Task(Waker),
}

impl Wake {
    pub(super) fn wake(self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }
}
