//! The calls of many tasks over one connection to each server, without I/O.
//!
//! Whoever drives it moves bytes when a connection is ready, opens the connections and asks for the topology when
//! it is told to, and wakes the tasks whose calls have an outcome. No call waits in a queue for a server to come
//! back: while a connection is being opened nothing is sent, and none is used before its server has answered on it.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::redis::Value;
use slab::Slab;

use super::address::Address;
use super::breaker::{Admission, Breaker};
use super::channel::{Channel, Turn};
use super::connector::Connector;
use super::errors::{self, Failure};
use super::request::{Hint, Outcome, Request};
use super::router::{Due, Journey, Node, PATIENCE, Router, Step};
use super::session::{Id, Pending, Session};
use crate::error::{Error, ErrorKind, Result};

/// Names a connection.
pub(super) type LineId = usize;

/// One server.
pub(super) struct Peer {
    address: Address,
    breaker: Breaker,
    link: Mutex<Link>,
}

#[derive(Default)]
struct Link {
    state: LinkState,
    /// Requests that wait for the connection.
    waiting: Vec<Pending>,
    /// The server owns no slots any more, or the limiter is closed.
    is_gone: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    #[default]
    Absent,
    Opening,
    Open(LineId),
}

impl Node for Peer {
    fn new(connector: &Arc<Connector>, address: Address) -> Self {
        Self { address, breaker: connector.breaker(), link: Mutex::default() }
    }

    fn address(&self) -> &Address {
        &self.address
    }

    fn close(&self) {
        self.link().is_gone = true;
    }
}

impl Peer {
    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection in use.
struct Line<S> {
    peer: Arc<Peer>,
    channel: Channel<S>,
    session: Session,
}

/// A call that has not been taken up yet.
struct Entry {
    journey: Journey,
    slot: u16,
    by: Instant,
    /// Whether it has at least the time that a server may take to answer.
    is_patient: bool,
    state: EntryState,
}

enum EntryState {
    Waiting(Option<Waker>),
    Done(Result<Value>),
    /// Nobody waits for it any more.
    Abandoned,
}

/// What the driver has to do.
pub(super) enum Order {
    /// Open a connection, and report it by [`Multiplexer::opened`].
    Open(Arc<Peer>),
    /// Ask for the topology, and report by [`Multiplexer::discovered`].
    Discover,
    /// The connection has something to send.
    Flush(LineId),
    /// Nothing more comes of the connection: stop watching it, then [`Multiplexer::remove`] it.
    Close(LineId),
}

/// A request that waits for the topology.
struct Unrouted {
    pending: Pending,
    /// When to go on with what is known.
    patience: Instant,
}

/// A request that waits for keys which are being moved.
struct Delayed {
    pending: Pending,
    peer: Arc<Peer>,
    until: Instant,
}

pub(super) struct Multiplexer<S> {
    connector: Arc<Connector>,
    pub(super) router: Router<Peer>,
    lines: Slab<Line<S>>,
    calls: Slab<Entry>,
    opening: Vec<Arc<Peer>>,
    unrouted: Vec<Unrouted>,
    delayed: Vec<Delayed>,
    is_discovering: bool,
    orders: Vec<Order>,
    woken: Vec<Waker>,
    /// No call's time is up before.
    next_deadline: Option<Instant>,
    /// Why no more calls are taken.
    closed: Option<Error>,
}

impl<S: Read + Write> Multiplexer<S> {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        let router = Router::new(&connector);
        Self {
            connector,
            router,
            lines: Slab::new(),
            calls: Slab::new(),
            opening: Vec::new(),
            unrouted: Vec::new(),
            delayed: Vec::new(),
            is_discovering: false,
            orders: Vec::new(),
            woken: Vec::new(),
            next_deadline: None,
            closed: None,
        }
    }

    /// Begins a call that ends at `by`, at the latest.
    pub(super) fn submit(&mut self, request: Request, by: Instant, now: Instant) -> Id {
        let slot = request.slot();
        let state = EntryState::Waiting(None);
        let is_patient = by >= now + self.connector.response_timeout;
        let id = self.calls.insert(Entry { journey: Journey::default(), slot, by, is_patient, state });
        if let Some(error) = &self.closed {
            let error = error.clone();
            self.complete(id, Err(error));
            return id;
        }
        self.note_deadline(by);
        let pending = Pending::new(id, request, false, by);
        match self.router.due(now) {
            Due::No => self.route(pending, now),
            Due::Meanwhile => {
                self.discover();
                self.route(pending, now);
            }
            Due::First => {
                let patience = if self.is_known() { now + PATIENCE } else { by };
                self.wait_for_topology(pending, patience);
            }
        }
        id
    }

