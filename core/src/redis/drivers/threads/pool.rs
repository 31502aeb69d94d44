//! The blocking connections to one server, and how calls use them.

use std::sync::{Arc, Condvar, PoisonError};
use std::time::{Duration, Instant};

use super::combining::{Combiner, NextStep, Permit};
use crate::error::ErrorKind;
use crate::net::address::Address;
use crate::redis::connecting::breaker::{Breaker, Refusal};
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::deadline::Deadline;
use crate::redis::connecting::stream::Resend;
use crate::redis::drivers::connection::{Connection, ONLY};
use crate::redis::drivers::spin::Spin;
use crate::redis::errors::{self, CallError, ConnectionError};
use crate::redis::settings::login::Role;
use crate::redis::topology::learned::Node;
use crate::redis::wire::command::{CallDeadline, CommandOutcome, Redirect, RedisCommand, Unexecuted};
use crate::redis::wire::session::PendingCommand;
use crate::script::ScriptCall;
use crate::sync::lock::Mutex;
use crate::time::timeout::SHORTEST_TIMEOUT;

/// A connection idle for longer is tried before use: the server may have been restarted meanwhile, or a
/// firewall may have forgotten it.
const TRUSTED: Duration = Duration::from_secs(1);

/// A bounded pool; the connection used last is used next, so that the surplus stays idle.
pub(in crate::redis) struct Pool {
    connector: Arc<Connector>,
    address: Address,
    pub(in crate::redis) breaker: Breaker,
    spin: Spin,
    combiner: Combiner,
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
    /// A thread of its own connects.
    is_connecting: bool,
}

struct Idle {
    /// Boxed because it moves from the pool to the lease and back with every call.
    connection: Box<Connection>,
    since: Instant,
}

#[derive(Clone, Copy)]
pub(in crate::redis) struct Times<'a> {
    pub(in crate::redis) start: Instant,
    pub(in crate::redis) deadline: CallDeadline,
    /// Whether it has waited for others, which is part of the time to answer.
    pub(in crate::redis) waited: bool,
    /// Whether another server is in charge by now, which a call that waits for a connection asks from time to time.
    pub(super) is_elsewhere: Option<&'a dyn Fn() -> bool>,
}

