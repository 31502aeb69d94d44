//! The conversation on one connection, without I/O: bytes in, bytes out, time as a parameter.
//!
//! A session opens the conversation (protocol, login, database), packs requests in batches in which calls of one
//! kind share a script, matches replies to requests in their order, sends the text of a script with its first use and
//! whenever the server has forgotten it, and ends requests whose time is up. It judges what each reply, or its absence, means for each request;
//! its driver only moves bytes and waits.

mod ending;
mod merging;
mod packing;
mod replication;
mod replies;
mod resp;
mod tracking;
mod watching;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashSet;
use smallvec::SmallVec;

use self::replication::Replication;
use self::resp::Replies;
use self::tracking::Tracking;
use super::command::{CommandOutcome, RedisCommand};
use crate::net::address::Address;
use crate::redis::connecting::connector::Connector;
use crate::redis::errors::ConnectionError;
use crate::redis::settings::login::{HandshakeStep, Role, handshake};
use crate::tracking::Registration;

/// How often the server is asked whether it is still a primary. The question travels with calls, in front of them.
const ROLE_INTERVAL: Duration = Duration::from_millis(500);

/// The fewest batches under way at a time: the server works on one while the answers to another are read.
pub(in crate::redis) const FEWEST_BATCHES: usize = 2;

/// Names a request; of the caller's choice.
pub(in crate::redis) type Id = usize;

/// A request that waits for its answer.
#[derive(Debug)]
pub(in crate::redis) struct PendingCommand {
    pub(in crate::redis) id: Id,
    pub(in crate::redis) request: RedisCommand,
    /// Whether to announce a key that is being moved to this server.
    pub(in crate::redis) asking: bool,
    /// When the caller times out.
    pub(in crate::redis) by: Instant,
    /// Whether it has to be sent alone, since the server refused it in a batch.
    alone: bool,
    /// Whether its time was up before the answer came.
    ended: bool,
    /// Whether nobody wants it any more: should the server not have executed it, it is not sent again.
    unwanted: bool,
    /// Since when it waits to be sent on this connection.
    queued: Option<Instant>,
}

impl PendingCommand {
    pub(in crate::redis) fn new(id: Id, request: RedisCommand, asking: bool, by: Instant) -> Self {
        Self { id, request, asking, by, alone: false, ended: false, unwanted: false, queued: None }
    }

    /// The keys of a script.
    fn keys(&self) -> &[String] {
        match &self.request {
            RedisCommand::Script(call) => &call.keys,
            RedisCommand::Plain(..) => &[],
        }
    }

    /// The call, if it may share a script.
    fn call(&self) -> Option<&crate::script::ScriptCall> {
        match &self.request {
            RedisCommand::Script(call) if !self.alone && !self.asking && call.registration.is_none() => {
                Some(call)
            }
            RedisCommand::Script(_) | RedisCommand::Plain(..) => None,
        }
    }
}

type Bundle = SmallVec<[PendingCommand; 1]>;

/// What the next replies are about.
struct Awaited {
    about: About,
    sent: Instant,
    /// Its first byte, counted from the beginning of the conversation.
    start: u64,
    /// Whether no more of its batch is awaited after it.
    ends_batch: bool,
}

impl Awaited {
    fn requests(&self) -> &[PendingCommand] {
        if let About::Requests(bundle, _) = &self.about { bundle } else { &[] }
    }
}

