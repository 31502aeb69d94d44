//! The blocking connections to one server.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::redis::{Cmd, ErrorKind as Cause, RedisError, RedisResult, Value};

use super::address::Address;
use super::combining::{Combiner, Part};
use super::connection::Connection;
use super::connector::{Connector, Role};
use super::errors::{self, Failure};
use super::reply::{self, Reply, Request};
use super::router::Node;
use super::spin::Spin;
use super::url::Servers;

/// A connection idle for longer is tried before use: the server may have been restarted meanwhile, or a
/// firewall may have forgotten it.
const TRUSTED: Duration = Duration::from_secs(1);

/// A bounded pool; the connection used last is used next, so that the surplus stays idle.
pub(super) struct Pool {
    pub(super) connector: Arc<Connector>,
    pub(super) address: Address,
    role: Role,
    pub(super) spin: Spin,
    pub(super) combiner: Combiner,
    /// Whether keys of one script have to lie in one hash slot.
    pub(super) minds_slots: AtomicBool,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Idle>,
    /// Connections idle or in use.
    open: usize,
    waiting: usize,
    /// Counts breaks. A connection that is older than a break is as good as broken.
    generation: u64,
    /// Nothing is kept any more.
    closed: bool,
}

struct Idle {
    /// Boxed because it moves from the pool to the lease and back with every call.
    connection: Box<Connection>,
    since: Instant,
}

/// When a call began, and until when it may open connections.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) start: Instant,
    pub(super) open_by: Instant,
    /// Whether it has waited for others, which is part of the time to answer.
    pub(super) waited: bool,
}

impl Times {
    pub(super) fn now(connector: &Connector) -> Self {
        let start = Instant::now();
        Self { start, open_by: start + connector.connect_timeout, waited: false }
    }
}