impl Node for Pool {
    fn new(connector: &Arc<Connector>, address: Address) -> Self {
        Self {
            connector: Arc::clone(connector),
            address,
            breaker: connector.breaker(),
            spin: Spin::default(),
            combiner: Combiner::new(connector.options.pool_size),
            state: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    fn address(&self) -> &Address {
        &self.address
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.discard(None);
    }
}

impl Pool {
    /// Carries out the request at most once; `asking` announces a key that is being moved here.
    pub(in crate::redis) fn request(
        self: &Arc<Self>,
        request: RedisCommand,
        asking: bool,
        times: Times<'_>,
    ) -> CommandOutcome {
        match self.breaker.admit(&self.address, times.start) {
            Ok(()) => {}
            Err(Refusal { awaits_probe: true, .. }) if self.is_back(times) => {}
            Err(Refusal { error, probe, awaits_probe }) => {
                if probe && !awaits_probe {
                    self.probe();
                }
                return CommandOutcome::Done(Err(error.into()));
            }
        }
        let outcome = self.share_or_lease(request, asking, times);
        let outcome = outcome.unwrap_or_else(|failure| CommandOutcome::Done(Err(failure)));
        self.note(&outcome, times);
        outcome
    }

    fn share_or_lease(
        self: &Arc<Self>,
        request: RedisCommand,
        asking: bool,
        times: Times<'_>,
    ) -> Result<CommandOutcome, CallError> {
        let call = match request {
            RedisCommand::Script(call) if !asking => call,
            request => return Ok(self.lease(times)?.request(request, asking, times)),
        };
        let by = times.deadline.by.min(times.start + self.connector.options.response_timeout);
        match self.combiner.join(call, times.deadline.by, by, || self.has_room(&self.state.lock())) {
            NextStep::Served(outcome) => Ok(outcome),
            NextStep::Combiner(permit, call) => {
                let times = Times { waited: permit.waited, ..times };
                self.combine(permit, call, times)
            }
        }
    }

    /// Carries out the call, and whatever was published by the time there is a connection for it.
    fn combine(
        self: &Arc<Self>,
        permit: Permit<'_>,
        own: ScriptCall,
        times: Times<'_>,
    ) -> Result<CommandOutcome, CallError> {
        let mut lease = self.lease(times)?;
        let connection = match lease.connection(times) {
            Ok(connection) => connection,
            Err(failure) => return Ok(unconnected(RedisCommand::Script(own), false, failure, times)),
        };
        let (now, own_end) = (Instant::now(), times.deadline.by);
        // All answers are awaited together: those whose time ends earlier would be answered late, and those whose time
        // ends later would be cut short.
        let attempt = now + self.connector.options.response_timeout;
        let batch = permit.take(|end| {
            let apart = end.max(own_end) - end.min(own_end);
            apart <= SHORTEST_TIMEOUT || end.min(own_end) >= attempt
        });
        if batch.size() == 0 {
            return Ok(lease.request(RedisCommand::Script(own), false, times));
        }
        // The calls in the pipeline have come just now, so the time to answer is that of a new call.
        let own_place = batch.size();
        for (place, call, end) in batch.calls().chain([(own_place, own, own_end)]) {
            let pending = PendingCommand::new(place, RedisCommand::Script(call), false, end.min(own_end));
            connection.session.submit(pending, now);
        }
        connection.complete(None, None);
        let mut outcomes = Vec::with_capacity(own_place + 1);
        outcomes.extend(std::iter::from_fn(|| connection.session.next_outcome()));
        let own = outcomes.iter().position(|(place, _)| *place == own_place);
        let own = own.map(|at| outcomes.remove(at).1).ok_or_else(errors::no_answer);
        drop(lease);
        // First of all the thread that goes next, which then goes while the others are woken.
        drop(permit);
        batch.serve(outcomes);
        own
    }

    /// Reports the outcome of a call to the circuit breaker.
    fn note(&self, outcome: &CommandOutcome, times: Times<'_>) {
        let allows_response =
            || times.deadline.allows_response(self.connector.options.response_timeout, times.start);
        match outcome {
            CommandOutcome::Done(result) => {
                if self.breaker.note(result, allows_response, Instant::now()) {
                    self.discard(None);
                }
            }
            CommandOutcome::NotExecuted(again) if matches!(again.redirect, Redirect::Unsent(..)) => {}
            CommandOutcome::NotExecuted(_) => self.breaker.answered(),
        }
    }

    /// Opens a connection in the background, unless one is idle: calls whose time is shorter than a handshake could never
    /// open one.
    fn connect(self: &Arc<Self>) {
        let mut state = self.state.lock();
        if state.is_connecting || state.closed || !state.idle.is_empty() {
            return;
        }
        state.is_connecting = true;
        drop(state);
        let this = Arc::clone(self);
        Connection::open_in_background(&self.connector, self.address.clone(), Resend::Never, move |opened| {
            if let Ok(connection) = opened {
                this.keep(connection);
            }
            this.state.lock().is_connecting = false;
        });
    }

    /// Tries the server on a thread of its own. A connection on which it answers is kept.
    fn probe(self: &Arc<Self>) {
        let this = Arc::clone(self);
        Connection::open_in_background(&self.connector, self.address.clone(), Resend::Often, move |opened| {
            this.probed(opened);
        });
    }

    /// Tries the server on the caller's thread, for the time to answer at most. Answers whether it takes calls again.
    fn is_back(&self, times: Times<'_>) -> bool {
        let by = times.deadline.by.min(times.start + self.connector.options.response_timeout);
        let deadline = Deadline { by, cancelled: times.is_elsewhere };
        self.probed(Connection::open(&self.connector, &self.address, Role::Data, deadline, Resend::Often))
    }

    fn probed(&self, opened: Result<Connection, CallError>) -> bool {
        let failure = opened.map(|connection| self.keep(connection)).err();
        self.breaker.probed(failure.as_ref());
        failure.is_none()
    }

    /// Sends a request whose reply nobody waits for, on a connection of its own: the server comes to it after whatever it
    /// was sent before, however long it has been silent.
    pub(in crate::redis) fn send_detached(self: &Arc<Self>, request: RedisCommand) {
        let this = Arc::clone(self);
        // Nobody waits for it: without a thread it is not sent.
        let _ = self.connector.background.spawn(move |cancelled| {
            let Self { connector, address, .. } = &*this;
            let deadline = Deadline { by: Instant::now() + connector.timeout(), cancelled: Some(cancelled) };
            let opened = Connection::open(connector, address, Role::Data, deadline, Resend::Never);
            if let Ok(mut connection) = opened {
                let pending = PendingCommand::new(ONLY, request, false, deadline.by);
                connection.request(pending, Instant::now(), None, Some(cancelled));
            }
        });
    }

    /// Keeps a connection that was opened in the background. For a moment that may be one more than the pool holds, since calls
    /// that connect in vain may have all its places.
    fn keep(&self, connection: Connection) {
        let mut state = self.state.lock();
        if state.closed || state.open > self.connector.options.pool_size {
            return;
        }
        state.open += 1;
        state.idle.push(Idle { connection: Box::new(connection), since: Instant::now() });
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.freed.notify_one();
        }
    }

    /// Closes what a forked child inherited, without a word to the server. A lock held by a thread that does
    /// not exist here stays locked: then the sockets stay open, unused.
    pub(in crate::redis) fn abandon(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.idle.clear();
        }
    }

