//! Calls that are not on a connection yet: they wait for one, for the topology, or for keys that move; and the end of
//! everybody's time.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Multiplexer, Order, Reason, Waiting};
use crate::error::Result;
use crate::redis::errors;
use crate::redis::topology::learned::PAUSE;
use crate::redis::topology::router::Router;
use crate::redis::wire::channel::ReadProgress;
use crate::redis::wire::session::{PendingCommand, note_sooner};

/// The most portions that are read of a connection before calls on it end as late: a server that talks without end ends them
/// all the same.
const MOST_READS: usize = 64;

impl<S: Read + Write> Multiplexer<S> {
    pub(super) fn wait(&mut self, pending: PendingCommand, reason: Reason, until: Instant) {
        let until = until.min(pending.by);
        note_sooner(&mut self.next_deadline, until);
        self.waiting.push(Waiting { pending, reason, until });
    }

    pub(super) fn wait_for_topology(&mut self, pending: PendingCommand, topology_by: Instant, now: Instant) {
        self.discover(now);
        self.wait(pending, Reason::Topology, topology_by);
    }

    pub(super) fn discover(&mut self, now: Instant) {
        if let Router::LearnedTopology(learned) = &self.router
            && learned.begin(now)
        {
            self.orders.push(Order::Discover(Arc::clone(learned)));
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

    /// When to call [`expire`](Self::expire), at the latest.
    pub(in crate::redis) fn deadline(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// Ends calls whose time is up, and sends on those that have waited long enough.
    pub(in crate::redis) fn expire(&mut self, now: Instant) {
        if self.next_deadline.take_if(|deadline| *deadline <= now).is_none() {
            return;
        }
        for id in self.connections() {
            // Should the driver have been late itself, the answers are there.
            for _ in 0..MOST_READS {
                if self.pump(id, now) != Some(ReadProgress::More) {
                    break;
                }
            }
            if let Some(connection) = self.connections.get_mut(id) {
                connection.channel.session.expire(now);
                self.collect(id, now);
            }
        }
        for waiting in std::mem::take(&mut self.waiting) {
            self.expire_waiting(waiting, now);
        }
        self.refresh_topology(now);
    }

    fn expire_waiting(&mut self, Waiting { pending, reason, until }: Waiting, now: Instant) {
        if now < until {
            return self.wait(pending, reason, until);
        }
        let is_overdue = pending.by <= now;
        match reason {
            Reason::Topology if is_overdue => {
                let timeout =
                    self.calls.get(pending.id).map_or(Duration::ZERO, |entry| entry.deadline.timeout);
                let error = errors::out_of_time(timeout);
                // Less time than the servers may take says nothing about them.
                if !self.router.is_known() && self.allows_response(pending.id) {
                    self.router.undiscovered(&error, now);
                }
                self.complete(pending.id, Err(error));
            }
            Reason::Topology => self.route(pending, now),
            Reason::Migration(peer) if is_overdue => {
                let error = errors::slot_moving(pending.request.slot(), &peer.address);
                self.complete(pending.id, Err(error));
            }
            Reason::Migration(peer) => self.send(&peer, pending, now),
            // It has waited for the probe.
            Reason::Connection(peer) if peer.breaker.is_open() => {
                self.complete(pending.id, Err(peer.breaker.refusal(&peer.address, now)));
            }
            Reason::Connection(peer) => {
                self.resolve(&peer, pending.id, Err(errors::unsent(&peer.address)), now);
            }
        }
    }

    /// Asks whether other servers are in charge than those to which connections are awaited for long.
    fn refresh_topology(&mut self, now: Instant) {
        let Some(refresh_at) = self.refresh_at.take() else { return };
        let awaited = self.waiting.iter().find_map(|waiting| match &waiting.reason {
            // A server that a redirection names need not be one that the others know already.
            Reason::Connection(peer) if !waiting.pending.asking => Some(Arc::clone(peer)),
            _ => None,
        });
        let Some(peer) = awaited else { return };
        let is_due = refresh_at <= now;
        if is_due && self.router.is_refresh_due(&peer, now) {
            self.discover(now);
        }
        let next = if is_due { now + PAUSE } else { refresh_at };
        self.refresh_at = Some(next);
        note_sooner(&mut self.next_deadline, next);
    }
}
