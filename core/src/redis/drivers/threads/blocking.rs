//! The blocking driver: pooled connections, any number of threads.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::redis::Value;

use super::pool::{Pool, Times};
use crate::error::{Error, Result};
use crate::options::ConnectOptions;
use crate::redis::connecting::breaker::Refusal;
use crate::redis::connecting::connector::Connector;
use crate::redis::drivers::discoverer::Discoverer;
use crate::redis::errors;
use crate::redis::settings::url::RedisUrl;
use crate::redis::topology::learned::{DiscoveryNeed, Node, PAUSE, TOPOLOGY_WAIT};
use crate::redis::topology::router::{NextHop, Router};
use crate::redis::wire::command::{CallDeadline, CommandOutcome, Redirect, RedisCommand};
use crate::script::ScriptCall;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

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
        CallDeadline::after(timeout.unwrap_or_else(|| connections.connector.timeout()))
    }

    /// Runs the script at most once.
    pub(crate) fn call(&self, call: ScriptCall, deadline: CallDeadline) -> Result<Value> {
        self.connections()?.carry_out(RedisCommand::Script(call), deadline)
    }

    /// Sends a script whose reply nobody waits for.
    pub(crate) fn send_detached(&self, call: ScriptCall) {
        let request = RedisCommand::Script(call);
        if let Ok(connections) = self.connections()
            && let Ok(pool) = connections.router.owner(&request)
        {
            pool.send_detached(request);
        }
    }

    /// Removes keys of one slot.
    pub(crate) fn delete(&self, keys: &[String], deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::delete(keys), deadline).map(drop)
    }

    pub(crate) fn ping(&self, deadline: CallDeadline) -> Result<()> {
        self.connections()?.carry_out(RedisCommand::ping(), deadline).map(drop)
    }

    /// Final. Calls under way end as they would have.
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.connections.get(Connections::inherited).close();
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
    connector: Arc<Connector>,
    router: Router<Pool>,
    discoverer: Arc<Discoverer>,
    rounds: Arc<DiscoveryRounds>,
}

/// The searches for the topology.
#[derive(Default)]
struct DiscoveryRounds {
    state: Mutex<DiscoveryRound>,
    ended: Condvar,
}

#[derive(Default)]
struct DiscoveryRound {
    number: u64,
    /// Why the last one found nothing.
    failure: Option<Error>,
}

impl Connections {
    fn new(connector: Arc<Connector>) -> Self {
        let router = Router::new(&connector);
        Self { connector, router, discoverer: Arc::default(), rounds: Arc::default() }
    }

    /// A child's own, in place of its parent's.
    fn inherited(parent: &Self) -> Self {
        parent.router.each_try(Pool::abandon);
        parent.discoverer.abandon();
        Self::new(Arc::new(parent.connector.inherited()))
    }

    fn close(&self) {
        self.connector.background.end();
        self.router.close();
        self.discoverer.close();
    }

    /// Asks the owner of the slot, and whom that one points to.
    fn carry_out(&self, mut request: RedisCommand, deadline: CallDeadline) -> Result<Value> {
        let mut times = Times { start: Instant::now(), deadline, waited: false, is_elsewhere: None };
        let mut hops = 0;
        let (mut node, mut asking) = (self.owner(&request, &mut times)?, false);
        let mut is_learned = matches!(self.router, Router::LearnedTopology(_));
        loop {
            let is_elsewhere = || self.is_elsewhere(&node, times.start);
            let watched = is_learned.then_some(&is_elsewhere as &dyn Fn() -> bool);
            let redirect = match node.request(request, asking, Times { is_elsewhere: watched, ..times }) {
                CommandOutcome::Done(Ok(value)) => return Ok(value),
                CommandOutcome::Done(Err(failure)) => {
                    if failure.moved_on {
                        self.router.mark_stale(&node);
                    } else if node.breaker.is_open() {
                        self.router.mark_slow(&node);
                    }
                    return Err(failure.error);
                }
                CommandOutcome::NotExecuted(again) => {
                    request = again.request;
                    again.redirect
                }
            };
            // A server that a redirection names need not be one that the others know already.
            is_learned &= !matches!(redirect, Redirect::Moved(_) | Redirect::Ask(_));
            if let Redirect::Unsent(..) = redirect {
                times.start = Instant::now();
            }
            let left = deadline.by.saturating_duration_since(Instant::now());
            match self.router.next(&mut hops, &node, redirect, &request, left) {
                NextHop::To { node: next, asking: announce } => (node, asking) = (next, announce),
                NextHop::Later(pause) => {
                    thread::sleep(pause);
                    times.start = Instant::now();
                    if times.start >= deadline.by {
                        return Err(errors::slot_moving(request.slot(), node.address()));
                    }
                }
                NextHop::Rediscover => {
                    self.discover(deadline.by, times)?;
                    (node, asking) = (self.router.owner(&request)?, false);
                }
                NextHop::Fail(error) => return Err(error),
            }
            if Instant::now() >= deadline.by {
                return Err(errors::out_of_time(deadline.timeout));
            }
        }
    }