    fn lease(self: &Arc<Self>, times: Times<'_>) -> Result<ConnectionLease<'_>, CallError> {
        let limit = self.connector.options.response_timeout;
        let by = times.deadline.by.min(times.start + limit);
        let mut state = self.state.lock();
        let mut waited = times.waited;
        if !self.has_room(&state) {
            waited = true;
            state.waiting += 1;
            let left = by.saturating_duration_since(Instant::now());
            let freed = self.freed.wait_timeout_while(state, left, |state| !self.has_room(state));
            state = freed.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
            if !self.has_room(&state) {
                let waited = by.saturating_duration_since(times.start);
                return Err(errors::exhausted(&self.address, self.connector.options.pool_size, waited));
            }
        }
        let idle = state.idle.pop();
        state.open += usize::from(idle.is_none());
        let limit = waited.then(|| limit.saturating_sub(times.start.elapsed()).max(SHORTEST_TIMEOUT));
        Ok(ConnectionLease { pool: self, idle, generation: state.generation, limit })
    }

    fn has_room(&self, state: &State) -> bool {
        !state.idle.is_empty() || state.open < self.connector.options.pool_size
    }

    /// Opens a connection whose server answers.
    fn open(self: &Arc<Self>, times: Times<'_>) -> Result<Connection, CallError> {
        let deadline = Deadline { by: times.deadline.by, cancelled: times.is_elsewhere };
        let opened = Connection::open(&self.connector, &self.address, Role::Data, deadline, Resend::Never);
        let is_short = !times.deadline.allows_response(self.connector.options.response_timeout, times.start);
        if is_short && opened.as_ref().is_err_and(|failure| failure.error.kind() == ErrorKind::Timeout) {
            self.connect();
        }
        let connection = opened?;
        self.combiner.learn(connection.stream().round_trip(), self.connector.options.pool_size);
        Ok(connection)
    }

    /// Closes the idle connections, once for each break however many calls notice it.
    fn discard(&self, generation: Option<u64>) {
        let mut state = self.state.lock();
        if generation.is_some_and(|broken| broken != state.generation) {
            return;
        }
        state.generation += 1;
        state.open -= state.idle.len();
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
    }
}

/// A request for which there is no connection. It goes to the server that is in charge by now, if that is another one.
fn unconnected(request: RedisCommand, asking: bool, failure: CallError, times: Times<'_>) -> CommandOutcome {
    if !times.is_elsewhere.is_some_and(|is_elsewhere| is_elsewhere()) {
        return CommandOutcome::Done(Err(failure));
    }
    let redirect = Redirect::Unsent(failure, times.deadline.by);
    CommandOutcome::NotExecuted(Box::new(Unexecuted { request, asking, redirect }))
}

/// The right to one connection of the pool. Whatever happens, it goes back.
struct ConnectionLease<'a> {
    pool: &'a Arc<Pool>,
    /// Absent until opened, and again once it cannot be used any more.
    idle: Option<Idle>,
    generation: u64,
    /// What is left of the time to answer, of which the time spent waiting for the connection is part, but not that
    /// to open it.
    limit: Option<Duration>,
}

