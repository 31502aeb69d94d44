//! The connections: they are opened, move bytes, and end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;

use super::{ConnectionId, Link, Multiplexer, Need, OpenConnection, Order, Peer, Reason};
use crate::error::{Error, Result};
use crate::redis::errors::{self, CallError};
use crate::redis::wire::channel::{Channel, ReadProgress};
use crate::redis::wire::command::CommandOutcome;
use crate::redis::wire::session::note_sooner;

impl<S: Read + Write> Multiplexer<S> {
    /// Orders a connection, unless one is ordered already.
    pub(super) fn open(&mut self, peer: &Arc<Peer>) {
        if std::mem::replace(&mut *peer.link.lock(), Link::Opening) != Link::Opening {
            self.orders.push(Order::Open(Arc::clone(peer)));
        }
    }

    /// Takes a connection that was ordered, or why there is none. Answers its name, by which to watch it.
    pub(in crate::redis) fn opened(
        &mut self,
        peer: &Arc<Peer>,
        opened: Result<Channel<S>, CallError>,
        now: Instant,
    ) -> Option<ConnectionId> {
        let is_for =
            |reason: &Reason| matches!(reason, Reason::Connection(server) if Arc::ptr_eq(server, peer));
        let waiting = self.waiting.extract_if(.., |waiting| is_for(&waiting.reason));
        let waiting = waiting.map(|waiting| waiting.pending).collect::<Vec<_>>().into_iter();
        peer.breaker.probed(opened.as_ref().err());
        *peer.link.lock() = Link::Absent;
        let channel = match opened {
            Ok(channel) if !self.is_closed && !self.router.is_gone(peer) => channel,
            Ok(_) => {
                waiting.for_each(|pending| self.route(pending, now));
                return None;
            }
            Err(failure) => {
                self.router.mark_stale(peer);
                waiting.for_each(|pending| self.resolve(peer, pending.id, Err(failure.clone()), now));
                return None;
            }
        };
        let connection =
            OpenConnection { peer: Arc::clone(peer), channel, is_blocked: false, is_closing: false };
        let connection = self.connections.insert(connection);
        *peer.link.lock() = Link::Open(connection);
        self.share_calls();
        for pending in waiting {
            self.connections[connection].channel.session.submit(pending, now);
        }
        self.orders.push(Order::Serve(connection, Need::Flush));
        Some(connection)
    }

    /// Makes no more use of servers that own nothing any more.
    pub(super) fn retire_gone(&mut self, now: Instant) {
        for connection in self.connections_that(|connection| self.router.is_gone(&connection.peer)) {
            let failure = errors::not_primary(&self.connections[connection].peer.address);
            self.connections[connection].channel.session.retire(&failure);
            self.collect(connection, now);
        }
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

    /// Whether requests wait although nothing is under way, and no order sends them.
    #[cfg(test)]
    pub(in crate::redis) fn forgets(&self, id: ConnectionId) -> bool {
        let sends =
            |order: &Order| matches!(order, Order::Serve(sent, Need::Flush | Need::Send) if *sent == id);
        let session = self.connections.get(id).map(|connection| &connection.channel.session);
        session.is_some_and(|session| session.is_ready() && session.starves(1))
            && !self.orders.iter().any(sends)
    }

    /// Moves bytes where something is under way.
    pub(in crate::redis) fn pump_busy(&mut self, now: Instant) {
        for connection in self.connections_that(|connection| !connection.channel.session.is_idle()) {
            self.pump(connection, now);
        }
    }

    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn abort(&mut self, now: Instant) {
        for connection in self.connections() {
            self.orphan(connection, &Error::closed(), now);
        }
    }

    /// Only sends.
    pub(in crate::redis) fn flush(&mut self, id: ConnectionId, now: Instant) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.channel.send(now);
        self.collect(id, now);
    }

    /// Takes up the outcomes of requests on a connection.
    pub(super) fn collect(&mut self, id: ConnectionId, now: Instant) {
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
    pub(super) fn detach(&self, id: ConnectionId) {
        let connection = &self.connections[id];
        if connection.channel.session.is_ready() {
            return;
        }
        let mut link = connection.peer.link.lock();
        if *link == Link::Open(id) {
            *link = Link::Absent;
        }
    }

    /// Forgets a connection that nobody watches any more.
    pub(in crate::redis) fn remove(&mut self, connection: ConnectionId) {
        self.connections.try_remove(connection);
        self.share_calls();
    }

    /// Closes all connections, of which another process makes use.
    pub(in crate::redis) fn disown(&mut self) {
        self.connections.clear();
    }

    fn share_calls(&mut self) {
        let connections = self.connections.len();
        for (_, connection) in &mut self.connections {
            connection.channel.session.share_calls(connections);
        }
    }

    /// The driver cannot serve the connection any more.
    pub(in crate::redis) fn orphan(&mut self, connection: ConnectionId, error: &Error, now: Instant) {
        if let Some(orphan) = self.connections.get_mut(connection) {
            orphan.is_closing = true;
            orphan.channel.session.end(std::io::Error::other(error.clone()).into());
            self.collect(connection, now);
            self.remove(connection);
        }
    }
}
