//! The calls of many tasks or threads over one connection to each server, without I/O.
//!
//! Its driver moves bytes when a connection is ready, opens the connections and asks for the topology when
//! it is ordered to, and wakes the tasks whose calls have an outcome. No call waits in a queue for a server to come
//! back: while a connection is being opened nothing is sent, and none is used before its server has answered on it.

mod calls;
mod connections;
mod waiting;

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use ::redis::Value;
use slab::Slab;
use smallvec::SmallVec;

use crate::error::Result;
use crate::net::address::Address;
use crate::redis::connecting::breaker::Breaker;
use crate::redis::connecting::connector::Connector;
use crate::redis::topology::learned::{LearnedTopology, Node};
use crate::redis::topology::router::Router;
use crate::redis::wire::channel::{Channel, ReadProgress};
use crate::redis::wire::command::{CallDeadline, CommandOutcome};
use crate::redis::wire::session::{PendingCommand, note_sooner};
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
    pub(in crate::redis) woken: SmallVec<[Waker; 1]>,
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
    woken: SmallVec<[Waker; 1]>,
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
            woken: SmallVec::new(),
            followed: Vec::new(),
            detached: 0,
            next_deadline: None,
            is_closed: false,
        }
    }

    /// Moves bytes on a connection that is ready, or has something to send. Answers what is left to do, or `None` if
    /// nothing more comes of it.
    pub(in crate::redis) fn pump(&mut self, id: ConnectionId, now: Instant) -> Option<ReadProgress> {
        let progress = self.connections.get_mut(id)?.channel.advance(now);
        if progress == ReadProgress::More {
            self.orders.push(Order::Serve(id, Need::Read));
        }
        self.collect(id, now);
        (!self.is_over(id)).then_some(progress)
    }

    /// Moves bytes where something is under way.
    pub(in crate::redis) fn pump_busy(&mut self, now: Instant) {
        for connection in self.connections_that(|connection| !connection.channel.session.is_idle()) {
            self.pump(connection, now);
        }
    }

    /// Only sends.
    pub(in crate::redis) fn flush(&mut self, id: ConnectionId, now: Instant) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.channel.send(now);
        self.collect(id, now);
    }

    /// Takes up the outcomes of requests on a connection.
    fn collect(&mut self, id: ConnectionId, now: Instant) {
        self.detach(id);
        while let Some((call, outcome)) = self.connections[id].channel.session.next_outcome() {
            let peer = Arc::clone(&self.connections[id].peer);
            match outcome {
                CommandOutcome::Done(result) => self.resolve(&peer, call, result, now),
                CommandOutcome::NotExecuted(again) => self.go_on(&peer, call, *again, now),
            }
        }
        let connection = &mut self.connections[id];
        let is_blocked = connection.channel.wants_write();
        if std::mem::replace(&mut connection.is_blocked, is_blocked) != is_blocked {
            self.orders.push(Order::Serve(id, Need::Watch));
        }
        if let Some(deadline) = connection.channel.session.deadline() {
            note_sooner(&mut self.next_deadline, deadline);
        }
        if connection.channel.session.is_over() && !std::mem::replace(&mut connection.is_closing, true) {
            self.orders.push(Order::Serve(id, Need::Close));
        }
    }

    /// Sends nothing more on a connection that takes no more requests.
    fn detach(&self, id: ConnectionId) {
        let connection = &self.connections[id];
        if connection.channel.session.is_ready() {
            return;
        }
        let mut link = connection.peer.link.lock();
        if *link == Link::Open(id) {
            *link = Link::Absent;
        }
    }

    /// Whether requests wait although nothing is under way, and no order sends them.
    #[cfg(test)]
    pub(in crate::redis) fn forgets(&self, id: ConnectionId) -> bool {
        let sends =
            |order: &Order| matches!(order, Order::Serve(sent, Need::Flush | Need::Send) if *sent == id);
        let session = self.connections.get(id).map(|connection| &connection.channel.session);
        session.is_some_and(|session| session.is_ready() && session.starves(1))
            && !self.orders.iter().any(sends)
    }

    /// The stream of a connection, to watch it by.
    pub(in crate::redis) fn stream(&self, connection: ConnectionId) -> Option<&S> {
        self.connections.get(connection).map(|connection| connection.channel.stream())
    }

    /// Whether the connection waits until its stream takes more.
    pub(in crate::redis) fn wants_write(&self, connection: ConnectionId) -> bool {
        self.connections.get(connection).is_some_and(|connection| connection.channel.wants_write())
    }

    pub(in crate::redis) fn connections(&self) -> SmallVec<[ConnectionId; 8]> {
        self.connections_that(|_| true)
    }

    fn connections_that(&self, is_such: impl Fn(&OpenConnection<S>) -> bool) -> SmallVec<[ConnectionId; 8]> {
        self.connections.iter().filter(|(_, connection)| is_such(connection)).map(|(id, _)| id).collect()
    }

    /// Whether nothing more comes of the connection.
    pub(in crate::redis) fn is_over(&self, connection: ConnectionId) -> bool {
        self.connections.get(connection).is_none_or(|connection| connection.channel.session.is_over())
    }

    /// Whether a server is to be heard although nobody waits for an answer.
    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn is_relied_on(&self, now: Instant) -> bool {
        self.connections.iter().any(|(_, connection)| connection.channel.session.is_relied_on(now))
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
