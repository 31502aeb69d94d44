//! Where a limiter decides: in memory, or on a server, with which it holds conversations.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use redis::Value;

use super::driver::Driver;
use super::memory::InMemory;
use super::servers::Servers;
use super::shared::Shared;
use crate::decision::{Decision, Source};
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::redis::{Attempts, CallDeadline, split_replicated};
use crate::script::ScriptCall;
use crate::sequence::ScriptSequence;
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

impl<D: Driver> ServerCalls<'_, D> {
    /// Holds a conversation with the server. All requests of a call share its time. What does no harm when it is carried
    /// out twice is sent again for as long as there is no answer. Answers whether replicas have the effects of all of it.
    pub(super) async fn drive(self, conversation: &mut impl ScriptSequence, deadline: CallDeadline) -> bool {
        self.drive_since(Instant::now(), conversation, deadline).await
    }

    /// The same, of a conversation that began now, as the caller knows: the clock takes as long as counting does.
    pub(super) async fn drive_since(
        self,
        mut sent: Instant,
        conversation: &mut impl ScriptSequence,
        deadline: CallDeadline,
    ) -> bool {
        let mut is_replicated = None;
        while let Some(call) = conversation.next() {
            let server = self.servers.at(conversation.region());
            let reply = if let Some(error) = out_of_time(conversation, deadline) {
                server.send_detached(call);
                Err(error)
            } else if conversation.may_repeat() {
                D::apart(repeat(server, call, deadline)).await
            } else {
                server.call(call, deadline).await
            };
            let now = Instant::now();
            if reply.is_ok() {
                let took = now.saturating_duration_since(sent);
                self.shared.counters.answered(took);
                self.servers.note_trip(conversation.region(), took);
            }
            sent = now;
            conversation.feed(reply.map(|reply| {
                let (reply, is_on_replicas) = split_replicated(reply);
                is_replicated = Some(is_replicated != Some(false) && is_on_replicas);
                reply
            }));
        }
        is_replicated == Some(true)
    }

    /// Asks servers of regions, by their places, all at the same time. Answers also whether replicas have the effects of all.
    pub(super) async fn ask_all(
        self,
        asks: Vec<(usize, ScriptCall)>,
        deadline: CallDeadline,
    ) -> (Vec<Result<Value>>, bool) {
        let ask = |(region, call)| {
            let (sent, reply) = (Instant::now(), self.servers.at(Some(region)).send(call, deadline));
            async move {
                let reply = reply.await;
                if reply.is_ok() {
                    let took = sent.elapsed();
                    self.shared.counters.answered(took);
                    self.servers.note_trip(Some(region), took);
                }
                reply.map(split_replicated)
            }
        };
        let replies = all(asks.into_iter().map(ask).collect()).await;
        let have_replicas = replies.iter().all(|reply| reply.as_ref().is_ok_and(|(_, have)| *have));
        (replies.into_iter().map(|reply| reply.map(|(reply, _)| reply)).collect(), have_replicas)
    }
}

/// Waits for all at the same time; by a driver that blocks, for one after the other.
async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, output) in waiting.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if waiting.iter().all(|(_, output)| output.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    waiting.into_iter().filter_map(|(_, output)| output).collect()
}

/// Sends a call until it is answered, as long as there is time.
async fn repeat<D: Driver>(server: &D, mut call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
    let mut attempts = Attempts::new(deadline, &call);
    let reply = loop {
        let reply = server.call(call, deadline).await;
        let Some((pause, again)) = attempts.next(&reply) else { break reply };
        if let Err(error) = server.pause(pause).await {
            break Err(error);
        }
        call = again;
    };
    attempts.last(reply)
}

/// The error of a call whose time is up while it undoes what it did: that still happens, but nobody waits for it.
fn out_of_time(conversation: &impl ScriptSequence, deadline: CallDeadline) -> Option<Error> {
    if conversation.is_undoing() { deadline.over() } else { None }
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

pub(super) use awaited;
