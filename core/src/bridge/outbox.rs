//! Messages that a thread of their own writes.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::line::LogLine;

/// More messages than this do not wait to be written; further ones are dropped.
const MOST: usize = 1000;

pub(super) struct Outbox {
    write: fn(&LogLine),
    state: Mutex<PendingLines>,
    /// Signalled when the writer ends.
    ended: Condvar,
}

#[derive(Default)]
struct PendingLines {
    messages: VecDeque<LogLine>,
    has_writer: bool,
    is_closed: bool,
}

impl Outbox {
    pub(super) fn new(write: fn(&LogLine)) -> Self {
        Self { write, state: Mutex::default(), ended: Condvar::new() }
    }

    /// One for a forked child, in which nothing is written yet.
    pub(super) fn empty(&self) -> Self {
        Self::new(self.write)
    }

    /// Has a message written; `false` if nothing is written any more.
    pub(super) fn put(self: &Arc<Self>, message: &LogLine) -> bool {
        let mut state = self.lock();
        if state.is_closed {
            return false;
        }
        if state.messages.len() < MOST {
            state.messages.push_back(message.clone());
        }
        if !state.has_writer {
            let writer = Arc::clone(self);
            let thread = thread::Builder::new().name("sluicegate-log".to_owned());
            state.has_writer = thread.spawn(move || writer.run()).is_ok();
        }
        true
    }

    fn run(&self) {
        while let Some(message) = self.next() {
            (self.write)(&message);
        }
    }

    fn next(&self) -> Option<LogLine> {
        let mut state = self.lock();
        let message = state.messages.pop_front();
        if message.is_none() {
            state.has_writer = false;
            self.ended.notify_all();
        }
        message
    }

    /// Takes no more messages, and waits until those so far are written, for so long at most. What is left then is dropped.
    pub(super) fn close(&self, timeout: Duration) {
        let mut state = self.lock();
        state.is_closed = true;
        let waited = self.ended.wait_timeout_while(state, timeout, |state| state.has_writer);
        waited.unwrap_or_else(PoisonError::into_inner).0.messages.clear();
    }

    fn lock(&self) -> MutexGuard<'_, PendingLines> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static WRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn write(line: &LogLine) {
        WRITTEN.lock().unwrap().push(line.message.clone());
    }

    fn line(message: &str) -> LogLine {
        LogLine {
            is_warning: true,
            is_debug: false,
            event: "warning".to_owned(),
            message: message.to_owned(),
        }
    }

    #[test]
    fn messages_are_written_in_their_order_until_it_is_closed() {
        let outbox = Arc::new(Outbox::new(write));
        let messages: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        assert!(messages.iter().all(|message| outbox.put(&line(message))));
        outbox.close(Duration::from_secs(10));
        assert_eq!(*WRITTEN.lock().unwrap(), messages);
        assert!(!outbox.put(&line("late")) && outbox.empty().lock().messages.is_empty());
    }
}
