//! Bytes become replies, and each reply is judged for every request that it answers.

use std::time::Instant;

use ::redis::{ErrorKind as Cause, RedisError, ServerErrorKind, Value};

use super::{About, Bundle, PendingCommand, Session, SessionStage};
use crate::address::Address;
use crate::redis::command::{CommandOutcome, Hint, Unexecuted};
use crate::redis::discovery::is_replica;
use crate::redis::errors::{self, CallError, ConnectionError};
use crate::redis::login::HandshakeStep;

/// What a reply to a script or a command means.
#[derive(Debug)]
enum ReplyKind {
    Answered(Value),
    /// The server asks for the text of the script.
    UnknownScript(RedisError),
    /// The server refuses keys of several hash slots in one script.
    AcrossSlots(RedisError),
    /// The user may not touch one of the keys, or not run the command. Nothing was executed.
    Forbidden(RedisError),
    /// Another server owns the slot.
    Moved(Address),
    /// Another server has the key for this one call.
    Ask(Address),
    /// Keys of this slot are being moved to another server.
    TryAgain,
    /// The server is a replica: it has executed nothing, and will not before another failover.
    NotPrimary(RedisError),
    /// Any other error of the server.
    Refused(RedisError),
}

impl Session {
    /// Takes bytes that came.
    pub(in crate::redis) fn receive(&mut self, bytes: &[u8], now: Instant) {
        self.replies.add(bytes);
        while self.stage != SessionStage::Over {
            match self.replies.next() {
                Ok(None) => break,
                // Attributes of a reply mean nothing here.
                Ok(Some(Value::Attribute { data, .. })) => self.answered(*data, now),
                Ok(Some(value)) => self.answered(value, now),
                Err(fault) => self.end(ConnectionError::Protocol(fault)),
            }
        }
    }

    fn answered(&mut self, value: Value, now: Instant) {
        let Some(awaited) = self.awaited.pop_front() else {
            return self.end(ConnectionError::Protocol("the server answered what was not asked"));
        };
        self.batches -= usize::from(awaited.ends_batch);
        match awaited.about {
            About::HandshakeStep(step) => self.stepped(step, value),
            About::Role => self.is_replica |= is_replica(&value),
            // If that was refused, so is what follows.
            About::Asking => {}
            About::Requests(bundle, whole) => self.settle(bundle, whole, value, now),
        }
    }

    fn stepped(&mut self, step: HandshakeStep, value: Value) {
        match value.extract_error() {
            Err(err) => self.end(ConnectionError::Refused(step, err)),
            Ok(_) if step == HandshakeStep::Ping => self.stage = SessionStage::Ready,
            Ok(_) => {}
        }
    }

    /// What a reply says about each request of a bundle.
    fn settle(&mut self, bundle: Bundle, whole: bool, value: Value, now: Instant) {
        let is_batch = bundle.len() > 1;
        match judge(value, &self.address) {
            ReplyKind::UnknownScript(_) if !whole && self.stage != SessionStage::Ready => {
                self.elsewhere(bundle)
            }
            ReplyKind::UnknownScript(_) if !whole => {
                let wanted = self.wanted(bundle);
                self.note_deadline(now + self.response_timeout);
                self.pack_bundle(wanted, true, now);
            }
            ReplyKind::AcrossSlots(_) if is_batch => {
                self.minds_slots = true;
                self.requeue(bundle);
            }
            // Each key by itself is either here or there.
            ReplyKind::Forbidden(_) | ReplyKind::TryAgain if is_batch => self.requeue(bundle),
            ReplyKind::Moved(to) => self.again(bundle, || Hint::Moved(to.clone())),
            ReplyKind::Ask(to) => self.again(bundle, || Hint::Ask(to.clone())),
            ReplyKind::TryAgain => self.again(bundle, || Hint::TryAgain),
            ReplyKind::NotPrimary(err) => {
                self.is_replica = true;
                self.demoted(bundle, &errors::answered(&err, &self.address));
            }
            // Its state may be old. It may also have been promoted meanwhile, and have executed the script.
            ReplyKind::Answered(_) if self.is_replica => {
                let failure = errors::not_primary(&self.address);
                self.fail(&bundle, &failure);
                self.retire(&failure);
            }
            ReplyKind::Answered(value) => self.share(&bundle, value),
            ReplyKind::UnknownScript(err)
            | ReplyKind::AcrossSlots(err)
            | ReplyKind::Forbidden(err)
            | ReplyKind::Refused(err) => {
                let failure = errors::answered(&err, &self.address);
                self.fail(&bundle, &failure);
            }
        }
    }

