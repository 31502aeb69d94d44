//! Short-lived threads for what no caller waits for: finding servers, trying one that does not answer, opening
//! connections for an event loop, or for calls with less time than that takes.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};
use crate::redis::errors;
use crate::sync::lock::Mutex;

thread_local! {
    /// Whether this thread is one of these.
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// The threads of one limiter. They end by their own timeouts, or with the limiter.
#[derive(Default)]
pub(in crate::redis) struct Background {
    is_over: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Background {
    /// Runs `work` on a thread, unless the limiter is closed or the system has none.
    pub(in crate::redis) fn spawn(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn Fn() -> bool) + Send + 'static,
    ) -> Result<()> {
        let this = Arc::clone(self);
        let mut threads = self.threads.lock();
        if self.is_over.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        threads.retain(|thread| !thread.is_finished());
        let thread = thread::Builder::new().name("sluicegate".to_owned());
        let spawned = thread.spawn(move || {
            IS_BACKGROUND.set(true);
            work(&|| this.is_over.load(Ordering::Acquire));
        });
        spawned.map(|thread| threads.push(thread)).map_err(|err| errors::no_thread(&err))
    }

    /// Runs `work` on a thread and hands its result to `then`, which gets the error where there can be no thread.
    pub(in crate::redis) fn run<T, E: From<Error>>(
        self: &Arc<Self>,
        work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, E> + Send + 'static,
        then: impl FnOnce(Result<T, E>) + Clone + Send + 'static,
    ) {
        let refused = then.clone();
        if let Err(error) = self.spawn(|cancelled| then(work(cancelled))) {
            refused(Err(error.into()));
        }
    }

    /// Ends the threads, and waits for them: some 20 ms at most, as they look often whether to end.
    pub(in crate::redis) fn end(&self) {
        let mut kept = self.threads.lock();
        self.is_over.store(true, Ordering::Release);
        let threads = std::mem::take(&mut *kept);
        // Threads that are about to start others have to see that it is over.
        drop(kept);
        // A thread that wakes the last owner of a limiter does not wait for itself. Rust keeps memory for threads of C that
        // ask for their name, so those do not.
        let this = IS_BACKGROUND.get().then(|| thread::current().id());
        for thread in threads {
            // One that panicked has ended too.
            if Some(thread.thread().id()) != this {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_thread_that_ends_them_all_does_not_wait_for_itself() {
        let background = Arc::new(Background::default());
        let ((done, ended), own) = (channel(), Arc::clone(&background));
        let started = background.spawn(move |_| {
            own.end();
            done.send(()).unwrap();
        });
        started.unwrap();
        ended.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(background.spawn(|_| ()).unwrap_err().kind(), ErrorKind::Closed);
    }
}
