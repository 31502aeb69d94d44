//! Where a limiter decides: in memory, or on a server.

use std::sync::Arc;
use std::time::Duration;

use super::driver::Driver;
use super::memory::InMemory;
use super::servers::Servers;
use super::shared::Shared;
use crate::decision::{Decision, Source};
use crate::error::Result;
use crate::metrics::Metrics;
use crate::sources::Snapshot;
use crate::time::timeout::validate_time;

/// What both limiters are, over a driver that blocks or one for tasks.
pub(super) struct Limiter<D> {
    pub(super) shared: Shared,
    pub(super) backend: Backend<D>,
}

pub(super) enum Backend<D> {
    Memory(InMemory),
    Server(Arc<Servers<D>>),
}

/// A limiter, by where it decides. Both kinds have a method for each call.
pub(super) enum Calls<'a, D> {
    Memory(MemoryCalls<'a>),
    Server(ServerCalls<'a, D>),
}

/// What calls do in memory: plain functions, since nothing waits there.
#[derive(Clone, Copy)]
pub(super) struct MemoryCalls<'a> {
    pub(super) shared: &'a Shared,
    pub(super) memory: &'a InMemory,
}

/// What calls do on a server: futures of its driver.
pub(super) struct ServerCalls<'a, D> {
    pub(super) shared: &'a Shared,
    /// The near one.
    pub(super) server: &'a D,
    pub(super) servers: &'a Arc<Servers<D>>,
}

impl<D> Clone for ServerCalls<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for ServerCalls<'_, D> {}

impl<D: Driver> Limiter<D> {
    #[inline(always)]
    pub(super) fn calls(&self) -> Calls<'_, D> {
        let shared = &self.shared;
        match &self.backend {
            Backend::Memory(memory) => Calls::Memory(MemoryCalls { shared, memory }),
            Backend::Server(servers) => Calls::Server(ServerCalls { shared, server: &servers.near, servers }),
        }
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.backend, Backend::Memory(_))
    }

    /// The rules in force.
    #[inline(always)]
    pub(super) fn catalog(&self) -> Snapshot<'_> {
        self.shared.rules.snapshot()
    }

    /// Before the arguments are looked at: a closed limiter says so, whatever it is asked.
    pub(super) fn ensure_open(&self) -> Result<()> {
        match &self.backend {
            Backend::Memory(memory) => memory.ensure_open(),
            Backend::Server(servers) => servers.near.ensure_open(),
        }
    }

    /// The answer where no rule applies.
    pub(super) fn unruled(&self) -> Result<Decision> {
        let source = match &self.backend {
            Backend::Memory(memory) => memory.ensure_open().map(|()| Source::Memory),
            Backend::Server(servers) => servers.near.usable().map(|()| Source::Server),
        };
        source.map(Decision::unruled)
    }

    pub(super) fn metrics(&self) -> Metrics {
        let servers = match &self.backend {
            Backend::Memory(_) => Vec::new(),
            Backend::Server(servers) => servers.all().flat_map(Driver::servers).collect(),
        };
        let catalog = self.catalog();
        let rules = (catalog.rules().version().to_owned(), self.shared.rules.status().refusals);
        let region = self.shared.wire.regions.as_ref().map(|regions| regions.own_name().to_owned());
        self.shared.counters.snapshot(&catalog.counters(), servers, rules, region)
    }

    pub(super) fn set_instances(&self, instances: u32) -> Result<()> {
        self.shared.set_instances(instances)?;
        self.warn_of_empty_shares();
        Ok(())
    }

    /// Logs what `local` would deny of every call.
    pub(super) fn warn_of_empty_shares(&self) {
        if let Backend::Server(_) = &self.backend {
            self.shared.fallback.warn_of_empty_shares(&self.catalog());
        }
    }

    pub(super) async fn ping(&self, timeout: Option<Duration>) -> Result<()> {
        self.ensure_open()?;
        timeout.map_or(Ok(()), |timeout| validate_time("timeout", timeout))?;
        match &self.backend {
            Backend::Memory(_) => Ok(()),
            Backend::Server(servers) => servers.near.ping(servers.near.deadline(timeout)).await,
        }
    }

    pub(super) fn close(&self) {
        self.shared.rules.close();
        match &self.backend {
            Backend::Memory(memory) => memory.close(),
            Backend::Server(servers) => {
                servers.give_all_back(&self.shared);
                servers.close();
            }
        }
    }
}

/// The result of a call, awaited where a server has to be asked.
macro_rules! awaited {
    ($limiter:expr, $call:ident($($argument:expr),* $(,)?)) => {
        match $limiter.calls() {
            $crate::limiter::backend::Calls::Memory(calls) => calls.$call($($argument),*),
            $crate::limiter::backend::Calls::Server(calls) => calls.$call($($argument),*).await,
        }
    };
}

/// The same by a driver that blocks. Arguments are values, or references that outlive the call.
macro_rules! polled {
    ($limiter:expr, $call:ident($($argument:expr),* $(,)?)) => {
        match $limiter.calls() {
            $crate::limiter::backend::Calls::Memory(calls) => calls.$call($($argument),*),
            $crate::limiter::backend::Calls::Server(calls) => {
                $crate::limiter::driver::now(move || calls.$call($($argument),*))
            }
        }
    };
}

pub(super) use {awaited, polled};
