//! What bindings to other languages need of the limiter, and Rust does not.

use std::sync::Arc;

use super::backend::{Backend, Calls};
use super::driver::{Driver, now};
use super::{AsyncRateLimiter, RateLimiter};
use crate::error::Result;
use crate::plan::{Op, RawDecision};
use crate::redis::Hub;
use crate::request::Check;

impl AsyncRateLimiter {
    /// Tries a server, unless it is lazy. Fails if none answers, unless calls are decided all the same.
    pub(crate) async fn connected(&self) -> Result<()> {
        if self.limiter.shared.is_lazy {
            return Ok(());
        }
        self.limiter.shared.tolerates(self.try_server(None).await)
    }

    pub(crate) fn is_in_memory(&self) -> bool {
        self.limiter.is_in_memory()
    }

    /// The connections, if there are any: those of the near server first.
    pub(crate) fn hubs(&self) -> Vec<Arc<Hub>> {
        match &self.limiter.backend {
            Backend::Server(servers) => servers.all().map(|tasks| Arc::clone(&tasks.redis.hub)).collect(),
            Backend::Memory(_) => Vec::new(),
        }
    }

    /// Whether checks may be decided by what a server lent or said before.
    pub(crate) fn uses_cells(&self) -> bool {
        match self.limiter.calls() {
            Calls::Memory(_) => false,
            Calls::Server(calls) => calls.uses_cells(&self.limiter.catalog(), Op::Check),
        }
    }

    /// Decides a single check in memory, or by what a server lent or said before, and returns what `make` builds of the raw decision;
    /// `None` where a server has to be asked, which takes I/O.
    #[inline]
    pub(crate) fn at_once<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Option<Result<T>> {
        match self.limiter.calls() {
            Calls::Memory(calls) => Some(calls.decide(check, op, make)),
            Calls::Server(calls) => {
                let catalog = self.limiter.catalog();
                if !calls.uses_cells(&catalog, op) {
                    return None;
                }
                calls.server.usable().ok()?;
                // A mistake is answered by the call itself.
                let decision = calls.by_cell(&catalog, check, op).ok()??;
                Some(Ok(make(RawDecision::from(&decision))))
            }
        }
    }
}

impl RateLimiter {
    pub(crate) fn is_in_memory(&self) -> bool {
        self.limiter.is_in_memory()
    }

    /// Decides a single check, and returns what `make` builds of the raw decision.
    #[inline]
    pub(crate) fn decide<T>(
        &self,
        op: Op,
        check: &Check<'_>,
        make: impl FnOnce(RawDecision<'_>) -> T,
    ) -> Result<T> {
        match self.limiter.calls() {
            Calls::Memory(calls) => calls.decide(check, op, make),
            Calls::Server(calls) => {
                now(move || calls.single(check, op)).map(|decision| make(RawDecision::from(&decision)))
            }
        }
    }
}
