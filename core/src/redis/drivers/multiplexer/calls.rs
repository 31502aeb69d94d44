//! A call from its beginning to its result: it is sent to the server in charge, and on to another one if that has not
//! executed it.

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::redis::Value;

use super::{CallEntry, EntryState, Link, Multiplexer, Need, Order, Peer, Reason, Then};
use crate::error::{Error, ErrorKind, Result};
use crate::redis::connecting::breaker::Refusal;
use crate::redis::errors::{self, CallError};
use crate::redis::topology::learned::{DiscoveryNeed, PAUSE, TOPOLOGY_WAIT};
use crate::redis::topology::router::NextHop;
use crate::redis::wire::command::{CallDeadline, Redirect, RedisCommand, Unexecuted, split_replicated};
use crate::redis::wire::session::{Id, PendingCommand, note_sooner};

impl<S: Read + Write> Multiplexer<S> {
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

    /// Sends a request to the owner of its slot, to which no key has to be announced.
    pub(super) fn route(&mut self, mut pending: PendingCommand, now: Instant) {
        pending.asking = false;
        match self.router.owner(&pending.request) {
            Ok(peer) => self.send(&peer, pending, now),
            Err(error) => self.complete(pending.id, Err(error)),
        }
    }

    pub(super) fn send(&mut self, peer: &Arc<Peer>, mut pending: PendingCommand, now: Instant) {
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

    /// Whether this is the only call there is.
    pub(in crate::redis) fn is_alone(&self) -> bool {
        self.calls.len() == 1
    }

    /// Whether a call that nobody waits for is under way.
    pub(in crate::redis) fn is_releasing(&self) -> bool {
        self.detached > 0
    }
}
