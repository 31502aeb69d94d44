//! The end of each call: its result, another attempt on another server, or the end of its time.

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use ::redis::Value;

use super::{EntryState, Link, Multiplexer, Need, Order, Peer, Reason, Waiting};
use crate::error::{Error, ErrorKind, Result};
use crate::redis::errors::{self, CallError};
use crate::redis::topology::learned::PAUSE;
use crate::redis::topology::router::NextHop;
use crate::redis::wire::channel::ReadProgress;
use crate::redis::wire::command::{Redirect, Unexecuted, split_replicated};
use crate::redis::wire::session::{Id, PendingCommand, note_sooner};

/// The most portions that are read of a connection before calls on it end as late: a server that talks without end ends them
/// all the same.
const MOST_READS: usize = 64;

impl<S: Read + Write> Multiplexer<S> {
    pub(super) fn resolve(&mut self, peer: &Peer, call: Id, result: Result<Value, CallError>, now: Instant) {
        if result.as_ref().is_err_and(|failure| failure.moved_on) {
            self.router.mark_stale(peer);
        }
        if peer.breaker.note(&result, || self.allows_response(call), now) {
            self.retire_open(peer);
        }
        self.complete(call, result.map_err(|failure| failure.error));
    }

    /// While the circuit breaker is open, nothing is sent on the connection that there is.
    fn retire_open(&mut self, peer: &Peer) {
        let link = *peer.link.lock();
        if let Link::Open(connection) = link {
            self.connections[connection].channel.session.retire(&errors::unsent(&peer.address));
            self.detach(connection);
            // What it gives back is taken up there.
            self.orders.push(Order::Serve(connection, Need::Flush));
        }
    }

    /// Whether the call leaves a server the time that it may take to answer.
    pub(super) fn allows_response(&self, call: Id) -> bool {
        self.calls.get(call).is_some_and(|entry| entry.allows_response)
    }

    /// Sends a request on that was not executed.
    pub(super) fn go_on(
        &mut self,
        peer: &Arc<Peer>,
        call: Id,
        Unexecuted { request, asking, redirect }: Unexecuted,
        now: Instant,
    ) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        if let EntryState::Abandoned = entry.state {
            return drop(self.calls.remove(call));
        }
        if self.is_closed {
            return self.complete(call, Err(Error::closed()));
        }
        if let Redirect::Unsent(failure, by) = &redirect {
            entry.deadline.by = entry.deadline.by.min(*by);
            // Those that waited behind a silent server end as those that it left unanswered.
            if failure.error.kind() == ErrorKind::Timeout && peer.breaker.is_open() {
                return self.complete(call, Err(failure.error.clone()));
            }
        } else {
            peer.breaker.answered();
        }
        let by = entry.deadline.by;
        let next =
            self.router.next(&mut entry.hops, peer, redirect, &request, by.saturating_duration_since(now));
        let pending = |asking| PendingCommand::new(call, request, asking, by);
        match next {
            NextHop::To { node, asking } => self.send(&node, pending(asking), now),
            NextHop::Later(pause) => {
                self.wait(pending(asking), Reason::Migration(Arc::clone(peer)), now + pause);
            }
            NextHop::Rediscover => self.wait_for_topology(pending(false), by, now),
            NextHop::Fail(error) => self.complete(call, Err(error)),
        }
    }

    pub(super) fn complete(&mut self, call: Id, result: Result<Value>) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        match std::mem::replace(&mut entry.state, EntryState::Done(result)) {
            EntryState::Waiting(waker) => self.woken.extend(waker),
            EntryState::Done(_) => {}
            EntryState::Abandoned => drop(self.calls.remove(call)),
            EntryState::Detached(then) => {
                self.detached -= 1;
                if let EntryState::Done(result) = self.calls.remove(call).state {
                    self.followed.push((then, result.map(|reply| split_replicated(reply).0)));
                }
            }
        }
    }

    /// Returns the result of a call, or stores the waker until there is one. Also the waker that stood there before:
    /// where an executor keeps its tasks in their wakers, to drop one may drop other calls.
    #[must_use = "no waker is dropped under a lock"]
    pub(in crate::redis) fn poll(
        &mut self,
        call: Id,
        context: &Context<'_>,
    ) -> (Poll<Result<Value>>, Option<Waker>) {
        match self.calls.get_mut(call).map(|entry| &mut entry.state) {
            Some(EntryState::Waiting(Some(waker))) if waker.will_wake(context.waker()) => {
                (Poll::Pending, None)
            }
            Some(EntryState::Waiting(waker)) => (Poll::Pending, waker.replace(context.waker().clone())),
            _ => match self.calls.try_remove(call).map(|entry| entry.state) {
                Some(EntryState::Done(result)) => (Poll::Ready(result), None),
                _ => (Poll::Ready(Err(errors::no_answer().error)), None),
            },
        }
    }

    /// Nobody waits for the call any more. If it was not sent yet, it never is. Returns the waker of who waited.
    #[must_use = "no waker is dropped under a lock"]
    pub(in crate::redis) fn abandon(&mut self, call: Id) -> Option<Waker> {
        let entry = self.calls.get_mut(call)?;
        let waker = match std::mem::replace(&mut entry.state, EntryState::Abandoned) {
            EntryState::Done(_) => {
                self.calls.remove(call);
                return None;
            }
            EntryState::Waiting(waker) => waker,
            EntryState::Abandoned | EntryState::Detached(_) => None,
        };
        let mut withdrawn = self.waiting.extract_if(.., |waiting| waiting.pending.id == call).count() > 0;
        for (id, connection) in &mut self.connections {
            if connection.channel.session.withdraw(call) {
                self.orders.push(Order::Serve(id, Need::Flush));
                withdrawn = true;
            }
        }
        if withdrawn {
            self.calls.remove(call);
        }
        waker
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
}
