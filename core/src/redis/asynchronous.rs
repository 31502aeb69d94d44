//! The asynchronous driver: one multiplexed connection to each server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::redis::{Cmd, Value};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{self, Instant};

use super::connector::Connector;
use super::discovery::{self, Range};
use super::errors::{self, Failure};
use super::link::Link;
use super::options::ConnectOptions;
use super::reply::{MAX_HOPS, PAUSE_BETWEEN_TRIES, Reply, Request};
use super::router::{Learnt, Node, Router};
use super::url::RedisUrl;
#[cfg(feature = "bridge")]
use super::url::Servers;
use crate::error::{Error, Result};
use crate::fork::generation;
use crate::script::Call;

/// Redis for tasks of a Tokio runtime. Dropping the future of a call disturbs no other call.
pub(crate) struct AsyncRedis {
    generation: u32,
    closed: AtomicBool,
    /// The longest time for a call that has to find its server first.
    patience: Duration,
    connect_timeout: Duration,
    pub(super) router: Router<Link>,
    /// Held by the one that asks who owns which slots; holds why the last one who asked got no answer.
    discovering: Mutex<Option<Error>>,
    /// Set when the server turned out to mind hash slots although it is not known as a Cluster.
    #[cfg(feature = "bridge")]
    pub(super) minds_slots: AtomicBool,
}

impl AsyncRedis {
    /// Connects, and fails if no server answers.
    pub(crate) async fn connect(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        let connector = Arc::new(Connector::new(url, options)?);
        let redis = Self {
            generation: generation(),
            closed: AtomicBool::new(false),
            patience: connector.connect_timeout + connector.response_timeout,
            connect_timeout: connector.connect_timeout,
            router: Router::new(&connector),
            discovering: Mutex::new(None),
            #[cfg(feature = "bridge")]
            minds_slots: AtomicBool::new(matches!(url.servers, Servers::Cluster(_))),
        };
        redis.ping().await?;
        Ok(redis)
    }

    /// Runs the script at most once.
    pub(crate) async fn call(&self, call: &Call<'_>) -> Result<Value> {
        self.carry_out(&Request::Script(call)).await
    }

    /// Removes keys of one slot.
    pub(crate) async fn delete(&self, keys: &[String]) -> Result<()> {
        self.carry_out(&Request::delete(keys)).await.map(drop)
    }

    /// Asks a server for a sign of life.
    pub(crate) async fn ping(&self) -> Result<()> {
        self.carry_out(&Request::ping()).await.map(drop)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) && self.generation == generation() {
            self.router.close();
        }
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }

    /// Why nothing can be sent, if so.
    pub(crate) fn usable(&self) -> Result<()> {
        self.ensure_open()?;
        // The tasks that serve the connections live in the parent only.
        if self.generation != generation() {
            return Err(errors::forked());
        }
        // Without a runtime, timers panic.
        if Handle::try_current().is_err() {
            return Err(errors::no_runtime());
        }
        Ok(())
    }

    async fn carry_out(&self, request: &Request<'_>) -> Result<Value> {
        self.usable()?;
        match &self.router {
            Router::Fixed(link) => match link.request(request, false).await {
                Ok(Reply::Done(value)) => Ok(value),
                Ok(_) => Err(errors::lost(request.slot())),
                Err(failure) => Err(failure.error),
            },
            Router::Learnt(learnt) => {
                let followed = time::timeout(self.patience, self.follow(learnt, request)).await;
                followed.unwrap_or_else(|_| Err(errors::patience_lost(self.patience)))
            }
        }
    }

    /// Asks the owner of the slot, and whom that one points to.
    async fn follow(&self, learnt: &Learnt<Link>, request: &Request<'_>) -> Result<Value> {
        let slot = request.slot();
        if learnt.is_due() {
            self.discover(learnt).await?;
        }
        let mut link = learnt.owner(slot).ok_or_else(|| errors::unowned(slot))?;
        let mut asking = false;
        for _ in 0..MAX_HOPS {
            let reply = link.request(request, asking).await.map_err(|failure| {
                if failure.moved_on {
                    learnt.doubt(link.address());
                }
                failure.error
            })?;
            match reply {
                Reply::Done(value) => return Ok(value),
                Reply::TryAgain => time::sleep(PAUSE_BETWEEN_TRIES).await,
                Reply::Ask(address) => (link, asking) = (learnt.node(&address), true),
                Reply::Moved(address) => {
                    learnt.doubt(link.address());
                    (link, asking) = (learnt.node(&address), false);
                }
            }
        }
        Err(errors::lost(slot))
    }

    /// Learns anew who owns which slots. Only one task asks; the others go on with what is known, or wait
    /// if that is nothing. Fails only if nothing is known.
    pub(super) async fn discover(&self, learnt: &Learnt<Link>) -> Result<()> {
        let open_by = Instant::now() + self.connect_timeout;
        let Some(mut last_failure) = self.turn(learnt.is_known()).await else { return Ok(()) };
        if !learnt.is_due() {
            return Ok(());
        }
        let mut failure = last_failure.take();
        let mut advisers = learnt.advisers().into_iter();
        while let Some(adviser) = advisers.next() {
            let now = Instant::now();
            if now >= open_by {
                break;
            }
            let patience = discovery::patience(open_by - now, 1 + advisers.len());
            match ask(learnt, &adviser, patience).await {
                Ok(ranges) => {
                    learnt.learn(ranges);
                    return Ok(());
                }
                Err(error) => failure = Some(error),
            }
        }
        *last_failure = failure.clone();
        match failure {
            Some(error) if !learnt.is_known() => Err(error),
            _ => Ok(()),
        }
    }

    async fn turn(&self, is_known: bool) -> Option<MutexGuard<'_, Option<Error>>> {
        if is_known { self.discovering.try_lock().ok() } else { Some(self.discovering.lock().await) }
    }
}

async fn ask(learnt: &Learnt<Link>, adviser: &Link, patience: Duration) -> Result<Vec<Range>> {
    let ready = time::timeout(patience, adviser.ready()).await;
    ready.unwrap_or_else(|_| Err(errors::silent(adviser.address(), patience)))?;
    let answer = query(adviser, learnt.discovery.question()).await?;
    let found = learnt.discovery.answer(&answer, adviser.address());
    let ranges = found.map_err(|reason| errors::undiscovered(adviser.address(), &reason))?;
    if learnt.discovery.needs_confirmation() {
        for range in &ranges {
            let role = query(&learnt.node(&range.owner), discovery::role()).await?;
            if !discovery::is_primary(&role) {
                return Err(errors::undiscovered(adviser.address(), "the server it names is not a primary"));
            }
        }
    }
    Ok(ranges)
}

async fn query(link: &Link, cmd: Cmd) -> Result<Value> {
    match link.request(&Request::Command(cmd, 0), false).await {
        Ok(Reply::Done(value)) => Ok(value),
        Ok(_) => Err(errors::undiscovered(link.address(), "it redirects a question that has no slot")),
        Err(Failure { error, .. }) => Err(error),
    }
}