    /// Hands each request of a bundle its part of the reply.
    fn share(&mut self, bundle: &[PendingCommand], value: Value) {
        let size = bundle.len();
        let values = match value {
            Value::Array(values) if size > 1 && values.len() == size => values,
            // Nonsense for many is nonsense for each: the reader of each part returns the error.
            _ if size > 1 => vec![Value::Nil; size],
            value => vec![value],
        };
        for (pending, value) in bundle.iter().zip(values) {
            let result = value.extract_error().map_err(|err| errors::answered(&err, &self.address));
            self.done(pending, result);
        }
    }

    /// Sends requests one by one that the server refused together.
    fn requeue(&mut self, bundle: Bundle) {
        if self.stage != SessionStage::Ready {
            return self.elsewhere(bundle);
        }
        let alone = |pending| PendingCommand { alone: true, ..pending };
        let wanted = self.wanted(bundle);
        self.queue.splice(..0, wanted.into_iter().map(alone));
    }

    /// The requests of a bundle that was not executed whose callers still wait; gives back the others.
    fn wanted(&mut self, bundle: Bundle) -> Bundle {
        let left = bundle.into_iter().filter(|pending| !pending.ended);
        let (unwanted, wanted): (Bundle, Bundle) = left.partition(|pending| pending.unwanted);
        self.elsewhere(unwanted);
        wanted
    }

    /// Gives back requests that were refused when no more can be sent.
    fn elsewhere(&mut self, bundle: Bundle) {
        let failure = errors::unsent(&self.address);
        self.give_back(bundle, &failure);
    }

    fn demoted(&mut self, bundle: Bundle, failure: &CallError) {
        self.again(bundle, || Hint::NotPrimary(failure.clone()));
        self.retire(failure);
    }

    fn again(&mut self, bundle: Bundle, hint: impl Fn() -> Hint) {
        for pending in bundle.into_iter().filter(|pending| !pending.ended) {
            self.not_executed(pending, hint());
        }
    }

    /// Requests that were not sent. Behind a server that was silent, none waits for longer than on its own.
    pub(super) fn give_back(&mut self, bundle: Bundle, failure: &CallError) {
        for pending in bundle.into_iter().filter(|pending| !pending.ended) {
            let attempt =
                pending.queued.filter(|_| self.is_silent).map(|queued| queued + self.response_timeout);
            let by = attempt.unwrap_or(pending.by).min(pending.by);
            let hint = Hint::Unsent(failure.clone(), by);
            self.not_executed(pending, hint);
        }
    }

    fn not_executed(&mut self, pending: PendingCommand, hint: Hint) {
        let again = Box::new(Unexecuted { request: pending.request, hint });
        self.outcomes.push_back((pending.id, CommandOutcome::Again(again)));
    }

    pub(super) fn fail(&mut self, bundle: &[PendingCommand], failure: &CallError) {
        for pending in bundle {
            self.done(pending, Err(failure.clone()));
        }
    }

    fn done(&mut self, pending: &PendingCommand, result: Result<Value, CallError>) {
        if !pending.ended {
            self.outcomes.push_back((pending.id, CommandOutcome::Done(result)));
        }
    }
}

/// Judges a reply of the server at `answered`. Errors inside an array concern some of its items and are left to
/// whoever asked for several.
fn judge(value: Value, answered: &Address) -> ReplyKind {
    let err = match value {
        Value::ServerError(err) => RedisError::from(err),
        value => return ReplyKind::Answered(value),
    };
    let target = || err.redirect_node().and_then(|(node, _)| Address::parse_redirect(node, answered));
    let redirect = match err.kind() {
        Cause::Server(ServerErrorKind::Moved) => target().map(ReplyKind::Moved),
        Cause::Server(ServerErrorKind::Ask) => target().map(ReplyKind::Ask),
        _ => None,
    };
    redirect.unwrap_or_else(|| match err.kind() {
        Cause::Server(ServerErrorKind::NoScript) => ReplyKind::UnknownScript(err),
        Cause::Server(ServerErrorKind::CrossSlot) => ReplyKind::AcrossSlots(err),
        Cause::Server(ServerErrorKind::NoPerm) => ReplyKind::Forbidden(err),
        Cause::Server(ServerErrorKind::TryAgain) => ReplyKind::TryAgain,
        Cause::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown) => ReplyKind::NotPrimary(err),
        _ => ReplyKind::Refused(err),
    })
}
