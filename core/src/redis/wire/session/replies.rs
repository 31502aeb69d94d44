//! Bytes become replies, and each reply is judged for every request that it answers.

use std::time::Instant;

use ::redis::{RedisError, Value};

use super::merging::callers_by_key;
use super::resp::{LARGEST_REPLY, TOO_LARGE};
use super::{About, Awaited, Bundle, PendingCommand, Session, SessionStage, note_sooner};
use crate::callers::divide;
use crate::net::address::Address;
use crate::redis::errors::{self, CallError, ConnectionError};
use crate::redis::refusals;
use crate::redis::settings::login::HandshakeStep;
use crate::redis::wire::command::{CommandOutcome, Redirect, RedisCommand, Unexecuted};
use crate::redis::wire::role::is_replica;

impl Session {
    /// Takes bytes that came.
    pub(in crate::redis) fn receive(&mut self, bytes: &[u8], now: Instant) {
        self.replies.add(bytes);
        while self.stage != SessionStage::Over {
            match self.replies.next() {
                Ok(None) if self.replies.begun() > self.largest_reply() => {
                    self.end(ConnectionError::Protocol(TOO_LARGE));
                }
                Ok(None) => break,
                // Attributes of a reply mean nothing here.
                Ok(Some(Value::Attribute { data, .. })) => self.answered(*data, now),
                Ok(Some(Value::Push { kind, data })) => self.announced(&kind, &data),
                Ok(Some(value)) => self.answered(value, now),
                Err(fault) => self.end(ConnectionError::Protocol(fault)),
            }
        }
    }

    /// The most bytes of the next reply. A script's has some hundred for each of its keys.
    fn largest_reply(&self) -> usize {
        const SHORT: usize = 1 << 20;
        const PER_KEY: usize = 512;
        if self.has_topology {
            return LARGEST_REPLY;
        }
        let requests = self.awaited.front().map_or(&[][..], Awaited::requests);
        SHORT + PER_KEY * requests.iter().map(|pending| pending.keys().len()).sum::<usize>()
    }

    fn answered(&mut self, value: Value, now: Instant) {
        let Some(awaited) = self.awaited.pop_front() else {
            return self.end(ConnectionError::Protocol("the server answered what was not asked"));
        };
        if let Some(tracking) = &self.tracking {
            tracking.heard(awaited.sent);
        }
        match awaited.about {
            About::HandshakeStep(step) => match value.extract_error() {
                // A script will tell what that means.
                Err(err) if step == HandshakeStep::Replicas && refusals::is_of_replica(&err) => {}
                Err(err) if step == HandshakeStep::Tracking => self.refuse_tracking(&err, now),
                Err(err) => self.end(ConnectionError::Refused(step, err)),
                Ok(_) if step == HandshakeStep::Ping => self.stage = SessionStage::Ready,
                Ok(_) => {}
            },
            About::Role if is_replica(&value) => {
                self.is_replica = true;
                self.mistrust(now);
            }
            About::Role => {}
            // If that was refused, so is what follows.
            About::Asking => {}
            About::Caching(registration) => self.cached(&registration, &value, now),
            About::Replicas => {
                self.end_batch(&value);
                // For what had to be sent again meanwhile.
                self.pack_wait(now);
            }
            About::Requests(bundle, whole) => {
                self.heard = Some(now);
                self.deliver(bundle, whole, value, awaited.sent, now);
            }
        }
    }

    /// What a reply says about each request of a bundle.
    fn deliver(&mut self, bundle: Bundle, whole: bool, value: Value, sent: Instant, now: Instant) {
        let err = match value {
            Value::ServerError(err) => RedisError::from(err),
            // Its state may be old. It may also have been promoted meanwhile, and have executed the script.
            _ if self.is_replica => {
                let failure = errors::not_primary(&self.address);
                self.fail(&bundle, &failure);
                return self.retire(&failure);
            }
            value => return self.share(&bundle, value),
        };
        let is_batch = bundle.len() > 1;
        let target = err.redirect_node();
        let target = target.and_then(|(node, _)| Address::parse_redirect(node, &self.address));
        let failure = errors::answered(&err, &self.address);
        let code = err.code().unwrap_or_default();
        if matches!(code, "MOVED" | "ASK" | "TRYAGAIN" | "READONLY" | "MASTERDOWN") {
            self.mistrust(now);
        }
        match (code, target) {
            ("NOSCRIPT", _) if !whole => {
                let wanted = self.wanted(bundle);
                note_sooner(&mut self.next_deadline, now + self.response_timeout);
                self.pack_bundle(wanted, true, now);
                self.pack_wait(now);
            }
            ("CROSSSLOT", _) if is_batch => {
                self.minds_slots = true;
                self.requeue(bundle);
            }
            // Each key by itself is either allowed or not, and either here or there.
            ("NOPERM" | "TRYAGAIN", _) if is_batch => self.requeue(bundle),
            ("TRYAGAIN", _) => {
                let took = now.saturating_duration_since(sent);
                self.again(bundle, |_| Redirect::TryAgain(took));
            }
            ("MOVED", Some(target)) => self.again(bundle, |_| Redirect::Moved(target.clone())),
            ("MOVED", None) => self.again(bundle, |_| Redirect::NotOwner(failure.clone())),
            ("ASK", Some(target)) => self.again(bundle, |_| Redirect::Ask(target.clone())),
            // It has executed nothing, and will not before another failover.
            ("READONLY" | "MASTERDOWN", _) => {
                self.is_replica = true;
                self.again(bundle, |_| Redirect::NotOwner(failure.clone()));
                self.retire(&failure);
            }
            _ => self.fail(&bundle, &failure),
        }
    }

