//! The calls of many tasks or threads over one connection to each server, without I/O.
//!
//! Its driver moves bytes when a connection is ready, opens the connections and asks for the topology when
//! it is ordered to, and wakes the tasks whose calls have an outcome. No call waits in a queue for a server to come
//! back: while a connection is being opened nothing is sent, and none is used before its server has answered on it.

mod calls;
mod connections;

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use ::redis::Value;
use slab::Slab;
use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::net::address::Address;
use crate::redis::connecting::breaker::{Breaker, Refusal};
use crate::redis::connecting::connector::Connector;
use crate::redis::topology::learned::{DiscoveryNeed, LearnedTopology, Node, PAUSE, TOPOLOGY_WAIT};
use crate::redis::topology::router::Router;
use crate::redis::wire::channel::Channel;
use crate::redis::wire::command::{CallDeadline, RedisCommand};
use crate::redis::wire::session::{Id, PendingCommand, note_sooner};
use crate::sync::lock::Mutex;

pub(in crate::redis) type ConnectionId = usize;

/// One server.
pub(in crate::redis) struct Peer {
    address: Address,
    pub(in crate::redis) breaker: Breaker,
    link: Mutex<Link>,
}

/// The state of the connection to a server. Only the multiplexer changes it.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Link {
    #[default]
    Absent,
    Opening,
    Open(ConnectionId),
}

impl Node for Peer {
    fn new(connector: &Arc<Connector>, address: Address) -> Self {
        Self { breaker: connector.breaker().of(address.clone()), address, link: Mutex::default() }
    }

    fn address(&self) -> &Address {
        &self.address
    }
}

struct OpenConnection<S> {
    peer: Arc<Peer>,
    channel: Channel<S>,
    /// Whether it waits until its stream takes more.
    is_blocked: bool,
    /// Whether the order to close it was given. Once it is carried out, another connection may have its number.
    is_closing: bool,
}

/// A call whose result has not been taken yet.
struct CallEntry {
    /// How often it was sent elsewhere.
    hops: usize,
    deadline: CallDeadline,
    /// Whether it has at least the time that a server may take to answer.
    allows_response: bool,
    state: EntryState,
}

enum EntryState {
    Waiting(Option<Waker>),
    Done(Result<Value>),
    /// Nobody waits for it any more.
    Abandoned,
    /// Nobody waits for it, and it is carried out all the same. What its result is for.
    Detached(Then),
}

/// What is done with the result of a call that nobody waits for.
pub(crate) type Then = Box<dyn FnOnce(Result<Value>) + Send>;

/// What the driver has to do.
pub(in crate::redis) enum Order {
    /// Open a connection, and report it by [`Multiplexer::opened`].
    Open(Arc<Peer>),
    /// Ask for the topology, and report by [`Multiplexer::discovered`].
    Discover(Arc<LearnedTopology<Peer>>),
    Serve(ConnectionId, Need),
}

