//! How a limiter reaches its server: by a driver that blocks, or by one for tasks.

use std::future::ready;
use std::thread;
use std::time::Duration;

use redis::Value;

use crate::error::Result;
use crate::metrics::ServerMetrics;
use crate::redis::{BlockingRedis, CallDeadline, Then};
use crate::script::ScriptCall;

/// What is looked for is looked for so often.
pub(super) const OFTEN: Duration = Duration::from_millis(10);

/// Sends a limiter's requests, and lets time pass between them. What calls do with it is written once, as futures: those
/// of a driver that blocks are ready as soon as they are made.
pub(super) trait Driver: Send + Sync + 'static {
    /// Fails once the limiter is closed.
    fn ensure_open(&self) -> Result<()>;

    /// Fails where nothing can be sent: the limiter is closed, or its connections belong to another process.
    fn usable(&self) -> Result<()>;

    /// The time of a call that begins now and states `timeout`, or none.
    fn deadline(&self, timeout: Option<Duration>) -> CallDeadline;

    /// Whether servers may be asked to watch keys.
    fn is_tracking(&self) -> bool;

    /// Runs the script at most once.
    fn call(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send;

    /// The same, sent already when this returns, whenever the reply is waited for.
    fn send(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send;

    /// Sends a script that nobody waits for; `then` is given the reply, unless nothing can be sent.
    fn send_then(&self, call: ScriptCall, then: Then);

    /// Sends a script whose reply is of no interest.
    fn send_detached(&self, call: ScriptCall) {
        self.send_then(call, Box::new(drop));
    }

    /// Has this done every few milliseconds, until it answers false: while nobody calls.
    fn look_often(&self, look: impl FnMut() -> bool + Send + 'static);

    /// Removes keys of one slot.
    fn delete(&self, keys: &[String], deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send;

    /// Checks that a server answers.
    fn ping(&self, deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send;

    /// The state of each server that is known.
    fn servers(&self) -> Vec<(String, ServerMetrics)>;

    /// Lets this time pass between two attempts.
    fn pause(&self, span: Duration) -> impl Future<Output = Result<()>> + Send;

    /// Gives a part of a call that few calls need memory of its own, where a call is kept while it waits.
    fn apart<F: Future + Send>(part: F) -> impl Future<Output = F::Output> + Send;

    /// Closes the connections. Final.
    fn close(&self);
}

impl Driver for BlockingRedis {
    fn ensure_open(&self) -> Result<()> {
        Self::ensure_open(self)
    }

    fn usable(&self) -> Result<()> {
        Self::ensure_open(self)
    }

    fn deadline(&self, timeout: Option<Duration>) -> CallDeadline {
        Self::deadline(self, timeout)
    }

    fn is_tracking(&self) -> bool {
        false
    }

    fn call(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send {
        ready(Self::call(self, call, deadline))
    }

    fn send(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send {
        let reply = Self::send(self, call, deadline);
        async move { reply() }
    }

    fn send_then(&self, call: ScriptCall, then: Then) {
        self.send_detached(call, then);
    }

    fn look_often(&self, look: impl FnMut() -> bool + Send + 'static) {
        self.repeat_often(OFTEN, look);
    }

    fn delete(&self, keys: &[String], deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send {
        ready(Self::delete(self, keys, deadline))
    }

    fn ping(&self, deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send {
        ready(Self::ping(self, deadline))
    }

    fn servers(&self) -> Vec<(String, ServerMetrics)> {
        Self::servers(self)
    }

    fn pause(&self, span: Duration) -> impl Future<Output = Result<()>> + Send {
        thread::sleep(span);
        ready(Ok(()))
    }

    fn apart<F: Future + Send>(part: F) -> impl Future<Output = F::Output> + Send {
        part
    }

    fn close(&self) {
        Self::close(self);
    }
}