impl ConnectionLease<'_> {
    /// Carries out the request at most once.
    fn request(&mut self, request: RedisCommand, asking: bool, times: Times<'_>) -> CommandOutcome {
        let (pool, limit) = (self.pool, self.limit);
        let connection = match self.connection(times) {
            Ok(connection) => connection,
            Err(failure) => return unconnected(request, asking, failure, times),
        };
        let now = Instant::now();
        let by = limit.map_or(times.deadline.by, |limit| times.deadline.by.min(now + limit));
        let pending = PendingCommand::new(ONLY, request, asking, by);
        connection.request(pending, now, Some(&pool.spin), None)
    }

    fn connection(&mut self, times: Times<'_>) -> Result<&mut Connection, CallError> {
        if let Some(idle) = &mut self.idle
            && times.start.saturating_duration_since(idle.since) > TRUSTED
        {
            self.try_idle(times)?;
        }
        let connection = match self.idle.take() {
            Some(idle) => idle.connection,
            None => {
                self.generation = self.pool.state.lock().generation;
                Box::new(self.pool.open(times)?)
            }
        };
        Ok(&mut self.idle.insert(Idle { connection, since: times.start }).connection)
    }

    /// Tries a connection that was idle for long. Silence is an error, a break only means that a new one is needed.
    fn try_idle(&mut self, times: Times<'_>) -> Result<(), CallError> {
        let Some(idle) = &mut self.idle else { return Ok(()) };
        let start = Instant::now();
        let response_timeout = self.pool.connector.options.response_timeout;
        let by = times.deadline.by.min(start + response_timeout);
        let Err(failure) = idle.connection.query(::redis::cmd("PING"), Deadline::until(by)) else {
            return Ok(());
        };
        self.idle = None;
        let is_silent = failure.error.kind() == ErrorKind::Timeout;
        // What happened to it, such as a firewall that forgot it, is likely to have happened to the others. That a server did
        // not answer within less time than it may take says nothing.
        if !is_silent || times.deadline.allows_response(response_timeout, start) {
            self.pool.discard(Some(self.generation));
        }
        if is_silent {
            let address = &self.pool.address;
            return Err(errors::opening(&ConnectionError::Silent, address, Role::Data, start.elapsed()));
        }
        Ok(())
    }
}

impl Drop for ConnectionLease<'_> {
    /// A connection that takes no more requests is given up, as is one on which an answer is awaited that nobody waits for
    /// any more. Unless the server was only silent on it, its other connections are of no use either: they broke too, or
    /// lead to a replica.
    fn drop(&mut self) {
        let is_usable =
            |idle: &mut Idle| idle.connection.session.is_ready() && idle.connection.session.is_idle();
        if let Some(Idle { connection, .. }) = self.idle.take_if(|idle| !is_usable(idle))
            && !connection.session.is_ready()
            && !connection.session.is_silent()
        {
            self.pool.discard(Some(self.generation));
        }
        let mut state = self.pool.state.lock();
        let is_current = self.generation == state.generation && !state.closed;
        let is_kept = is_current && state.open <= self.pool.connector.options.pool_size;
        match self.idle.take_if(|_| is_kept) {
            Some(idle) => state.idle.push(idle),
            None => state.open -= 1,
        }
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.pool.freed.notify_one();
        }
    }
}