    /// Whether this is the only call there is.
    pub(super) fn is_alone(&self) -> bool {
        self.calls.len() == 1
    }

    fn is_known(&self) -> bool {
        match &self.router {
            Router::Fixed(_) => true,
            Router::Learnt(learnt) => learnt.is_known(),
        }
    }

    fn discover(&mut self) {
        if !self.is_discovering {
            self.is_discovering = true;
            self.orders.push(Order::Discover);
        }
    }

    fn wait_for_topology(&mut self, pending: Pending, patience: Instant) {
        self.discover();
        self.note_deadline(patience);
        self.unrouted.push(Unrouted { pending, patience });
    }

    /// Sends a request to the owner of its slot.
    fn route(&mut self, pending: Pending, now: Instant) {
        let slot = self.calls.get(pending.id).map_or(0, |entry| entry.slot);
        match self.router.owner(slot) {
            Some(peer) => self.send(&peer, pending, now),
            None => self.complete(pending.id, Err(errors::unowned(slot))),
        }
    }

    fn send(&mut self, peer: &Arc<Peer>, pending: Pending, now: Instant) {
        if let Admission::Open { failure, probe } = peer.breaker.admit(&peer.address, now) {
            if probe {
                self.open(peer, &mut peer.link());
            }
            return self.complete(pending.id, Err(failure.error));
        }
        let mut link = peer.link();
        match link.state {
            LinkState::Open(line) => {
                self.lines[line].session.submit(pending, now);
                if !matches!(self.orders.last(), Some(Order::Flush(last)) if *last == line) {
                    self.orders.push(Order::Flush(line));
                }
            }
            LinkState::Opening => link.waiting.push(pending),
            LinkState::Absent => {
                link.waiting.push(pending);
                self.open(peer, &mut link);
            }
        }
    }

    fn open(&mut self, peer: &Arc<Peer>, link: &mut Link) {
        if link.state == LinkState::Opening {
            return;
        }
        link.state = LinkState::Opening;
        self.opening.push(Arc::clone(peer));
        self.orders.push(Order::Open(Arc::clone(peer)));
    }

    /// Takes a connection that was ordered, or why there is none. Answers its name, by which to watch it.
    pub(super) fn opened(
        &mut self,
        peer: &Arc<Peer>,
        opened: Result<(Channel<S>, Session), Failure>,
        now: Instant,
    ) -> Option<LineId> {
        self.opening.retain(|opening| !Arc::ptr_eq(opening, peer));
        let mut link = peer.link();
        let waiting = std::mem::take(&mut link.waiting);
        peer.breaker.probed(opened.is_ok());
        let (channel, session) = match opened {
            Ok(line) if self.closed.is_none() && !link.is_gone => line,
            Ok(_) => {
                link.state = LinkState::Absent;
                drop(link);
                self.reroute(waiting, now);
                return None;
            }
            Err(failure) => {
                link.state = LinkState::Absent;
                drop(link);
                self.not_opened(peer, waiting, &failure, now);
                return None;
            }
        };
        let line = self.lines.insert(Line { peer: Arc::clone(peer), channel, session });
        link.state = LinkState::Open(line);
        drop(link);
        for pending in waiting {
            self.lines[line].session.submit(pending, now);
        }
        self.orders.push(Order::Flush(line));
        Some(line)
    }

    fn not_opened(&mut self, peer: &Arc<Peer>, waiting: Vec<Pending>, failure: &Failure, now: Instant) {
        self.router.doubt(peer);
        for pending in waiting {
            self.conclude(peer, pending.id, Err(failure.clone()), now);
        }
    }

    /// Sends requests to the owners of their slots instead of a server that is gone.
    fn reroute(&mut self, waiting: Vec<Pending>, now: Instant) {
        for mut pending in waiting {
            pending.asking = false;
            self.route(pending, now);
        }
    }

