//! The driver for tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::Value;

use super::driver::{Driver, OFTEN};
use super::sleeper::{Sleeper, sleeper};
use crate::error::Result;
use crate::metrics::ServerMetrics;
use crate::redis::{AsyncRedis, CallDeadline, Then};
use crate::script::ScriptCall;

/// Redis for tasks.
pub(super) struct Tasks {
    pub(super) redis: AsyncRedis,
    /// What tasks sleep by; `None`: Tokio.
    pub(super) sleeper: Option<Arc<dyn Sleeper>>,
}

impl Driver for Tasks {
    fn ensure_open(&self) -> Result<()> {
        self.redis.ensure_open()
    }

    fn usable(&self) -> Result<()> {
        self.redis.usable()
    }

    fn deadline(&self, timeout: Option<Duration>) -> CallDeadline {
        self.redis.deadline(timeout)
    }

    fn is_tracking(&self) -> bool {
        self.redis.is_tracking()
    }

    fn call(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send {
        self.redis.call(call, deadline)
    }

    fn send(&self, call: ScriptCall, deadline: CallDeadline) -> impl Future<Output = Result<Value>> + Send {
        self.redis.call(call, deadline)
    }

    fn send_then(&self, call: ScriptCall, then: Then) {
        self.redis.send_detached(call, then);
    }

    /// Where there is no runtime, with the next call.
    fn look_often(&self, look: impl FnMut() -> bool + Send + 'static) {
        if let Ok(sleeper) = sleeper(self.sleeper.as_ref()) {
            sleeper.repeat(OFTEN, Box::new(look));
        }
    }

    fn delete(&self, keys: &[String], deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send {
        self.redis.delete(keys, deadline)
    }

    fn ping(&self, deadline: CallDeadline) -> impl Future<Output = Result<()>> + Send {
        self.redis.ping(deadline)
    }

    fn servers(&self) -> Vec<(String, ServerMetrics)> {
        self.redis.hub.servers()
    }

    async fn pause(&self, span: Duration) -> Result<()> {
        sleeper(self.sleeper.as_ref())?.sleep(Instant::now() + span).await;
        Ok(())
    }

    fn apart<F: Future + Send>(part: F) -> impl Future<Output = F::Output> + Send {
        Box::pin(part)
    }

    fn close(&self) {
        self.redis.close();
    }
}
