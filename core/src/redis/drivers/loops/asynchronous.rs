//! The asynchronous driver: one connection to each server, shared by all calls.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ::redis::Value;

use crate::error::{Error, Result};
use crate::events::{Seldom, event};
use crate::options::ConnectOptions;
use crate::redis::connecting::connector::Connector;
use crate::redis::drivers::hub::{Host, Hub};
use crate::redis::drivers::multiplexer::Then;
use crate::redis::errors;
use crate::redis::settings::login::Role;
use crate::redis::settings::url::RedisUrl;
use crate::redis::wire::command::{CallDeadline, RedisCommand};
use crate::redis::wire::session::Id;
use crate::script::ScriptCall;
use crate::sync::fork::generation;

/// Logs, once a minute, that servers are not asked to announce changes of keys.
fn log_no_tracking() {
    static SELDOM: Seldom = Seldom::new();
    if SELDOM.due(Instant::now()).is_some() {
        event!(
            Info,
            tracking_refused,
            "servers announce no changes of keys by RESP2: remembered denials hold for remember_denials (add \
             ?protocol=resp3 to the URL)"
        );
    }
}

/// Redis for tasks. Dropping the future of a call disturbs no other call.
pub(crate) struct AsyncRedis {
    generation: u32,
    closed: AtomicBool,
    pub(crate) hub: Arc<Hub>,
}

impl AsyncRedis {
    /// On the Tokio runtime that this is called from. Opens no connection.
    #[cfg(test)]
    pub(crate) fn open(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        Self::on(url, options, Self::host()?)
    }

    /// That of the Tokio runtime that this is called from.
    pub(crate) fn host() -> Result<Arc<dyn Host>> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| errors::no_runtime())?;
        Ok(Arc::new(super::tokio_host::TokioHost::new(runtime)))
    }

    /// The same, connected.
    #[cfg(test)]
    pub(crate) async fn connect(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        let redis = Self::open(url, options)?;
        redis.ping(redis.deadline(None)).await?;
        Ok(redis)
    }

    /// The same, of connections on which servers are asked to announce changes of keys. That takes RESP3.
    pub(crate) fn tracking_keys(
        url: &RedisUrl,
        options: &ConnectOptions,
        host: Arc<dyn Host>,
    ) -> Result<Self> {
        if !url.resp3 {
            log_no_tracking();
            return Self::on(url, options, host);
        }
        Ok(Self::over(Connector::new(url, options)?.tracking_keys(), host))
    }

    /// On any event loop. Opens no connection.
    pub(crate) fn on(url: &RedisUrl, options: &ConnectOptions, host: Arc<dyn Host>) -> Result<Self> {
        Ok(Self::over(Connector::new(url, options)?, host))
    }

    fn over(connector: Connector, host: Arc<dyn Host>) -> Self {
        let hub = Hub::new(Arc::new(connector), host);
        Self { generation: generation(), closed: AtomicBool::new(false), hub }
    }

    /// Whether servers are asked to announce changes of keys.
    #[inline(always)]
    pub(crate) fn is_tracking(&self) -> bool {
        self.hub.connector.tracks(Role::Data).is_some()
    }

    /// The time of a call that begins now and states `timeout`, or none.
    #[inline(always)]
    pub(crate) fn deadline(&self, timeout: Option<Duration>) -> CallDeadline {
        CallDeadline::after(timeout.unwrap_or_else(|| self.hub.connector.timeout()))
    }

    /// Runs the script at most once.
    pub(crate) fn call(&self, call: ScriptCall, deadline: CallDeadline) -> ReplyFuture<'_> {
        self.carry_out(RedisCommand::Script(call), deadline)
    }

    /// Sends a script that nobody waits for.
    pub(crate) fn send_detached(&self, call: ScriptCall, then: Then) {
        if self.usable().is_ok() {
            let (request, deadline) = (RedisCommand::Script(call), self.deadline(None));
            self.hub.act(|multiplexer| multiplexer.send_detached(request, deadline, then, Instant::now()));
        }
    }

    /// Removes keys of one slot.
    pub(crate) async fn delete(&self, keys: &[String], deadline: CallDeadline) -> Result<()> {
        self.carry_out(RedisCommand::delete(keys), deadline).await.map(drop)
    }

    pub(crate) async fn ping(&self, deadline: CallDeadline) -> Result<()> {
        self.carry_out(RedisCommand::ping(), deadline).await.map(drop)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) && self.generation == generation() {
            self.hub.close();
        }
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) { Err(Error::closed()) } else { Ok(()) }
    }

    /// Why nothing can be sent, if so.
    #[inline(always)]
    pub(crate) fn usable(&self) -> Result<()> {
        self.ensure_open()?;
        // What serves the connections lives in the parent only.
        if self.generation == generation() { Ok(()) } else { Err(errors::forked()) }
    }

    /// Submits at once, so that no future carries the command along.
    fn carry_out(&self, command: RedisCommand, deadline: CallDeadline) -> ReplyFuture<'_> {
        let submit = || self.hub.act(|multiplexer| multiplexer.submit(command, deadline, Instant::now()));
        ReplyFuture { redis: self, submitted: Some(self.usable().map(|()| submit())) }
    }
}

impl Drop for AsyncRedis {
    fn drop(&mut self) {
        self.close();
    }
}

/// The reply to a command.
pub(crate) struct ReplyFuture<'a> {
    redis: &'a AsyncRedis,
    /// The call, or why it was not submitted; `None` as soon as it is answered.
    submitted: Option<Result<Id>>,
}

impl Future for ReplyFuture<'_> {
    type Output = Result<Value>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(submitted) = self.submitted.take() else {
            return Poll::Ready(Err(errors::no_answer().error));
        };
        let id = submitted?;
        let (reply, _replaced) = self.redis.hub.lock().poll(id, context);
        if reply.is_pending() {
            self.submitted = Some(Ok(id));
        }
        reply
    }
}

impl Drop for ReplyFuture<'_> {
    fn drop(&mut self) {
        // In a forked child, a thread that does not exist there may hold the lock.
        if let Some(Ok(id)) = self.submitted
            && self.redis.generation == generation()
        {
            drop(self.redis.hub.act(|multiplexer| multiplexer.abandon(id)));
        }
    }
}