/// What the driver has to do, once it has let the multiplexer go.
#[derive(Default)]
pub(in crate::redis) struct Work {
    pub(in crate::redis) orders: SmallVec<[Order; 2]>,
    pub(in crate::redis) woken: Vec<Waker>,
    pub(in crate::redis) followed: Vec<(Then, Result<Value>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// It has something to send; what is queued until then goes along.
    Flush,
    /// It has something to send that is not to wait for more: the server has nothing to do.
    Send,
    /// There is more to read than was read at once, perhaps no longer in the stream itself: pump it again, soon.
    Read,
    /// It begins, or ceases, to wait until its stream takes more: see [`Multiplexer::wants_write`].
    Watch,
    /// Nothing more comes of it: stop watching it, then [`Multiplexer::remove`] it.
    Close,
}

/// A request that waits before it is given to a connection.
struct Waiting {
    pending: PendingCommand,
    reason: Reason,
    /// When it goes on or times out.
    until: Instant,
}

/// What a request waits for.
enum Reason {
    /// The topology, or the time to go on with what is known.
    Topology,
    /// Keys that are being moved to another server, until this one is asked again.
    Migration(Arc<Peer>),
    /// A connection to this server.
    Connection(Arc<Peer>),
}

pub(in crate::redis) struct Multiplexer<S> {
    connector: Arc<Connector>,
    pub(in crate::redis) router: Router<Peer>,
    connections: Slab<OpenConnection<S>>,
    calls: Slab<CallEntry>,
    waiting: Vec<Waiting>,
    /// When to ask whether another server is in charge than one to which a connection is awaited.
    refresh_at: Option<Instant>,
    // Few are given at a time, and seldom more than two.
    orders: SmallVec<[Order; 2]>,
    woken: Vec<Waker>,
    /// The results of calls that nobody waits for.
    followed: Vec<(Then, Result<Value>)>,
    /// How many of these are under way.
    detached: usize,
    /// No call's time is up before.
    next_deadline: Option<Instant>,
    /// Whether no more calls are taken.
    is_closed: bool,
}

impl<S: Read + Write> Multiplexer<S> {
    pub(in crate::redis) fn new(connector: Arc<Connector>) -> Self {
        let router = Router::new(&connector);
        Self {
            connector,
            router,
            connections: Slab::new(),
            calls: Slab::new(),
            waiting: Vec::new(),
            refresh_at: None,
            orders: SmallVec::new(),
            woken: Vec::new(),
            followed: Vec::new(),
            detached: 0,
            next_deadline: None,
            is_closed: false,
        }
    }

    /// Begins a call that ends by its deadline.
    pub(in crate::redis) fn submit(
        &mut self,
        request: RedisCommand,
        deadline: CallDeadline,
        now: Instant,
    ) -> Id {
        let by = deadline.by;
        let id = self.calls.insert(CallEntry {
            hops: 0,
            deadline,
            allows_response: deadline.allows_response(self.connector.options.response_timeout, now),
            state: EntryState::Waiting(None),
        });
        if self.is_closed {
            self.complete(id, Err(Error::closed()));
            return id;
        }
        note_sooner(&mut self.next_deadline, by);
        let pending = PendingCommand::new(id, request, false, by);
        match self.router.due(now) {
            DiscoveryNeed::Refused(Refusal { error, probe, .. }) => {
                if probe {
                    self.discover(now);
                }
                self.complete(id, Err(error));
            }
            DiscoveryNeed::No => self.route(pending, now),
            DiscoveryNeed::Meanwhile => {
                self.discover(now);
                self.route(pending, now);
            }
            DiscoveryNeed::First => {
                let topology_by = if self.router.is_known() { now + TOPOLOGY_WAIT } else { by };
                self.wait_for_topology(pending, topology_by, now);
            }
        }
        id
    }

    /// Begins a call that nobody waits for.
    pub(in crate::redis) fn send_detached(
        &mut self,
        request: RedisCommand,
        deadline: CallDeadline,
        then: Then,
        now: Instant,
    ) {
        let id = self.submit(request, deadline, now);
        let Some(entry) = self.calls.get_mut(id) else { return };
        match std::mem::replace(&mut entry.state, EntryState::Detached(then)) {
            EntryState::Done(result) => {
                self.detached += 1;
                self.complete(id, result);
            }
            _ => self.detached += 1,
        }
    }

    /// Whether this is the only call there is.
    pub(in crate::redis) fn is_alone(&self) -> bool {
        self.calls.len() == 1
    }

    /// Whether a call that nobody waits for is under way.
    pub(in crate::redis) fn is_releasing(&self) -> bool {
        self.detached > 0
    }

    /// Whether it is closed.
    pub(in crate::redis) fn is_closed(&self) -> bool {
        self.is_closed
    }

    fn discover(&mut self, now: Instant) {
        if let Router::LearnedTopology(learned) = &self.router
            && learned.begin(now)
        {
            self.orders.push(Order::Discover(Arc::clone(learned)));
        }
    }