impl Node for Pool {
    fn new(connector: &Arc<Connector>, address: Address, role: Role) -> Self {
        Self {
            connector: Arc::clone(connector),
            address,
            role,
            spin: Spin::default(),
            combiner: Combiner::new(connector.pool_size),
            minds_slots: AtomicBool::new(matches!(connector.servers, Servers::Cluster(_))),
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    fn address(&self) -> &Address {
        &self.address
    }

    fn close(&self) {
        self.lock().closed = true;
        self.discard(None);
    }
}

impl Pool {
    /// Carries out the request at most once; `asking` announces a key that is being moved here.
    pub(super) fn request(
        &self,
        request: &Request<'_>,
        asking: bool,
        times: Times,
    ) -> Result<Reply, Failure> {
        let call = match request {
            Request::Script(call) if !asking => call,
            Request::Script(_) | Request::Command(..) => {
                return self.lease(times)?.request(request, asking, times);
            }
        };
        let by = times.start + self.connector.response_timeout;
        match self.combiner.join(call, by, || self.has_room(&self.lock())) {
            Part::Served(Some(outcome)) => outcome.map(Reply::Done),
            Part::Combiner(turn) => {
                let times = Times { waited: turn.waited, ..times };
                self.combine(turn, call, times)
            }
            Part::Served(None) => {
                let times = Times { waited: true, ..times };
                self.lease(times)?.request(request, false, times)
            }
        }
    }

    pub(super) fn explain(&self, err: &RedisError) -> Failure {
        errors::calling(err, &self.address, self.connector.response_timeout)
    }

    /// Closes what a forked child inherited, without a word to the server. A lock held by a thread that does
    /// not exist here stays locked: then the sockets stay open, unused.
    pub(super) fn abandon(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.idle.clear();
        }
    }

    pub(super) fn lease(&self, times: Times) -> Result<Lease<'_>, Failure> {
        let limit = self.connector.response_timeout;
        let mut state = self.lock();
        let mut waited = times.waited;
        loop {
            if self.has_room(&state) {
                let idle = state.idle.pop();
                state.open += usize::from(idle.is_none());
                let left = || limit.saturating_sub(times.start.elapsed()).max(Duration::from_millis(1));
                let limit = if waited { left() } else { limit };
                let (generation, start) = (state.generation, times.start);
                return Ok(Lease { pool: self, idle, generation, start, limit });
            }
            let Some(left) = limit.checked_sub(times.start.elapsed()) else {
                return Err(errors::exhausted(&self.address, self.connector.pool_size, limit));
            };
            waited = true;
            state.waiting += 1;
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
    }

    fn has_room(&self, state: &State) -> bool {
        !state.idle.is_empty() || state.open < self.connector.pool_size
    }

    /// Opens a connection whose server answers.
    fn open(&self, times: Times) -> Result<Connection, Failure> {
        let start = Instant::now();
        let left = times.open_by.saturating_duration_since(start).max(Duration::from_millis(1));
        let open = || -> RedisResult<Connection> {
            let mut connection = Connection::open(&self.connector, &self.address, self.role, left)?;
            let left = left.saturating_sub(start.elapsed()).max(Duration::from_millis(1));
            self.ping(&mut connection, left.min(self.connector.response_timeout))?;
            self.combiner.learn(connection.round_trip(), self.connector.pool_size);
            Ok(connection)
        };
        open().map_err(|err| errors::opening(&err, &self.address, self.role, start.elapsed()))
    }

    fn ping(&self, connection: &mut Connection, limit: Duration) -> RedisResult<()> {
        connection.call(&::redis::cmd("PING"), &self.spin, limit)?.extract_error().map(drop)
    }

    /// Closes the idle connections, once for each break however many calls notice it.
    fn discard(&self, generation: Option<u64>) {
        let mut state = self.lock();
        if generation.is_some_and(|broken| broken != state.generation) {
            return;
        }
        state.generation += 1;
        state.open -= state.idle.len();
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one connection of the pool. Whatever happens, it goes back.
pub(super) struct Lease<'a> {
    pool: &'a Pool,
    /// Absent until opened, and again once it cannot be used any more.
    idle: Option<Idle>,
    generation: u64,
    start: Instant,
    /// The time to answer, of which the time spent waiting for the connection is part, but not that to open it.
    limit: Duration,
}

impl Lease<'_> {
    /// Carries out the request at most once.
    pub(super) fn request(
        &mut self,
        request: &Request<'_>,
        asking: bool,
        times: Times,
    ) -> Result<Reply, Failure> {
        let (pool, limit) = (self.pool, self.limit);
        let connection = self.connection(times)?;
        let call = |cmd: &Cmd| connection.call(cmd, &pool.spin, limit);
        let sorted = reply::sort(exchange(call, request, asking), &pool.address);
        sorted.map_err(|err| {
            self.judge(&err);
            pool.explain(&err)
        })
    }

    pub(super) fn connection(&mut self, times: Times) -> Result<&mut Connection, Failure> {
        if let Some(idle) = &mut self.idle
            && times.start.saturating_duration_since(idle.since) > TRUSTED
            && let Err(err) = self.pool.ping(&mut idle.connection, self.pool.connector.response_timeout)
        {
            self.idle = None;
            if err.is_timeout() {
                return Err(errors::opening(&err, &self.pool.address, self.pool.role, self.start.elapsed()));
            }
            self.pool.discard(Some(self.generation));
        }
        let connection = match self.idle.take() {
            Some(idle) => idle.connection,
            None => {
                self.generation = self.pool.lock().generation;
                Box::new(self.pool.open(times)?)
            }
        };
        Ok(&mut self.idle.insert(Idle { connection, since: self.start }).connection)
    }

    /// After an error: an answer leaves the connection usable, silence does not, and a break says that
    /// the server's other connections are gone too.
    pub(super) fn judge(&mut self, err: &RedisError) {
        if matches!(err.kind(), Cause::Server(_) | Cause::Extension) {
            return;
        }
        self.idle = None;
        if !err.is_timeout() {
            self.pool.discard(Some(self.generation));
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let idle = self.idle.take();
        let mut state = self.pool.lock();
        let outdated = match idle {
            Some(idle) if self.generation == state.generation && !state.closed => {
                state.idle.push(idle);
                None
            }
            outdated => {
                state.open -= 1;
                outdated
            }
        };
        let waiting = state.waiting > 0;
        drop(state);
        drop(outdated);
        if waiting {
            self.pool.freed.notify_one();
        }
    }
}

fn exchange(
    mut call: impl FnMut(&Cmd) -> RedisResult<Value>,
    request: &Request<'_>,
    asking: bool,
) -> RedisResult<Value> {
    let mut send = |cmd: Cmd| {
        if asking {
            call(&::redis::cmd("ASKING"))?.extract_error()?;
        }
        call(&cmd)
    };
    let result = send(request.first());
    if reply::is_unknown_script(&result)
        && let Some(whole) = request.whole()
    {
        return send(whole);
    }
    result
}