    /// Takes note that the search for the topology has ended, and how.
    pub(super) fn discovered(&mut self, result: Result<()>, now: Instant) {
        self.is_discovering = false;
        self.retire_gone(now);
        let waiting = std::mem::take(&mut self.unrouted);
        let failure = result.err().filter(|_| !self.is_known());
        for Unrouted { pending, .. } in waiting {
            match &failure {
                Some(error) => self.complete(pending.id, Err(error.clone())),
                None => self.route(pending, now),
            }
        }
    }

    /// Makes no more use of servers that own nothing any more.
    fn retire_gone(&mut self, now: Instant) {
        let gone: Vec<_> =
            self.lines.iter().filter(|(_, line)| line.peer.link().is_gone).map(|(id, _)| id).collect();
        for line in gone {
            let failure = errors::not_primary(&self.lines[line].peer.address);
            self.lines[line].session.retire(&failure);
            self.collect(line, now);
        }
        for peer in self.opening.clone() {
            let mut link = peer.link();
            let waiting = if link.is_gone { std::mem::take(&mut link.waiting) } else { Vec::new() };
            drop(link);
            self.reroute(waiting, now);
        }
    }

    /// The stream of a connection, to watch it by.
    pub(super) fn stream(&self, line: LineId) -> Option<&S> {
        self.lines.get(line).map(|line| line.channel.stream())
    }

    /// Whether the connection waits until its stream takes more.
    pub(super) fn wants_write(&self, line: LineId) -> bool {
        self.lines.get(line).is_some_and(|line| line.channel.wants_write(&line.session))
    }

