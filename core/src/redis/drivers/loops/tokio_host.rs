//! The connections of a multiplexer as tasks of a Tokio runtime.
//!
//! One task serves each connection. Calls are queued by their own tasks; the connection's task runs when those that
//! are ready have run, and sends what they queued as one batch. A server that has nothing to do is not left waiting for
//! the last of them. What comes is read as soon as the runtime's I/O driver reports it.
//!
//! The driver itself reads, by a waker of our own, and wakes the tasks whose calls are answered: to Tokio these are
//! events, of which several have one sleeping thread woken in all. Woken by a task, each of them may have a thread
//! woken, which takes longer than a call (`schedule_local` and `park_internal` of Tokio's multi-threaded scheduler).

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until};

use crate::error::Error;
use crate::redis::connecting::stream::Stream;
use crate::redis::drivers::hub::{Host, Hub};
use crate::redis::drivers::multiplexer::{ConnectionId, Need};
use crate::redis::errors;
use crate::redis::wire::channel::ReadProgress;
use crate::sync::lock::Mutex;

/// How long to sleep when there is nothing to wait for.
const FAR: Duration = Duration::from_secs(3600);

/// Before more is read from a server that talks without end: in this time other tasks run, and threads that wait for
/// the multiplexer get hold of it.
const PAUSE: Duration = Duration::from_millis(1);

pub(in crate::redis) struct TokioHost {
    runtime: Handle,
    timer: Arc<Notify>,
    /// Wakes the task of each connection.
    tasks: Mutex<HashMap<ConnectionId, Arc<Notify>>>,
}

impl TokioHost {
    pub(in crate::redis) fn new(runtime: Handle) -> Self {
        Self { runtime, timer: Arc::default(), tasks: Mutex::default() }
    }
}

impl Host for TokioHost {
    fn begin(&self, hub: &Arc<Hub>) {
        self.runtime.spawn(keep_time(Arc::downgrade(hub), Arc::clone(&self.timer)));
    }

    fn watch(&self, hub: &Arc<Hub>, connection: ConnectionId) {
        let wake = Arc::new(Notify::new());
        // What was queued before the task was there.
        wake.notify_one();
        self.tasks.lock().insert(connection, Arc::clone(&wake));
        let error = errors::no_runtime();
        self.runtime.spawn(serve(Served { hub: Arc::clone(hub), connection, wake, error }));
    }

    fn serve(&self, hub: &Arc<Hub>, connection: ConnectionId, need: Need) {
        if need == Need::Send {
            hub.act(|multiplexer| multiplexer.flush(connection, Instant::now()));
        } else if let Some(wake) = self.tasks.lock().get(&connection) {
            // The task does the rest; one that closes the connection forgets it as well.
            wake.notify_one();
        }
    }

    fn hurry(&self) {
        self.timer.notify_one();
    }
}

/// Ends calls whose time is up, as long as there is a hub.
async fn keep_time(hub: Weak<Hub>, hurry: Arc<Notify>) {
    loop {
        let Some(strong) = hub.upgrade() else { return };
        let (next, is_over) = strong.act(|multiplexer| {
            multiplexer.expire(Instant::now());
            (multiplexer.deadline(), multiplexer.is_done())
        });
        drop(strong);
        if is_over {
            return;
        }
        let next = next.unwrap_or_else(|| Instant::now() + FAR);
        select! {
            () = sleep_until(next.into()) => {}
            () = hurry.notified() => {}
        }
    }
}

/// A connection that is to be served; the end of that leaves no call without an answer.
struct Served {
    hub: Arc<Hub>,
    connection: ConnectionId,
    /// Wakes the task that sends.
    wake: Arc<Notify>,
    /// Why it ends, unless all is in order.
    error: Error,
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
        // Once only: from then on, its number may be that of another connection.
        self.hub.act(|multiplexer| multiplexer.orphan(self.connection, &self.error, Instant::now()));
    }
}

struct TokioConnection {
    /// Tells when the multiplexer, which has another handle of it, can read or write.
    socket: TcpStream,
    served: Served,
}

/// Serves a connection until it is over.
async fn serve(mut served: Served) {
    let watch = |stream: &Stream| TcpStream::from_std(stream.socket.try_clone()?);
    let socket = served.hub.lock().stream(served.connection).map(watch);
    let socket = match socket {
        Some(Ok(socket)) => socket,
        Some(Err(_)) => {
            served.error = errors::unwatched();
            return;
        }
        None => return,
    };
    let connection = Arc::new(TokioConnection { socket, served });
    let reader = Waker::from(Arc::new(Reader(Arc::downgrade(&connection))));
    while !connection.is_over() {
        // What is left, and what comes from now on.
        match connection.read(&reader) {
            ReadProgress::More => sleep(PAUSE).await,
            ReadProgress::Done => connection.has_to_send().await,
        }
        connection.served.flush();
    }
}

impl TokioConnection {
    /// Takes up what has come, and has the driver wake `reader` for what is to come. Not if there is more, or the
    /// connection is over.
    fn read(&self, reader: &Waker) -> ReadProgress {
        let mut context = Context::from_waker(reader);
        while let Poll::Ready(Ok(())) = self.socket.poll_read_ready(&mut context) {
            // `try_io` clears only the readiness seen before the pump, so what comes meanwhile is not missed.
            let read = self.socket.try_io(Interest::READABLE, || {
                match self.served.hub.pump(self.served.connection) {
                    Some(ReadProgress::Done) => Err(io::ErrorKind::WouldBlock.into()),
                    Some(ReadProgress::More) | None => Ok(()),
                }
            });
            if read.is_ok() {
                return ReadProgress::More;
            }
        }
        ReadProgress::Done
    }

    /// Waits until there is something to send, and the socket takes it.
    async fn has_to_send(&self) {
        if !self.served.wants_write() {
            self.served.wake.notified().await;
            return behind().await;
        }
        select! {
            () = self.served.wake.notified() => {}
            _ = self.socket.writable() => {
                let _ = self.socket.try_io(Interest::WRITABLE, || {
                    self.served.flush();
                    if self.served.wants_write() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
                });
            }
        }
    }

    fn is_over(&self) -> bool {
        self.served.hub.lock().is_over(self.served.connection)
    }
}

/// What the driver wakes when something has come.
struct Reader(Weak<TokioConnection>);

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        // If something is left to do, an order of the multiplexer wakes the task.
        if let Some(connection) = self.0.upgrade() {
            connection.read(&Waker::from(self));
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
