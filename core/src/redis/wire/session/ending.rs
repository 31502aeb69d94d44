//! The end of requests whose time is up, and of the conversation.

use std::time::Instant;

use ::redis::Value;

use super::{About, Bundle, Session, SessionStage, note_sooner};
use crate::redis::errors::{self, CallError, ConnectionError};
use crate::redis::wire::command::CommandOutcome;
use crate::time::timeout::SHORTEST_TIMEOUT;

impl Session {
    /// Takes no more requests. Those that were not sent yet may go elsewhere.
    pub(in crate::redis) fn retire(&mut self, failure: &CallError) {
        if self.stage == SessionStage::Ready {
            self.stage = SessionStage::Retired;
        }
        if let Some(tracking) = &self.tracking {
            tracking.end();
        }
        self.unpack();
        let unsent: Bundle = self.queue.drain(..).collect();
        self.give_back(unsent, failure);
    }

    /// The connection ended, or has to: it is not known whether the server executed requests that were sent.
    pub(in crate::redis) fn end(&mut self, fault: ConnectionError) {
        if self.stage == SessionStage::Over {
            return;
        }
        let failure = errors::broken(&fault, &self.address, self.response_timeout).of_connection(self.opened);
        self.retire(&failure);
        self.stage = SessionStage::Over;
        self.fault = Some(fault);
        self.end_batch(&Value::Nil);
        for awaited in std::mem::take(&mut self.awaited) {
            if let About::Requests(bundle, _) = awaited.about {
                self.fail(&bundle, &failure);
            }
        }
    }

    /// Ends requests whose time is up. A server that left one unanswered for the whole response timeout gets no
    /// more requests on this connection.
    pub(in crate::redis) fn expire(&mut self, now: Instant) {
        if self.next_deadline.take_if(|deadline| *deadline <= now).is_none() {
            return;
        }
        if self.has_unsent(|pending| pending.by <= now) {
            self.unpack();
        }
        self.expire_unsent(now);
        self.expire_unacknowledged(now);
        let is_silent = self.expire_awaited(now);
        self.is_silent |= is_silent;
        if is_silent && self.stage == SessionStage::Opening {
            self.end(ConnectionError::Silent);
        } else if is_silent {
            self.retire(&errors::unsent(&self.address));
            // The rest of a request of which some was sent; nothing can follow it.
            self.output.clear();
        } else {
            self.flush(now);
            self.beat(now);
        }
    }

    /// Ends requests that were sent. Answers whether the server left anything unanswered for the whole response
    /// timeout.
    fn expire_awaited(&mut self, now: Instant) -> bool {
        let mut is_silent = false;
        for awaited in &mut self.awaited {
            let attempt = awaited.sent + self.response_timeout;
            is_silent |= attempt <= now;
            let About::Requests(bundle, _) = &mut awaited.about else {
                if attempt > now {
                    note_sooner(&mut self.next_deadline, attempt);
                }
                continue;
            };
            for pending in bundle.iter_mut().filter(|pending| !pending.ended) {
                let by = pending.by.min(attempt);
                if by > now {
                    note_sooner(&mut self.next_deadline, by);
                    continue;
                }
                pending.ended = true;
                let failure = errors::broken(&ConnectionError::Silent, &self.address, by - awaited.sent);
                // A call may have had as long to answer, but for the time that it took to be sent.
                let failure = CallError {
                    unanswered: failure.unanswered.filter(|_| attempt <= now + SHORTEST_TIMEOUT),
                    ..failure
                };
                self.outcomes.push_back((pending.id, CommandOutcome::Done(Err(failure))));
            }
        }
        is_silent
    }

    /// Hands on, as they are, the answers that can wait for replicas no longer.
    fn expire_unacknowledged(&mut self, now: Instant) {
        let Some(replication) = &mut self.replication else { return };
        let (due, next) = replication.expired(now);
        self.outcomes.extend(due);
        if let Some(next) = next {
            note_sooner(&mut self.next_deadline, next);
        }
    }

    /// Ends requests in the queue whose time is up.
    pub(super) fn expire_unsent(&mut self, now: Instant) {
        for pending in std::mem::take(&mut self.queue) {
            // Behind a server that is silent, no call waits for longer than on its own.
            let attempt = pending.queued.unwrap_or(now) + self.response_timeout;
            if pending.by.min(attempt) <= now {
                // A server that has answered meanwhile is not to blame: others were before the call, or this process had no time.
                let has_answered = self.heard.is_some() && self.heard >= pending.queued;
                let failure = if self.is_crowded || has_answered { errors::crowded } else { errors::unsent };
                self.done(&pending, Err(failure(&self.address)));
            } else {
                self.submit(pending, now);
            }
        }
    }
}
