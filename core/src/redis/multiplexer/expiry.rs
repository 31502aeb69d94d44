//! The end of calls whose time is up, wherever they wait.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use super::{Multiplexer, Unrouted};
use crate::redis::errors;
use crate::redis::session::Id;

impl<S: Read + Write> Multiplexer<S> {
    /// When to call [`expire`](Self::expire), at the latest.
    pub(in crate::redis) fn deadline(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// Ends calls whose time is up, and sends on those that have waited long enough.
    pub(in crate::redis) fn expire(&mut self, now: Instant) {
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.next_deadline = None;
        let connections: Vec<_> = self.connections().collect();
        for id in connections {
            // Should the driver have been late itself, the answers are there.
            self.pump(id, now);
            if let Some(connection) = self.connections.get_mut(id) {
                connection.session.expire(now);
                self.collect(id, now);
            }
        }
        self.expire_unrouted(now);
        self.expire_delayed(now);
        self.expire_waiting(now);
    }

    fn expire_unrouted(&mut self, now: Instant) {
        for Unrouted { pending, topology_by } in std::mem::take(&mut self.unrouted) {
            if pending.by <= now {
                // Less time than the servers may take says nothing about them.
                if !self.router.is_known() && self.allows_response(pending.id) {
                    self.router.undiscovered(now);
                }
                self.run_out_of_time(pending.id);
            } else if topology_by <= now && self.router.is_known() {
                self.route(pending, now);
            } else {
                self.note_deadline(topology_by.min(pending.by));
                self.unrouted.push(Unrouted { pending, topology_by });
            }
        }
    }

    fn expire_delayed(&mut self, now: Instant) {
        for delayed in std::mem::take(&mut self.delayed) {
            if delayed.pending.by <= now {
                self.run_out_of_time(delayed.pending.id);
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
            let waiting = std::mem::take(&mut peer.link.lock().waiting);
            let (overdue, waiting): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|pending| pending.by <= now);
            for by in waiting.iter().map(|pending| pending.by) {
                self.note_deadline(by);
            }
            peer.link.lock().waiting = waiting;
            for pending in overdue {
                let failure = errors::unsent(&peer.address);
                self.conclude(&peer, pending.id, Err(failure), now);
            }
        }
    }

    fn run_out_of_time(&mut self, call: Id) {
        let timeout = self.calls.get(call).map_or(Duration::ZERO, |entry| entry.timeout);
        self.complete(call, Err(errors::out_of_time(timeout)));
    }

    pub(super) fn note_deadline(&mut self, deadline: Instant) {
        self.next_deadline = Some(self.next_deadline.map_or(deadline, |next| next.min(deadline)));
    }
}