    /// Hands each request of a bundle its part of the reply. Errors inside concern some of them.
    fn share(&mut self, bundle: &[PendingCommand], value: Value) {
        if let [only] = bundle {
            return self.done_with(only, value);
        }
        let size = bundle.len();
        let values = match (callers_by_key(bundle), value) {
            (Some(callers), Value::Array(values)) if values.len() == callers.len() => {
                values.into_iter().zip(callers).flat_map(|(value, callers)| divide(value, callers)).collect()
            }
            (None, Value::Array(values)) if values.len() == size => values,
            // Nonsense for many is nonsense for each: the reader of each part returns the error.
            _ => vec![Value::Nil; size],
        };
        for (pending, value) in bundle.iter().zip(values) {
            self.done_with(pending, value);
        }
    }

    fn done_with(&mut self, pending: &PendingCommand, value: Value) {
        let result = value.extract_error().map_err(|err| errors::answered(&err, &self.address));
        self.done(pending, result);
    }

    /// Sends requests one by one that the server refused together.
    fn requeue(&mut self, bundle: Bundle) {
        let alone = |pending| PendingCommand { alone: true, ..pending };
        let wanted = self.wanted(bundle);
        self.queue.splice(..0, wanted.into_iter().map(alone));
    }

    /// The requests of a bundle that was not executed to be sent again here; gives back the others.
    fn wanted(&mut self, bundle: Bundle) -> Bundle {
        let is_ready = self.is_ready();
        let left = bundle.into_iter().filter(|pending| !pending.ended);
        let (wanted, unwanted): (Bundle, Bundle) = left.partition(|pending| is_ready && !pending.unwanted);
        self.give_back(unwanted, &errors::unsent(&self.address));
        wanted
    }

    /// Requests that were not sent. Behind a server that was silent, none waits for longer than on its own.
    pub(super) fn give_back(&mut self, bundle: Bundle, failure: &CallError) {
        let limit = self.is_silent.then_some(self.response_timeout);
        self.again(bundle, |pending| {
            let attempt = pending.queued.and_then(|queued| Some(queued + limit?));
            Redirect::Unsent(failure.clone(), attempt.unwrap_or(pending.by).min(pending.by))
        });
    }

    fn again(&mut self, bundle: Bundle, redirect: impl Fn(&PendingCommand) -> Redirect) {
        for pending in bundle.into_iter().filter(|pending| !pending.ended) {
            let redirect = redirect(&pending);
            let again = Box::new(Unexecuted { request: pending.request, asking: pending.asking, redirect });
            self.outcomes.push_back((pending.id, CommandOutcome::NotExecuted(again)));
        }
    }

    pub(super) fn fail(&mut self, bundle: &[PendingCommand], failure: &CallError) {
        for pending in bundle {
            self.done(pending, Err(failure.clone()));
        }
    }

    pub(super) fn done(&mut self, pending: &PendingCommand, result: Result<Value, CallError>) {
        if !pending.ended {
            self.hand_on(pending, result);
        }
    }

    /// Hands a result on, unless it is a script's and waits for replicas.
    fn hand_on(&mut self, pending: &PendingCommand, result: Result<Value, CallError>) {
        let is_asked = self.awaits_replicas();
        match (result, &mut self.replication, &pending.request) {
            (Ok(value), Some(replication), RedisCommand::Script(_)) if is_asked => {
                replication.keep(pending.id, value, pending.by);
            }
            (result, _, _) => self.outcomes.push_back((pending.id, CommandOutcome::Done(result))),
        }
    }

    /// Hands on the answers of a batch; the reply says how many replicas have what it has written.
    pub(super) fn end_batch(&mut self, reply: &Value) {
        if let Some(replication) = &mut self.replication {
            self.outcomes.extend(replication.acknowledged(reply));
        }
    }
}
