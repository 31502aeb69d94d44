//! A connection on a Tokio runtime: a task sends what calls have queued, and what comes is read as soon as the runtime's
//! I/O driver reports it.
//!
//! The driver itself reads, by a waker of our own, and wakes the tasks whose calls are answered: to Tokio these are
//! events, of which several have one sleeping thread woken in all. Woken by a task, each of them may have a thread
//! woken, which takes longer than a call (`schedule_local` and `park_internal` of Tokio's multi-threaded scheduler).

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use tokio::select;
use tokio::sync::Notify;

use super::channel::ReadProgress;
use super::errors;
use super::hub::Hub;
use super::multiplexer::ConnectionId;
use super::readiness::SocketReadiness;

/// A connection that is to be served; the end of that leaves no call without an answer.
pub(super) struct Served {
    pub(super) hub: Arc<Hub>,
    pub(super) connection: ConnectionId,
    /// Wakes the task that sends.
    pub(super) wake: Arc<Notify>,
}

impl Served {
    fn flush(&self) {
        self.hub.act(|multiplexer| multiplexer.flush(self.connection, Instant::now()));
    }

    fn wants_write(&self) -> bool {
        self.hub.lock().wants_write(self.connection)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Unless all is in order, the runtime has shut down.
        self.hub
            .act(|multiplexer| multiplexer.orphan(self.connection, &errors::no_runtime(), Instant::now()));
    }
}

struct TokioConnection {
    // Fields are dropped in their order: the socket is not watched any more by the time it is closed.
    readiness: SocketReadiness,
    served: Served,
    /// Whether reading has panicked.
    is_broken: AtomicBool,
}

/// Serves a connection until it is over.
pub(super) async fn serve(served: Served) {
    let readiness = served.hub.lock().stream(served.connection).map(SocketReadiness::new);
    let Some(Ok(readiness)) = readiness else { return };
    let connection = Arc::new(TokioConnection { readiness, served, is_broken: AtomicBool::new(false) });
    let reader = Waker::from(Arc::new(Reader(Arc::downgrade(&connection))));
    while !connection.is_over() {
        // What is left, and what comes from now on.
        connection.read(&reader);
        connection.has_to_send().await;
        connection.served.flush();
    }
}

impl TokioConnection {
    /// Takes up what has come, and has the driver wake `reader` for what is to come.
    fn read(&self, reader: &Waker) {
        let mut context = Context::from_waker(reader);
        while let Poll::Ready(Ok(ready)) = self.readiness.poll_read(&mut context) {
            match self.served.hub.pump(self.served.connection) {
                Some(ReadProgress::Done) => self.readiness.clear(ready),
                // Others have their turn before the rest.
                Some(ReadProgress::More) | None => return self.served.wake.notify_one(),
            }
        }
    }

    /// Waits until there is something to send, and the socket takes it.
    async fn has_to_send(&self) {
        if !self.served.wants_write() {
            self.served.wake.notified().await;
            return behind().await;
        }
        select! {
            () = self.served.wake.notified() => {}
            ready = self.readiness.writable() => {
                self.served.flush();
                if let Ok(ready) = ready && self.served.wants_write() {
                    self.readiness.clear(ready);
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_broken.load(Ordering::Acquire) || self.served.hub.lock().is_over(self.served.connection)
    }
}

/// What the driver wakes when something has come.
struct Reader(Weak<TokioConnection>);

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        let Some(connection) = self.0.upgrade() else { return };
        let reader = Waker::from(self);
        // A panic would take the driver, and all that the runtime does, with it.
        if catch_unwind(AssertUnwindSafe(|| connection.read(&reader))).is_err() {
            connection.is_broken.store(true, Ordering::Release);
            connection.served.wake.notify_one();
        }
    }
}

/// Lets the tasks run that are ready. Tokio's `yield_now` comes back only after the runtime has also looked for
/// events, which one that is busy seldom does.
async fn behind() {
    let mut is_behind = false;
    poll_fn(|context| {
        if is_behind {
            return Poll::Ready(());
        }
        is_behind = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