    fn owner(&self, request: &RedisCommand, times: &mut Times<'_>) -> Result<Arc<Pool>> {
        match self.router.due(times.start) {
            DiscoveryNeed::No => {}
            DiscoveryNeed::Refused(Refusal { error, probe, .. }) => {
                if probe {
                    self.begin_discovery();
                }
                return Err(error);
            }
            DiscoveryNeed::Meanwhile => self.begin_discovery(),
            DiscoveryNeed::First => {
                let by = times.deadline.by;
                let by = if self.router.is_known() { by.min(times.start + TOPOLOGY_WAIT) } else { by };
                self.discover(by, *times)?;
                // The time to find the server is none of that to answer.
                times.start = Instant::now();
            }
        }
        self.router.owner(request)
    }

    /// Whether another server is in charge by now, of which others are asked once a connection takes long.
    fn is_elsewhere(&self, node: &Arc<Pool>, since: Instant) -> bool {
        let now = Instant::now();
        if now.saturating_duration_since(since) >= PAUSE && self.router.is_refresh_due(node, now) {
            self.begin_discovery();
        }
        self.router.is_gone(node)
    }

    /// Learns anew who owns which slots, unless that takes too long. Fails only if nothing is known.
    fn discover(&self, by: Instant, times: Times<'_>) -> Result<()> {
        let number = self.rounds.state.lock().number;
        self.begin_discovery();
        let left = by.saturating_duration_since(Instant::now());
        let is_awaited = |round: &mut DiscoveryRound| round.number == number;
        let round = self.rounds.ended.wait_timeout_while(self.rounds.state.lock(), left, is_awaited);
        let round = round.unwrap_or_else(PoisonError::into_inner).0;
        if self.router.is_known() {
            return Ok(());
        }
        // Less time than a server may take to answer says nothing about the servers; a discovery that failed does.
        let failure = round.failure.clone().filter(|_| round.number != number);
        let response_timeout = self.connector.options.response_timeout;
        let counts = failure.is_some() || times.deadline.allows_response(response_timeout, times.start);
        let error = failure.unwrap_or_else(|| errors::out_of_time(times.deadline.timeout));
        if counts {
            self.router.undiscovered(&error, Instant::now());
        }
        Err(error)
    }

    /// Starts a search on a thread of its own, unless one is under way.
    fn begin_discovery(&self) {
        let Router::LearnedTopology(learned) = &self.router else { return };
        if !learned.begin(Instant::now()) {
            return;
        }
        let (discoverer, rounds) = (Arc::clone(&self.discoverer), Arc::clone(&self.rounds));
        let (topology, learned) = (Arc::clone(learned), Arc::clone(learned));
        let end = move |result: Result<()>| {
            // Before the calls that wait for it are woken: one of them may begin the next search.
            learned.searched(&result);
            let mut round = rounds.state.lock();
            *round = DiscoveryRound { number: round.number + 1, failure: result.err() };
            drop(round);
            rounds.ended.notify_all();
        };
        let search = move |cancelled: &dyn Fn() -> bool| {
            let result = discoverer.discover(&topology, cancelled);
            // One that was cancelled says nothing about the servers.
            result.map_err(|error| if cancelled() { Error::closed() } else { error })
        };
        self.connector.background.run(search, end);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::error::ErrorKind;
    use crate::redis::settings::url::Backend;

    #[test]
    fn a_search_that_cannot_begin_ends_the_call() {
        let Ok(Backend::Redis(url)) = Backend::parse("redis-cluster://127.0.0.1:1") else { unreachable!() };
        let redis = BlockingRedis::new(&url, &ConnectOptions::default()).unwrap();
        // As another thread does that closes the limiter, just now.
        redis.connections().unwrap().connector.background.end();
        let error = redis.ping(redis.deadline(None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }

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

    #[test]
    fn a_probe_that_cannot_begin_is_followed_by_another() {
        let Ok(Backend::Redis(url)) = Backend::parse("redis-cluster://127.0.0.1:1") else { unreachable!() };
        let options = ConnectOptions { breaker_failures: 1, ..ConnectOptions::default() };
        let redis = BlockingRedis::new(&url, &options).unwrap();
        let connections = redis.connections().unwrap();
        connections.connector.background.end();
        // Opens the circuit breaker.
        redis.ping(redis.deadline(None)).unwrap_err();
        let pause = options.breaker_probe;
        let (start, deadline) = (Instant::now() + pause, redis.deadline(None));
        let mut times = Times { start, deadline, waited: false, is_elsewhere: None };
        assert!(connections.owner(&RedisCommand::ping(), &mut times).is_err());
        let need = connections.router.due(start + pause);
        assert!(matches!(need, DiscoveryNeed::Refused(Refusal { probe: true, .. })), "{need:?}");
    }
}
