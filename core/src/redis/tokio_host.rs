//! The connections of a multiplexer as tasks of a Tokio runtime.
//!
//! One task serves each connection. Calls are queued by their own tasks; the connection's task runs when those that
//! are ready have run, and sends what they queued as one batch.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::sleep_until;

use super::channel::ReadProgress;
use super::errors;
use super::hub::{Host, Hub};
use super::multiplexer::ConnectionId;
use super::readiness::SocketReadiness;
use crate::lock::Mutex;

/// How long to sleep when there is nothing to wait for.
const FAR: Duration = Duration::from_secs(3600);

pub(super) struct TokioHost {
    runtime: Handle,
    timer: Arc<Notify>,
    /// Wakes the task of each connection.
    tasks: Mutex<HashMap<ConnectionId, Arc<Notify>>>,
}

impl TokioHost {
    pub(super) fn new(runtime: Handle) -> Self {
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
        self.runtime.spawn(serve(Served { hub: Arc::clone(hub), connection, wake }));
    }

    fn flush(&self, hub: &Arc<Hub>, connection: ConnectionId) {
        // A call that is alone has nothing to share a batch with.
        let is_alone = hub.act(|multiplexer| {
            let is_alone = multiplexer.is_alone();
            if is_alone {
                multiplexer.flush(connection, Instant::now());
            }
            is_alone && !multiplexer.wants_write(connection)
        });
        if !is_alone && let Some(wake) = self.tasks.lock().get(&connection) {
            wake.notify_one();
        }
    }

    fn close(&self, _: &Arc<Hub>, connection: ConnectionId) {
        // The task forgets the connection when it does not watch it any more.
        if let Some(wake) = self.tasks.lock().get(&connection) {
            wake.notify_one();
        }
    }

    fn hurry(&self) {
        self.timer.notify_one();
    }
}

/// A connection as its task has it; its end leaves no call without an answer.
struct Served {
    hub: Arc<Hub>,
    connection: ConnectionId,
    wake: Arc<Notify>,
}

impl Drop for Served {
    fn drop(&mut self) {
        // Unless all is in order, the runtime has shut down.
        self.hub
            .act(|multiplexer| multiplexer.orphan(self.connection, &errors::no_runtime(), Instant::now()));
    }
}

async fn serve(served: Served) {
    let watched = served.hub.lock().stream(served.connection).map(SocketReadiness::new);
    let Some(Ok(watched)) = watched else { return };
    loop {
        let wants_write = served.hub.lock().wants_write(served.connection);
        let interest = if wants_write { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        let ready = select! {
            () = served.wake.notified() => {
                // Who is woken by a task runs next, before the tasks that are ready: so it goes behind them.
                yield_now().await;
                None
            }
            ready = watched.ready(interest) => ready.ok(),
        };
        match served.hub.pump(served.connection) {
            Some(ReadProgress::More) => yield_now().await,
            Some(ReadProgress::Done) => {
                if let Some(ready) = ready {
                    watched.clear(ready);
                }
            }
            None => break,
        }
        if served.hub.lock().is_over(served.connection) {
            break;
        }
    }
    // Not watched any more by the time the socket is closed.
    drop(watched);
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
