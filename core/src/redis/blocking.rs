//! The blocking driver: pooled connections, any number of threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Instant;

use ::redis::{Cmd, Value};

use super::connector::Connector;
use super::discovery::{self, Range};
use super::errors::{self, Failure};
use super::options::ConnectOptions;
use super::pool::{Pool, Times};
use super::reply::{MAX_HOPS, PAUSE_BETWEEN_TRIES, Reply, Request};
use super::router::{Learnt, Node, Router};
use super::url::RedisUrl;
use crate::error::{Error, Result};
use crate::fork::PerProcess;
use crate::script::Call;

/// Redis for threads. Opens connections when they are needed; survives `fork`.
pub(crate) struct BlockingRedis {
    connections: PerProcess<Connections>,
    closed: AtomicBool,
}

impl BlockingRedis {
    /// Checks URL, options and TLS files; opens no connection.
    pub(crate) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        let connector = Arc::new(Connector::new(url, options)?);
        Ok(Self { connections: PerProcess::new(Connections::new(connector)), closed: AtomicBool::new(false) })
    }

    /// Runs the script at most once.
    pub(crate) fn call(&self, call: &Call<'_>) -> Result<Value> {
        self.connections()?.carry_out(&Request::Script(call))
    }

    /// Removes keys of one slot.
    pub(crate) fn delete(&self, keys: &[String]) -> Result<()> {
        self.connections()?.carry_out(&Request::delete(keys)).map(drop)
    }

    /// Asks a server for a sign of life.
    pub(crate) fn ping(&self) -> Result<()> {
        self.connections()?.carry_out(&Request::ping()).map(drop)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.connections.get(Connections::inherited).router.close();
        }
    }

    pub(crate) fn ensure_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::closed());
        }
        Ok(())
    }

    fn connections(&self) -> Result<&Connections> {
        self.ensure_open()?;
        Ok(self.connections.get(Connections::inherited))
    }
}

/// What one process has open.
struct Connections {
    connector: Arc<Connector>,
    router: Router<Pool>,
    /// Held by the one that asks who owns which slots; holds why the last one who asked got no answer.
    discovering: Mutex<Option<Error>>,
}

impl Connections {
    fn new(connector: Arc<Connector>) -> Self {
        let router = Router::new(&connector);
        Self { connector, router, discovering: Mutex::new(None) }
    }

    /// A child's own, in place of its parent's.
    fn inherited(parent: &Self) -> Self {
        parent.router.each_try(Pool::abandon);
        Self::new(Arc::clone(&parent.connector))
    }

    fn carry_out(&self, request: &Request<'_>) -> Result<Value> {
        let times = Times::now(&self.connector);
        match &self.router {
            Router::Fixed(pool) => match pool.request(request, false, times) {
                Ok(Reply::Done(value)) => Ok(value),
                Ok(_) => Err(errors::lost(request.slot())),
                Err(failure) => Err(failure.error),
            },
            Router::Learnt(learnt) => self.follow(learnt, request, times),
        }
    }

    /// Asks the owner of the slot, and whom that one points to.
    fn follow(&self, learnt: &Learnt<Pool>, request: &Request<'_>, times: Times) -> Result<Value> {
        let slot = request.slot();
        let times = if learnt.is_due() {
            self.discover(learnt, times)?;
            // The time to find the server is none of that to answer.
            Times { start: Instant::now(), ..times }
        } else {
            times
        };
        let mut pool = learnt.owner(slot).ok_or_else(|| errors::unowned(slot))?;
        let mut asking = false;
        for _ in 0..MAX_HOPS {
            let reply = pool.request(request, asking, times).map_err(|failure| {
                if failure.moved_on {
                    learnt.doubt(pool.address());
                }
                failure.error
            })?;
            match reply {
                Reply::Done(value) => return Ok(value),
                Reply::TryAgain => thread::sleep(PAUSE_BETWEEN_TRIES),
                Reply::Ask(address) => (pool, asking) = (learnt.node(&address), true),
                Reply::Moved(address) => {
                    learnt.doubt(pool.address());
                    (pool, asking) = (learnt.node(&address), false);
                }
            }
        }
        Err(errors::lost(slot))
    }

    /// Learns anew who owns which slots. Only one thread asks; the others go on with what is known, or wait
    /// if that is nothing. Fails only if nothing is known.
    fn discover(&self, learnt: &Learnt<Pool>, times: Times) -> Result<()> {
        let Some(mut last_failure) = self.turn(learnt.is_known()) else { return Ok(()) };
        if !learnt.is_due() {
            return Ok(());
        }
        let mut failure = last_failure.take();
        let mut advisers = learnt.advisers().into_iter();
        while let Some(adviser) = advisers.next() {
            let now = Instant::now();
            if now >= times.open_by {
                break;
            }
            let patience = discovery::patience(times.open_by - now, 1 + advisers.len());
            match ask(learnt, &adviser, now + patience, times) {
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

    fn turn(&self, is_known: bool) -> Option<MutexGuard<'_, Option<Error>>> {
        if !is_known {
            return Some(self.discovering.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.discovering.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

fn ask(learnt: &Learnt<Pool>, adviser: &Pool, open_by: Instant, times: Times) -> Result<Vec<Range>> {
    let answer = query(adviser, learnt.discovery.question(), Times { open_by, ..times })?;
    let found = learnt.discovery.answer(&answer, adviser.address());
    let ranges = found.map_err(|reason| errors::undiscovered(adviser.address(), &reason))?;
    if learnt.discovery.needs_confirmation() {
        for range in &ranges {
            let role = query(&learnt.node(&range.owner), discovery::role(), times)?;
            if !discovery::is_primary(&role) {
                return Err(errors::undiscovered(adviser.address(), "the server it names is not a primary"));
            }
        }
    }
    Ok(ranges)
}

fn query(pool: &Pool, cmd: Cmd, times: Times) -> Result<Value> {
    match pool.request(&Request::Command(cmd, 0), false, times) {
        Ok(Reply::Done(value)) => Ok(value),
        Ok(_) => Err(errors::undiscovered(pool.address(), "it redirects a question that has no slot")),
        Err(Failure { error, .. }) => Err(error),
    }
}