    /// The connections in use.
    pub(super) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lines.iter().map(|(id, _)| id)
    }

    /// Whether nothing more comes of the connection.
    pub(super) fn is_over(&self, line: LineId) -> bool {
        self.lines.get(line).is_none_or(|line| line.session.is_over())
    }

    /// Whether it is closed, and no call is left.
    pub(super) fn is_done(&self) -> bool {
        self.closed.is_some() && self.lines.is_empty()
    }

    /// Moves bytes on a connection that is ready, or has something to send.
    pub(super) fn pump(&mut self, id: LineId, now: Instant) -> Turn {
        let Some(line) = self.lines.get_mut(id) else { return Turn::Done };
        let turn = line.channel.turn(&mut line.session, now);
        self.collect(id, now);
        turn
    }

    /// Moves bytes where something is under way.
    #[cfg(feature = "bridge")]
    pub(super) fn pump_busy(&mut self) {
        let busy: Vec<_> =
            self.lines.iter().filter(|(_, line)| !line.session.is_idle()).map(|(id, _)| id).collect();
        for line in busy {
            self.pump(line, Instant::now());
        }
    }

    /// Ends all connections.
    #[cfg(feature = "bridge")]
    pub(super) fn abort(&mut self, error: &Error, now: Instant) {
        let lines: Vec<_> = self.lines().collect();
        for line in lines {
            self.orphan(line, error, now);
        }
    }

    /// Only sends.
    pub(super) fn flush(&mut self, id: LineId, now: Instant) {
        let Some(line) = self.lines.get_mut(id) else { return };
        if let Err(err) = line.channel.send(&mut line.session, now) {
            line.session.end(err.into());
        }
        self.collect(id, now);
    }

    /// Takes up what came of requests on a connection.
    fn collect(&mut self, id: LineId, now: Instant) {
        self.detach(id);
        while let Some((call, outcome)) = self.lines[id].session.next_outcome() {
            let peer = Arc::clone(&self.lines[id].peer);
            match outcome {
                Outcome::Done(result) => self.conclude(&peer, call, result, now),
                Outcome::Again(request, hint) => self.go_on(&peer, call, request, hint, now),
            }
        }
        let line = &self.lines[id];
        if let Some(deadline) = line.session.deadline() {
            self.note_deadline(deadline);
        }
        if self.lines[id].session.is_over() {
            self.orders.push(Order::Close(id));
        }
    }

    /// Sends nothing more on a connection that takes no more requests.
    fn detach(&self, id: LineId) {
        let line = &self.lines[id];
        let mut link = line.peer.link();
        if link.state == LinkState::Open(id) && !line.session.is_ready() {
            link.state = LinkState::Absent;
        }
    }

    fn conclude(&mut self, peer: &Peer, call: Id, result: Result<Value, Failure>, now: Instant) {
        match &result {
            Ok(_) => peer.breaker.answered(),
            Err(failure) => {
                if failure.moved_on {
                    self.router.doubt(peer);
                }
                if failure.unanswered {
                    self.count_unanswered(peer, call, failure, now);
                } else if failure.error.kind() == ErrorKind::Server {
                    peer.breaker.answered();
                }
            }
        }
        self.complete(call, result.map_err(|failure| failure.error));
    }

    /// Tells the circuit breaker. While it is open, nothing is sent on the connection that there is.
    fn count_unanswered(&mut self, peer: &Peer, call: Id, failure: &Failure, now: Instant) {
        let is_patient = self.calls.get(call).is_some_and(|entry| entry.is_patient);
        // Less time than the server may take says nothing about the server.
        if failure.error.kind() == ErrorKind::Timeout && !is_patient || !peer.breaker.unanswered(now) {
            return;
        }
        let state = peer.link().state;
        if let LinkState::Open(line) = state {
            self.lines[line].session.retire(&errors::unsent(&peer.address));
            self.detach(line);
            // What it gives back is taken up there.
            self.orders.push(Order::Flush(line));
        }
    }

    /// Sends a request on that was not executed.
    fn go_on(&mut self, peer: &Arc<Peer>, call: Id, request: Request, hint: Hint, now: Instant) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        if let EntryState::Abandoned = entry.state {
            self.calls.remove(call);
            return;
        }
        if let Some(error) = self.closed.clone() {
            return self.complete(call, Err(error));
        }
        if !matches!(hint, Hint::Unsent(..)) {
            peer.breaker.answered();
        }
        if let Hint::Unsent(failure, by) = &hint {
            entry.by = entry.by.min(*by);
            // Those that waited behind a silent server end as those that it left unanswered.
            if failure.error.kind() == ErrorKind::Timeout && peer.breaker.is_open() {
                return self.complete(call, Err(failure.error.clone()));
            }
        }
        let (by, slot) = (entry.by, entry.slot);
        let pending = |asking| Pending::new(call, request, asking, by);
        match self.router.next(&mut entry.journey, peer, hint, slot) {
            Step::To { node, asking } => self.send(&node, pending(asking), now),
            Step::Later(pause) => {
                let until = now + pause;
                self.note_deadline(until);
                self.delayed.push(Delayed { pending: pending(false), peer: Arc::clone(peer), until });
            }
            Step::Rediscover => self.wait_for_topology(pending(false), by),
            Step::Fail(error) => self.complete(call, Err(error)),
        }
    }

    /// Forgets a connection that nobody watches any more.
    pub(super) fn remove(&mut self, line: LineId) {
        self.lines.try_remove(line);
    }

    /// The driver cannot serve the connection any more.
    pub(super) fn orphan(&mut self, line: LineId, error: &Error, now: Instant) {
        if let Some(orphan) = self.lines.get_mut(line) {
            orphan.session.end(std::io::Error::other(error.clone()).into());
            self.collect(line, now);
            self.remove(line);
        }
    }

    fn complete(&mut self, call: Id, result: Result<Value>) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        match std::mem::replace(&mut entry.state, EntryState::Done(result)) {
            EntryState::Waiting(waker) => self.woken.extend(waker),
            EntryState::Done(_) => {}
            EntryState::Abandoned => drop(self.calls.remove(call)),
        }
    }

    /// What came of a call; or keeps the waker for when that is known.
    pub(super) fn poll(&mut self, call: Id, context: &Context<'_>) -> Poll<Result<Value>> {
        let Some(entry) = self.calls.get_mut(call) else {
            return Poll::Ready(Err(errors::no_answer().error));
        };
        match &mut entry.state {
            EntryState::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                Poll::Pending
            }
            EntryState::Done(_) | EntryState::Abandoned => match self.calls.remove(call).state {
                EntryState::Done(result) => Poll::Ready(result),
                _ => Poll::Ready(Err(errors::no_answer().error)),
            },
        }
    }

    /// Nobody waits for the call any more. If it was not sent yet, it never is.
    pub(super) fn abandon(&mut self, call: Id) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        if let EntryState::Done(_) = entry.state {
            self.calls.remove(call);
            return;
        }
        entry.state = EntryState::Abandoned;
        let before = self.unrouted.len() + self.delayed.len();
        self.unrouted.retain(|unrouted| unrouted.pending.id != call);
        self.delayed.retain(|delayed| delayed.pending.id != call);
        let mut withdrawn = before != self.unrouted.len() + self.delayed.len();
        for peer in &self.opening {
            let mut link = peer.link();
            let before = link.waiting.len();
            link.waiting.retain(|pending| pending.id != call);
            withdrawn |= before != link.waiting.len();
        }
        let found = self.lines.iter_mut().find_map(|(id, line)| line.session.withdraw(call).then_some(id));
        if let Some(line) = found {
            self.orders.push(Order::Flush(line));
            withdrawn = true;
        }
        if withdrawn {
            self.calls.remove(call);
        }
    }

    /// When to call [`expire`](Self::expire), at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// Ends calls whose time is up, and sends on those that have waited long enough.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.next_deadline = None;
        let lines: Vec<_> = self.lines().collect();
        for id in lines {
            // Should the driver have been late itself, the answers are there.
            self.pump(id, now);
            if let Some(line) = self.lines.get_mut(id) {
                line.session.expire(now);
                self.collect(id, now);
            }
        }
        self.expire_unrouted(now);
        self.expire_delayed(now);
        self.expire_waiting(now);
    }

    fn expire_unrouted(&mut self, now: Instant) {
        for Unrouted { pending, patience } in std::mem::take(&mut self.unrouted) {
            if pending.by <= now {
                self.complete(pending.id, Err(errors::out_of_time(self.connector.timeout())));
            } else if patience <= now && self.is_known() {
                self.route(pending, now);
            } else {
                self.note_deadline(patience.min(pending.by));
                self.unrouted.push(Unrouted { pending, patience });
            }
        }
    }

    fn expire_delayed(&mut self, now: Instant) {
        for delayed in std::mem::take(&mut self.delayed) {
            if delayed.pending.by <= now {
                let error = errors::out_of_time(self.connector.timeout());
                self.complete(delayed.pending.id, Err(error));
            } else if delayed.until <= now {
                self.send(&delayed.peer, delayed.pending, now);
            } else {
                self.note_deadline(delayed.until);
                self.delayed.push(delayed);
            }
        }
    }

    fn expire_waiting(&mut self, now: Instant) {
        for peer in self.opening.clone() {
            let waiting = std::mem::take(&mut peer.link().waiting);
            let (overdue, waiting): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|pending| pending.by <= now);
            for by in waiting.iter().map(|pending| pending.by) {
                self.note_deadline(by);
            }
            peer.link().waiting = waiting;
            for pending in overdue {
                let failure = errors::unsent(&peer.address);
                self.conclude(&peer, pending.id, Err(failure), now);
            }
        }
    }

    fn note_deadline(&mut self, deadline: Instant) {
        self.next_deadline = Some(self.next_deadline.map_or(deadline, |next| next.min(deadline)));
    }

    /// Takes no more calls: they end with `error`, as do those that were not sent. Calls under way are answered.
    pub(super) fn close(&mut self, error: &Error, now: Instant) {
        self.closed = Some(error.clone());
        let mut unsent: Vec<Id> = self.unrouted.drain(..).map(|unrouted| unrouted.pending.id).collect();
        unsent.extend(self.delayed.drain(..).map(|delayed| delayed.pending.id));
        for peer in std::mem::take(&mut self.opening) {
            unsent.extend(peer.link().waiting.drain(..).map(|pending| pending.id));
        }
        for call in unsent {
            self.complete(call, Err(error.clone()));
        }
        let lines: Vec<_> = self.lines().collect();
        for line in lines {
            self.lines[line].session.retire(&Failure::from(error.clone()));
            self.close_line(line, error, now);
        }
    }

    /// Ends what a closed connection gives back unsent.
    fn close_line(&mut self, line: LineId, error: &Error, now: Instant) {
        let mut answered = Vec::new();
        while let Some((call, outcome)) = self.lines[line].session.next_outcome() {
            match outcome {
                Outcome::Again(..) => self.complete(call, Err(error.clone())),
                Outcome::Done(result) => answered.push((call, result)),
            }
        }
        let peer = Arc::clone(&self.lines[line].peer);
        for (call, result) in answered {
            self.conclude(&peer, call, result, now);
        }
        self.collect(line, now);
    }

    /// What the driver has to do now, and whom to wake.
    pub(super) fn take_work(&mut self) -> (Vec<Order>, Vec<Waker>) {
        (std::mem::take(&mut self.orders), std::mem::take(&mut self.woken))
    }
}
