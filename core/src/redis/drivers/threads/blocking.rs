//! The blocking driver: any number of threads share one connection to each server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ::redis::Value;

use super::host::ThreadHost;
use crate::error::{Error, Result};
use crate::metrics::ServerMetrics;
use crate::options::ConnectOptions;
use crate::redis::connecting::connector::Connector;
use crate::redis::drivers::hub::Hub;
use crate::redis::drivers::multiplexer::Then;
use crate::redis::settings::url::RedisUrl;
use crate::redis::wire::command::{CallDeadline, RedisCommand};
use crate::redis::wire::session::Id;
use crate::script::ScriptCall;
use crate::sync::fork::PerProcess;

/// Redis for threads. Opens connections when they are needed; survives `fork`.
pub(crate) struct BlockingRedis {
    connections: PerProcess<Connections>,
    closed: AtomicBool,
}

impl BlockingRedis {
    /// Checks URL, options and TLS files; opens no connection.
    pub(crate) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        let connections = PerProcess::new(Connections::new(Arc::new(Connector::new(url, options)?)));
        Ok(Self { connections, closed: AtomicBool::new(false) })
    }

    /// The time of a call that begins now and states `timeout`, or none.
    pub(crate) fn deadline(&self, timeout: Option<Duration>) -> CallDeadline {
        let connections = self.connections.get(Connections::inherited);
        CallDeadline::after(timeout.unwrap_or_else(|| connections.hub.connector.timeout()))
    }

    /// Runs the script at most once.
    pub(crate) fn call(&self, call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
        self.connections()?.carry_out(RedisCommand::Script(call), deadline)
    }

    /// The same, sent now; what this returns waits for the reply.
    pub(crate) fn send(
        &self,
        call: ScriptCall,
        deadline: CallDeadline,
    ) -> impl FnOnce() -> Result<Value> + Send {
        let sent = self.connections().map(|it| (it, it.submit(RedisCommand::Script(call), deadline)));
        move || sent.and_then(|(Connections { hub, host }, id)| host.wait(hub, id))
    }

    /// Sends a script that nobody waits for.
    pub(crate) fn send_detached(&self, call: ScriptCall, then: Then) {
        if let Ok(Connections { hub, host }) = self.connections() {
            let (request, deadline) = (RedisCommand::Script(call), self.deadline(None));
            hub.act(|multiplexer| multiplexer.send_detached(request, deadline, then, Instant::now()));
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

    /// Removes keys of one slot.
    pub(crate) fn delete(&self, keys: &[String], deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::delete(keys), deadline).map(drop)
    }

    /// What is counted of each server that is known, by its address.
    pub(crate) fn servers(&self) -> Vec<(String, ServerMetrics)> {
        self.connections.get(Connections::inherited).hub.servers()
    }

    pub(crate) fn ping(&self, deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::ping(), deadline).map(drop)
    }

    /// Whether connections speak RESP3.
    #[cfg(feature = "internal")]
    pub(crate) fn has_resp3(&self) -> bool {
        self.connections.get(Connections::inherited).hub.connector.url.resp3
    }

    /// Has a server carry out a command without keys.
    #[cfg(feature = "internal")]
    pub(crate) fn command(&self, words: &[&str], deadline: CallDeadline) -> Result<Value> {
        self.connections()?.carry_out(RedisCommand::without_keys(words), deadline)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            let Connections { hub, host } = self.connections.get(Connections::inherited);
            hub.close();
            host.retire();
        }
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
    }

    fn connections(&self) -> Result<&Connections> {
        self.ensure_open()?;
        Ok(self.connections.get(Connections::inherited))
    }
}

impl Drop for BlockingRedis {
    fn drop(&mut self) {
        self.close();
    }
}

/// What one process has open.
struct Connections {
    hub: Arc<Hub>,
    host: Arc<ThreadHost>,
}

impl Connections {
    fn new(connector: Arc<Connector>) -> Self {
        let host = Arc::new(ThreadHost::new());
        let hub = Hub::new(connector, Arc::clone(&host) as _);
        Self { hub, host }
    }

    /// A child's own, in place of its parent's.
    fn inherited(parent: &Self) -> Self {
        parent.host.disown();
        parent.hub.disown();
        Self::new(Arc::new(parent.hub.connector.inherited()))
    }

    fn carry_out(&self, request: RedisCommand, deadline: CallDeadline) -> Result<Value> {
        let id = self.submit(request, deadline);
        self.host.wait(&self.hub, id)
    }

    #[inline(always)]
    fn submit(&self, request: RedisCommand, deadline: CallDeadline) -> Id {
        self.hub.act(|multiplexer| {
            let now = Instant::now();
            self.host.look_after(multiplexer, now);
            multiplexer.submit(request, deadline, now)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::error::ErrorKind;
    use crate::redis::settings::url::Backend;

    #[test]
    fn calls_whose_search_is_cancelled_say_that_the_limiter_is_closed() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("redis-cluster://{}", silent.local_addr().unwrap());
        let Ok(Backend::Redis(url)) = Backend::parse(&url) else { unreachable!() };
        let redis = BlockingRedis::new(&url, &ConnectOptions::default()).unwrap();
        let error = thread::scope(|scope| {
            let call = scope.spawn(|| redis.ping(redis.deadline(None)).unwrap_err());
            let _accepted = silent.accept().unwrap();
            redis.close();
            call.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}