enum About {
    HandshakeStep(HandshakeStep),
    Role,
    Asking,
    /// That the keys of what follows are to be watched.
    Caching(Arc<Registration>),
    /// How many replicas have what the batch has written.
    Replicas,
    /// Requests that one script carries out, and whether its text was sent.
    Requests(Bundle, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionStage {
    /// The server has yet to answer the opening.
    Opening,
    Ready,
    /// Takes no more requests; those under way may still be answered.
    Retired,
    /// Nothing more comes of it.
    Over,
}

/// The conversation on one connection.
pub(in crate::redis) struct Session {
    address: Address,
    response_timeout: Duration,
    opened: Instant,
    replies: Replies,
    /// Whether a reply may describe the topology: those are by far the longest.
    pub(in crate::redis) has_topology: bool,
    output: Vec<u8>,
    /// How many bytes were sent before those of `output`.
    written: u64,
    queue: Vec<PendingCommand>,
    /// Whether some of them wait since as many as may be are under way.
    is_crowded: bool,
    /// When the server last answered a request.
    heard: Option<Instant>,
    awaited: VecDeque<Awaited>,
    /// Where answers wait for replicas.
    replication: Option<Box<Replication>>,
    /// Where the server announces changes of keys.
    tracking: Option<Box<Tracking>>,
    outcomes: VecDeque<(Id, CommandOutcome)>,
    stage: SessionStage,
    /// Why it is over, or was never ready.
    fault: Option<ConnectionError>,
    /// The scripts whose text was sent on this connection, by their addresses.
    sent_scripts: HashSet<usize>,
    /// Whether keys of one script have to lie in one hash slot.
    minds_slots: bool,
    /// So many batches under way, if they have as many calls, are enough: requests beyond wait and travel together.
    window: usize,
    busy: usize,
    /// How many connections the same callers use.
    connections: usize,
    role_asked: Instant,
    is_replica: bool,
    is_silent: bool,
    /// No request's time is up before.
    next_deadline: Option<Instant>,
}

impl Session {
    /// Begins a conversation with the server at `address`.
    pub(in crate::redis) fn open(connector: &Connector, address: &Address, role: Role, now: Instant) -> Self {
        let mut session = Self {
            address: address.clone(),
            response_timeout: connector.options.response_timeout,
            opened: now,
            replies: Replies::new(connector.tracks(role).is_some()),
            has_topology: false,
            output: Vec::new(),
            written: 0,
            queue: Vec::new(),
            is_crowded: false,
            heard: None,
            awaited: VecDeque::new(),
            replication: Replication::of(&connector.options, role),
            tracking: connector
                .tracks(role)
                .map(|refusals| Box::new(Tracking::new(Arc::clone(refusals), now))),
            outcomes: VecDeque::new(),
            stage: SessionStage::Opening,
            fault: None,
            sent_scripts: HashSet::new(),
            minds_slots: connector.url.is_cluster(),
            window: usize::MAX,
            busy: usize::MAX,
            connections: 1,
            role_asked: now,
            is_replica: false,
            is_silent: false,
            next_deadline: None,
        };
        for (step, cmd) in
            handshake(&connector.url, &connector.options, role, connector.tracks(role).is_some())
        {
            session.pack(&cmd, About::HandshakeStep(step), now);
        }
        session
    }

    /// Limits the batches under way to as many as need not wait for each other, unless they have fewer than `busy`
    /// calls, which are too few to keep the server at work.
    pub(in crate::redis) fn limit_batches(&mut self, window: usize, busy: usize) {
        self.window = window.max(FEWEST_BATCHES);
        self.busy = busy;
    }

    /// The same callers use so many connections: where the servers are several, each has its part of the calls.
    pub(in crate::redis) fn share_calls(&mut self, connections: usize) {
        self.connections = connections.max(1);
    }

    pub(in crate::redis) fn is_opening(&self) -> bool {
        self.stage == SessionStage::Opening
    }

    /// Whether it takes requests.
    pub(in crate::redis) fn is_ready(&self) -> bool {
        self.stage == SessionStage::Ready
    }

    /// Whether nothing more comes of it, so that the connection can be closed.
    pub(in crate::redis) fn is_over(&self) -> bool {
        self.stage == SessionStage::Over || self.stage == SessionStage::Retired && !self.has_pending()
    }

    /// Whether every request has an outcome.
    pub(in crate::redis) fn is_settled(&self) -> bool {
        self.queue.is_empty() && !self.has_pending()
    }

    /// Whether nothing is under way, so that a request sent now has the connection to itself.
    pub(in crate::redis) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty()
    }

    /// Whether requests wait to be sent. Then they are, without being asked for, at the latest when those before them
    /// are answered.
    pub(in crate::redis) fn has_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    pub(in crate::redis) fn fault(&self) -> Option<&ConnectionError> {
        self.fault.as_ref()
    }

    fn has_pending(&self) -> bool {
        let has_answers = self.replication.as_ref().is_some_and(|replication| replication.has_answers());
        has_answers || self.awaited.iter().flat_map(Awaited::requests).any(|pending| !pending.ended)
    }

    /// Adds a request, to be packed by [`flush`](Self::flush).
    pub(in crate::redis) fn submit(&mut self, mut pending: PendingCommand, now: Instant) {
        let queued = *pending.queued.get_or_insert(now);
        note_sooner(&mut self.next_deadline, pending.by.min(queued + self.response_timeout));
        self.queue.push(pending);
    }

    /// Takes back a request that nobody wants any more, unless it was sent. Answers whether it did; then those that were
    /// packed with it wait for [`flush`](Self::flush) again.
    pub(in crate::redis) fn withdraw(&mut self, id: Id) -> bool {
        if self.has_unsent(|pending| pending.id == id) {
            self.unpack();
        }
        for awaited in &mut self.awaited {
            if let About::Requests(bundle, _) = &mut awaited.about {
                bundle.iter_mut().for_each(|pending| pending.unwanted |= pending.id == id);
            }
        }
        self.queue.extract_if(.., |pending| pending.id == id).count() > 0
    }

    /// The bytes to send.
    pub(in crate::redis) fn output(&self) -> &[u8] {
        &self.output
    }

    /// Takes note that so many of them were sent.
    pub(in crate::redis) fn sent(&mut self, bytes: usize) {
        self.written += bytes as u64;
        if bytes == self.output.len() {
            self.output.clear();
        } else {
            self.output.drain(..bytes);
        }
    }

    /// The outcomes of requests, in the order in which they were known.
    pub(in crate::redis) fn next_outcome(&mut self) -> Option<(Id, CommandOutcome)> {
        self.outcomes.pop_front()
    }

    /// When to call [`expire`](Self::expire), at the latest.
    pub(in crate::redis) fn deadline(&self) -> Option<Instant> {
        self.next_deadline
    }
}

/// Moves the next of several deadlines to this one, if it comes sooner.
pub(in crate::redis) fn note_sooner(next: &mut Option<Instant>, deadline: Instant) {
    *next = Some(next.map_or(deadline, |next| next.min(deadline)));
}
