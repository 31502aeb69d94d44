//! The connections of a multiplexer as tasks of a Tokio runtime.
//!
//! One task serves each connection. Calls are queued by their own tasks; the connection's task runs when those that
//! are ready have run, and sends what they queued as one batch. A server that has nothing to do is not left waiting for
//! the last of them.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::Notify;
use tokio::time::sleep_until;

use super::hub::{Host, Hub};
use super::multiplexer::ConnectionId;
use super::tokio_connection::{Served, serve};
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

    fn wake(&self, connection: ConnectionId) {
        if let Some(wake) = self.tasks.lock().get(&connection) {
            wake.notify_one();
        }
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

    fn flush(&self, _: &Arc<Hub>, connection: ConnectionId) {
        self.wake(connection);
    }

    fn send(&self, hub: &Arc<Hub>, connection: ConnectionId) {
        hub.act(|multiplexer| multiplexer.flush(connection, Instant::now()));
    }

    fn read_on(&self, connection: ConnectionId) {
        self.wake(connection);
    }

    fn watch_writing(&self, _: &Arc<Hub>, connection: ConnectionId) {
        self.wake(connection);
    }

    fn close(&self, _: &Arc<Hub>, connection: ConnectionId) {
        // The task forgets the connection when it does not watch it any more.
        self.wake(connection);
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
