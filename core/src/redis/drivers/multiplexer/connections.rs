//! Connections begin and end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use super::{ConnectionId, Link, Multiplexer, Need, OpenConnection, Order, Peer, Reason};
use crate::error::{Error, Result};
use crate::redis::errors::{self, CallError};
use crate::redis::wire::channel::Channel;

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

    /// Forgets a connection that nobody watches any more.
    pub(in crate::redis) fn remove(&mut self, connection: ConnectionId) {
        self.connections.try_remove(connection);
        self.share_calls();
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

    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn abort(&mut self, now: Instant) {
        for connection in self.connections() {
            self.orphan(connection, &Error::closed(), now);
        }
    }

    /// Closes all connections, of which another process makes use.
    pub(in crate::redis) fn disown(&mut self) {
        self.connections.clear();
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

    /// Whether it is closed.
    pub(in crate::redis) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether it is closed, and no call is left.
    pub(in crate::redis) fn is_done(&self) -> bool {
        self.is_closed && self.connections.is_empty()
    }
}
