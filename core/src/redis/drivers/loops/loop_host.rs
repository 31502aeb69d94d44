//! The connections of a multiplexer on an event loop that is not Rust's.
//!
//! All connections are watched by one poller, which is a file of its own: a foreign loop watches that one file. It
//! is readable when a connection is ready, or when another thread has something for the loop to take up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use polling::{Event, Events, PollMode, Poller};

use crate::redis::connecting::stream::Stream;
use crate::redis::drivers::hub::{Host, Hub};
use crate::redis::drivers::multiplexer::{ConnectionId, Need};
use crate::sync::inbox::Inbox;
use crate::sync::lock::Mutex;

/// The connections of one multiplexer. Several may be watched by one file.
#[derive(Default)]
pub(crate) struct LoopHost {
    watch: Arc<Watch>,
    /// The connections that have something to send.
    dirty: Inbox<ConnectionId>,
}

/// What a loop watches.
#[derive(Default)]
struct Watch {
    file: Mutex<File>,
    events: Mutex<Option<Events>>,
    /// Another thread has notified the poller.
    notified: AtomicBool,
    hurried: AtomicBool,
}

#[derive(Default)]
enum File {
    /// Opened when it is needed.
    #[default]
    Unopened,
    Open(Arc<Poller>),
    /// The loop does not watch it any more.
    Closed,
}

impl LoopHost {
    /// One for another multiplexer, whose connections the same file watches.
    pub(crate) fn beside(&self) -> Self {
        Self { watch: Arc::clone(&self.watch), dirty: Inbox::default() }
    }

    /// Opens the file, unless it is open. Answers whether it did.
    pub(crate) fn open(&self) -> io::Result<bool> {
        let mut file = self.watch.file.lock();
        let is_new = matches!(*file, File::Unopened);
        if is_new {
            *file = File::Open(Arc::new(Poller::new()?));
        }
        Ok(is_new)
    }

    /// The file to watch. Where a poller is none that a loop can watch, a thread waits for it.
    pub(crate) fn descriptor(&self) -> Option<i32> {
        #[cfg(unix)]
        return Some(std::os::fd::AsRawFd::as_raw_fd(&*self.poller()?));
        #[cfg(not(unix))]
        return None;
    }

    /// Closes the file, which nobody watches any more.
    pub(crate) fn close_file(&self) {
        *self.watch.file.lock() = File::Closed;
    }

    /// Makes the file readable, or ends a [`wait`](Self::wait): there is something to take up.
    pub(crate) fn notify(&self) {
        if let Some(poller) = self.poller() {
            // Without room for one more wake, one is under way.
            let _ = poller.notify();
            // Not before: a turn in between would leave the file readable.
            self.watch.notified.store(true, Ordering::Release);
        }
    }

    /// Waits until the file is readable, for so long at most.
    pub(crate) fn wait(&self, limit: Option<Duration>) {
        /// Where there is no file, since the system has no more.
        const NAP: Duration = Duration::from_millis(10);
        let (Ok(is_new), Some(poller)) = (self.open(), self.poller()) else {
            return std::thread::sleep(limit.unwrap_or(NAP).min(NAP));
        };
        if is_new {
            // Nobody could notify it before: there may be something to take up.
            return;
        }
        let mut events = self.watch.events.lock();
        let events = events.get_or_insert_with(Events::new);
        events.clear();
        self.watch.notified.store(false, Ordering::Release);
        let _ = poller.wait(events, limit);
    }

    /// Takes up what has come on all connections, and sends what is to be sent.
    pub(crate) fn turn(&self, hub: &Arc<Hub>) {
        if self.watch.notified.load(Ordering::Acquire) {
            self.wait(Some(Duration::ZERO));
        }
        let connections = hub.lock().connections();
        for connection in connections {
            hub.pump(connection);
        }
        self.flush_dirty(hub);
    }

