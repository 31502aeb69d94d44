//! The connections: they are opened, move bytes, and end.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use super::{Line, LineId, Link, LinkState, Multiplexer, Order, Peer};
use crate::error::{Error, Result};
use crate::redis::channel::{Channel, ReadProgress};
use crate::redis::command::CommandOutcome;
use crate::redis::errors::{self, CallError};
use crate::redis::session::{PendingCommand, Session};

impl<S: Read + Write> Multiplexer<S> {
    pub(super) fn open(&mut self, peer: &Arc<Peer>, link: &mut Link) {
        if link.state == LinkState::Opening {
            return;
        }
        link.state = LinkState::Opening;
        self.opening.push(Arc::clone(peer));
        self.orders.push(Order::Open(Arc::clone(peer)));
    }

    /// Takes a connection that was ordered, or why there is none. Answers its name, by which to watch it.
    pub(in crate::redis) fn opened(
        &mut self,
        peer: &Arc<Peer>,
        opened: Result<(Channel<S>, Session), CallError>,
        now: Instant,
    ) -> Option<LineId> {
        self.opening.retain(|opening| !Arc::ptr_eq(opening, peer));
        let mut link = peer.link.lock();
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

    fn not_opened(
        &mut self,
        peer: &Arc<Peer>,
        waiting: Vec<PendingCommand>,
        failure: &CallError,
        now: Instant,
    ) {
        self.router.doubt(peer);
        for pending in waiting {
            self.conclude(peer, pending.id, Err(failure.clone()), now);
        }
    }

    /// Makes no more use of servers that own nothing any more.
    pub(super) fn retire_gone(&mut self, now: Instant) {
        let gone: Vec<_> =
            self.lines.iter().filter(|(_, line)| line.peer.link.lock().is_gone).map(|(id, _)| id).collect();
        for line in gone {
            let failure = errors::not_primary(&self.lines[line].peer.address);
            self.lines[line].session.retire(&failure);
            self.collect(line, now);
        }
        for peer in self.opening.clone() {
            let mut link = peer.link.lock();
            let waiting = if link.is_gone { std::mem::take(&mut link.waiting) } else { Vec::new() };
            drop(link);
            self.reroute(waiting, now);
        }
    }

    /// The stream of a connection, to watch it by.
    pub(in crate::redis) fn stream(&self, line: LineId) -> Option<&S> {
        self.lines.get(line).map(|line| line.channel.stream())
    }

    /// Whether the connection waits until its stream takes more.
    pub(in crate::redis) fn wants_write(&self, line: LineId) -> bool {
        self.lines.get(line).is_some_and(|line| line.channel.wants_write(&line.session))
    }

    /// The connections in use.
    pub(in crate::redis) fn lines(&self) -> impl Iterator<Item = LineId> {
        self.lines.iter().map(|(id, _)| id)
    }

    /// Whether nothing more comes of the connection.
    pub(in crate::redis) fn is_over(&self, line: LineId) -> bool {
        self.lines.get(line).is_none_or(|line| line.session.is_over())
    }

    /// Moves bytes on a connection that is ready, or has something to send.
    pub(in crate::redis) fn pump(&mut self, id: LineId, now: Instant) -> ReadProgress {
        let Some(line) = self.lines.get_mut(id) else { return ReadProgress::Done };
        let progress = line.channel.advance(&mut line.session, now);
        self.collect(id, now);
        progress
    }

    /// Moves bytes where something is under way.
    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn pump_busy(&mut self) {
        let busy: Vec<_> =
            self.lines.iter().filter(|(_, line)| !line.session.is_idle()).map(|(id, _)| id).collect();
        for line in busy {
            self.pump(line, Instant::now());
        }
    }

    /// Ends all connections.
    #[cfg(feature = "bridge")]
    pub(in crate::redis) fn abort(&mut self, error: &Error, now: Instant) {
        let lines: Vec<_> = self.lines().collect();
        for line in lines {
            self.orphan(line, error, now);
        }
    }

    /// Only sends.
    pub(in crate::redis) fn flush(&mut self, id: LineId, now: Instant) {
        let Some(line) = self.lines.get_mut(id) else { return };
        if let Err(err) = line.channel.send(&mut line.session, now) {
            line.session.end(err.into());
        }
        self.collect(id, now);
    }

    /// Takes up the outcomes of requests on a connection.
    pub(super) fn collect(&mut self, id: LineId, now: Instant) {
        self.detach(id);
        while let Some((call, outcome)) = self.lines[id].session.next_outcome() {
            let peer = Arc::clone(&self.lines[id].peer);
            match outcome {
                CommandOutcome::Done(result) => self.conclude(&peer, call, result, now),
                CommandOutcome::Again(request, hint) => self.go_on(&peer, call, request, hint, now),
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
    pub(super) fn detach(&self, id: LineId) {
        let line = &self.lines[id];
        let mut link = line.peer.link.lock();
        if link.state == LinkState::Open(id) && !line.session.is_ready() {
            link.state = LinkState::Absent;
        }
    }

    /// Forgets a connection that nobody watches any more.
    pub(in crate::redis) fn remove(&mut self, line: LineId) {
        self.lines.try_remove(line);
    }

    /// The driver cannot serve the connection any more.
    pub(in crate::redis) fn orphan(&mut self, line: LineId, error: &Error, now: Instant) {
        if let Some(orphan) = self.lines.get_mut(line) {
            orphan.session.end(std::io::Error::other(error.clone()).into());
            self.collect(line, now);
            self.remove(line);
        }
    }

    /// Ends what a closed connection gives back unsent.
    pub(super) fn close_line(&mut self, line: LineId, error: &Error, now: Instant) {
        let mut answered = Vec::new();
        while let Some((call, outcome)) = self.lines[line].session.next_outcome() {
            match outcome {
                CommandOutcome::Again(..) => self.complete(call, Err(error.clone())),
                CommandOutcome::Done(result) => answered.push((call, result)),
            }
        }
        let peer = Arc::clone(&self.lines[line].peer);
        for (call, result) in answered {
            self.conclude(&peer, call, result, now);
        }
        self.collect(line, now);
    }
}