    fn wait_for_topology(&mut self, pending: PendingCommand, topology_by: Instant, now: Instant) {
        self.discover(now);
        self.wait(pending, Reason::Topology, topology_by);
    }

    fn wait(&mut self, pending: PendingCommand, reason: Reason, until: Instant) {
        let until = until.min(pending.by);
        note_sooner(&mut self.next_deadline, until);
        self.waiting.push(Waiting { pending, reason, until });
    }

    /// Sends a request to the owner of its slot, to which no key has to be announced.
    fn route(&mut self, mut pending: PendingCommand, now: Instant) {
        pending.asking = false;
        match self.router.owner(&pending.request) {
            Ok(peer) => self.send(&peer, pending, now),
            Err(error) => self.complete(pending.id, Err(error)),
        }
    }

    fn send(&mut self, peer: &Arc<Peer>, mut pending: PendingCommand, now: Instant) {
        if let Err(Refusal { error, probe, awaits_probe }) = peer.breaker.admit(&peer.address, now) {
            if probe {
                self.open(peer);
            }
            self.router.mark_slow(peer);
            if awaits_probe {
                pending.by = pending.by.min(now + self.connector.options.response_timeout);
                let by = pending.by;
                return self.wait(pending, Reason::Connection(Arc::clone(peer)), by);
            }
            return self.complete(pending.id, Err(error));
        }
        let link = *peer.link.lock();
        let Link::Open(connection) = link else {
            let (by, refresh_at) = (pending.by, *self.refresh_at.get_or_insert(now + PAUSE));
            note_sooner(&mut self.next_deadline, refresh_at);
            self.wait(pending, Reason::Connection(Arc::clone(peer)), by);
            return self.open(peer);
        };
        let session = &mut self.connections[connection].channel.session;
        let is_first = !session.has_queued();
        session.submit(pending, now);
        if session.starves(self.calls.len()) {
            self.orders.push(Order::Serve(connection, Need::Send));
        } else if is_first {
            // Those that follow go along.
            self.orders.push(Order::Serve(connection, Need::Flush));
        }
    }

    /// Takes note that the search for the topology has ended, and how.
    pub(in crate::redis) fn discovered(&mut self, result: Result<()>, now: Instant) {
        if let Router::LearnedTopology(learned) = &self.router {
            learned.searched(&result);
        }
        self.retire_gone(now);
        let failure = result.err().filter(|_| !self.router.is_known());
        for waiting in std::mem::take(&mut self.waiting) {
            match (&waiting.reason, &failure) {
                (Reason::Topology, Some(error)) => {
                    self.router.undiscovered(error, now);
                    self.complete(waiting.pending.id, Err(error.clone()));
                }
                (Reason::Topology, None) => self.route(waiting.pending, now),
                (Reason::Connection(peer), _) if self.router.is_gone(peer) => {
                    self.route(waiting.pending, now)
                }
                (Reason::Connection(_) | Reason::Migration(_), _) => self.waiting.push(waiting),
            }
        }
    }

    /// Whether it is closed, and no call is left.
    pub(in crate::redis) fn is_done(&self) -> bool {
        self.is_closed && self.connections.is_empty()
    }

    /// Takes no more calls: they end with an error, as do those that were not sent. Calls under way are answered.
    pub(in crate::redis) fn close(&mut self, now: Instant) {
        self.is_closed = true;
        for waiting in std::mem::take(&mut self.waiting) {
            self.complete(waiting.pending.id, Err(Error::closed()));
        }
        for connection in self.connections() {
            self.connections[connection].channel.session.retire(&Error::closed().into());
            self.collect(connection, now);
        }
    }

    /// What the driver has to do now. `None`: nothing, as is the rule.
    pub(in crate::redis) fn take_work(&mut self) -> Option<Work> {
        if self.orders.is_empty() && self.woken.is_empty() && self.followed.is_empty() {
            return None;
        }
        Some(Work {
            orders: std::mem::take(&mut self.orders),
            woken: std::mem::take(&mut self.woken),
            followed: std::mem::take(&mut self.followed),
        })
    }
}