    /// Looks at the connections on which something is under way.
    pub(crate) fn look(&self, hub: &Arc<Hub>, now: Instant) {
        hub.act(|multiplexer| multiplexer.pump_busy(now));
    }

    /// Sends what calls have queued.
    pub(crate) fn flush_dirty(&self, hub: &Arc<Hub>) {
        while !self.dirty.is_empty() {
            let mut dirty = self.dirty.take();
            dirty.dedup();
            for connection in dirty {
                hub.act(|multiplexer| multiplexer.flush(connection, Instant::now()));
            }
        }
    }

    /// Whether the deadline has come nearer since this was last asked.
    pub(crate) fn take_hurry(&self) -> bool {
        self.watch.hurried.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn is_hurried(&self) -> bool {
        self.watch.hurried.load(Ordering::Acquire)
    }

    fn poller(&self) -> Option<Arc<Poller>> {
        match &*self.watch.file.lock() {
            File::Open(poller) => Some(Arc::clone(poller)),
            File::Unopened | File::Closed => None,
        }
    }

    fn watch_writing(&self, hub: &Hub, connection: ConnectionId) {
        // Only while there is more to send: else it would always be ready.
        let multiplexer = hub.lock();
        let wants = multiplexer.wants_write(connection);
        let (Some(stream), Some(poller)) = (multiplexer.stream(connection), self.poller()) else { return };
        let event = if wants { Event::all(connection) } else { Event::readable(connection) };
        // Without effect on one that is not watched yet: this is done again once it is.
        let _ = poller.modify_with_mode(&*stream.socket, event, PollMode::Level);
    }

    fn close(&self, hub: &Hub, connection: ConnectionId) {
        let mut multiplexer = hub.lock();
        if !multiplexer.is_over(connection) {
            // Another one has its number by now.
            return;
        }
        if let (Some(stream), Some(poller)) = (multiplexer.stream(connection), self.poller()) {
            let _ = poller.delete(&*stream.socket);
        }
        // Under the same lock: in between it could be watched.
        multiplexer.remove(connection);
    }
}

#[allow(unsafe_code, reason = "a socket must not be closed before it is taken out of the poller")]
fn add(poller: &Poller, stream: &Stream, connection: ConnectionId) -> bool {
    // SAFETY: the connection is removed from the multiplexer, which closes it, only by `close` above, after it was
    // taken out; or with the multiplexer itself, whose poller is gone by then.
    let added =
        unsafe { poller.add_with_mode(&*stream.socket, Event::readable(connection), PollMode::Level) };
    // Another one may have ended before it was watched, and this one have got its number, and be watched by now.
    added.map_or_else(|err| err.kind() == io::ErrorKind::AlreadyExists, |()| true)
}

impl Host for LoopHost {
    fn watch(&self, hub: &Arc<Hub>, connection: ConnectionId) {
        let is_watched = match (hub.lock().stream(connection), self.poller()) {
            (Some(stream), Some(poller)) => add(&poller, stream, connection),
            _ => false,
        };
        if is_watched {
            // The loop may have sent what was queued before it was watched.
            self.watch_writing(hub, connection);
            // On the thread that opened it: the loop need not wait for its turn.
            self.flush_dirty(hub);
        } else {
            let error = crate::redis::errors::unwatched();
            hub.act(|multiplexer| multiplexer.orphan(connection, &error, Instant::now()));
        }
        self.notify();
    }

    fn serve(&self, hub: &Arc<Hub>, connection: ConnectionId, need: Need) {
        match need {
            Need::Flush | Need::Send => self.dirty.push(connection),
            // The next turn reads on all.
            Need::Read => self.notify(),
            Need::Watch => self.watch_writing(hub, connection),
            Need::Close => self.close(hub, connection),
        }
    }

    fn wake(&self) {
        self.notify();
    }

    fn hurry(&self) {
        self.watch.hurried.store(true, Ordering::Release);
    }
}
