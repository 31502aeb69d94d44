//! What threads do that nobody waits for: a thread of its own serves such calls where no other one waits.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use super::blocking::{BlockingRedis, Connections, ThreadHost};
use crate::redis::connecting::stream::Stream;
use crate::redis::drivers::hub::Hub;
use crate::redis::drivers::multiplexer::{Multiplexer, Then};
use crate::redis::wire::command::RedisCommand;
use crate::script::ScriptCall;

impl BlockingRedis {
    /// Sends a script that nobody waits for.
    pub(crate) fn send_detached(&self, call: ScriptCall, then: Then) {
        if let Ok(Connections { hub, host }) = self.connections() {
            let (request, deadline) = (RedisCommand::Script(call), self.deadline(None));
            hub.act(|multiplexer| {
                let now = Instant::now();
                host.look_after(multiplexer, now);
                multiplexer.send_detached(request, deadline, then, now);
            });
            if host.begin_to_attend(hub) {
                let (attended, attending) = (Arc::clone(hub), Arc::clone(host));
                // Without a thread it is seen to by the next call.
                if hub.connector.background.spawn(move |_| attending.attend(&attended)).is_err() {
                    host.end_to_attend();
                }
            }
        }
    }

    /// Has this done at every interval, on a thread that ends when it answers false, or with the limiter.
    pub(crate) fn repeat_often(&self, interval: Duration, mut work: impl FnMut() -> bool + Send + 'static) {
        if let Ok(Connections { hub, .. }) = self.connections() {
            // Without a thread it is left to the calls.
            let _ = hub.connector.background.spawn(move |is_over| {
                thread::sleep(interval);
                while !is_over() && work() {
                    thread::sleep(interval);
                }
            });
        }
    }
}

impl ThreadHost {
    /// Whether a thread is needed for calls that nobody waits for: no other one is there for them.
    fn begin_to_attend(&self, hub: &Hub) -> bool {
        hub.is_releasing() && !self.is_attended.swap(true, Ordering::SeqCst)
    }

    fn end_to_attend(&self) {
        self.is_attended.store(false, Ordering::SeqCst);
    }

    /// Serves the calls of all threads until none is left that nobody waits for, or the limiter is closed.
    fn attend(&self, hub: &Arc<Hub>) {
        let is_over = |multiplexer: &mut Multiplexer<Stream>, _: &mut Context<'_>| {
            let is_needed = multiplexer.is_releasing() && !multiplexer.is_closed();
            if is_needed { Poll::Pending } else { Poll::Ready(()) }
        };
        loop {
            let poll = |context: &mut Context<'_>| is_over(&mut hub.lock(), context);
            self.readers.wait(poll, || self.read(hub, is_over));
            self.end_to_attend();
            // One that came in between found a thread.
            if hub.lock().is_closed() || !self.begin_to_attend(hub) {
                return;
            }
        }
    }
}
