//! The end of each call: its result, or another attempt on another server.

use std::io::{Read, Write};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use ::redis::Value;

use super::{Delayed, EntryState, LinkState, Multiplexer, Order, Peer};
use crate::error::{ErrorKind, Result};
use crate::redis::command::{Hint, Unexecuted};
use crate::redis::errors::{self, CallError};
use crate::redis::router::NextHop;
use crate::redis::session::{Id, PendingCommand};

impl<S: Read + Write> Multiplexer<S> {
    pub(super) fn conclude(&mut self, peer: &Peer, call: Id, result: Result<Value, CallError>, now: Instant) {
        if result.as_ref().is_err_and(|failure| failure.moved_on) {
            self.router.doubt(peer);
        }
        if peer.breaker.note(&result, || self.allows_response(call), now) {
            self.retire_open(peer);
        }
        self.complete(call, result.map_err(|failure| failure.error));
    }

    /// While the circuit breaker is open, nothing is sent on the connection that there is.
    fn retire_open(&mut self, peer: &Peer) {
        let state = peer.link.lock().state;
        if let LinkState::Open(connection) = state {
            self.connections[connection].session.retire(&errors::unsent(&peer.address));
            self.detach(connection);
            // What it gives back is taken up there.
            self.orders.push(Order::Flush(connection));
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
        Unexecuted { request, hint }: Unexecuted,
        now: Instant,
    ) {
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
        let by = entry.by;
        let next = self.router.next(&mut entry.redirections, peer, hint, &request);
        let pending = |asking| PendingCommand::new(call, request, asking, by);
        match next {
            NextHop::To { node, asking } => self.send(&node, pending(asking), now),
            NextHop::Later(pause) => {
                let until = now + pause;
                self.note_deadline(until);
                self.delayed.push(Delayed { pending: pending(false), peer: Arc::clone(peer), until });
            }
            NextHop::Rediscover => self.wait_for_topology(pending(false), by),
            NextHop::Fail(error) => self.complete(call, Err(error)),
        }
    }

    pub(super) fn complete(&mut self, call: Id, result: Result<Value>) {
        let Some(entry) = self.calls.get_mut(call) else { return };
        match std::mem::replace(&mut entry.state, EntryState::Done(result)) {
            EntryState::Waiting(waker) => self.woken.extend(waker),
            EntryState::Done(_) => {}
            EntryState::Abandoned | EntryState::Cast => drop(self.calls.remove(call)),
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
            EntryState::Abandoned | EntryState::Cast => None,
        };
        let before = self.unrouted.len() + self.delayed.len();
        self.unrouted.retain(|unrouted| unrouted.pending.id != call);
        self.delayed.retain(|delayed| delayed.pending.id != call);
        let mut withdrawn = before != self.unrouted.len() + self.delayed.len();
        for peer in &self.opening {
            let mut link = peer.link.lock();
            let before = link.waiting.len();
            link.waiting.retain(|pending| pending.id != call);
            withdrawn |= before != link.waiting.len();
        }
        let found = self
            .connections
            .iter_mut()
            .find_map(|(id, connection)| connection.session.withdraw(call).then_some(id));
        if found.is_none() {
            self.connections.iter_mut().for_each(|(_, connection)| connection.session.disown(call));
        }
        if let Some(connection) = found {
            self.orders.push(Order::Flush(connection));
            withdrawn = true;
        }
        if withdrawn {
            self.calls.remove(call);
        }
        waker
    }
}
