//! What to send, and what an answer asks for.

use std::time::Duration;

use ::redis::{Cmd, ErrorKind as Cause, RedisResult, ServerErrorKind, Value};

use super::address::Address;
use super::slots::slot_of;
use crate::script::Call;

/// How often a call follows a redirection, as often as it takes for a slot to be moved twice.
pub(super) const MAX_HOPS: usize = 5;

/// How long to wait for keys that are on their way to another server.
pub(super) const PAUSE_BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Something to be carried out at most once.
pub(super) enum Request<'a> {
    Script(&'a Call<'a>),
    /// A command and the slot of its keys.
    Command(Cmd, u16),
}

impl Request<'_> {
    /// Removes keys of one slot; the server frees large ones in the background.
    pub(super) fn delete(keys: &[String]) -> Self {
        let mut cmd = ::redis::cmd("UNLINK");
        cmd.arg(keys);
        Self::Command(cmd, slot_of_keys(keys))
    }

    pub(super) fn ping() -> Self {
        Self::Command(::redis::cmd("PING"), 0)
    }

    pub(super) fn slot(&self) -> u16 {
        match self {
            Self::Script(call) => slot_of_keys(call.keys),
            Self::Command(_, slot) => *slot,
        }
    }

    /// The command to send first.
    pub(super) fn first(&self) -> Cmd {
        match self {
            Self::Script(call) => call.evalsha(),
            Self::Command(cmd, _) => cmd.clone(),
        }
    }

    /// The command to send if the server does not know the script.
    pub(super) fn whole(&self) -> Option<Cmd> {
        match self {
            Self::Script(call) => Some(call.eval()),
            Self::Command(..) => None,
        }
    }
}

fn slot_of_keys(keys: &[String]) -> u16 {
    keys.first().map_or(0, |key| slot_of(key.as_bytes()))
}

/// What an answer asks for.
#[derive(Debug)]
pub(super) enum Reply {
    Done(Value),
    /// Another server owns the slot.
    Moved(Address),
    /// Another server has the key for this one call.
    Ask(Address),
    /// Keys of this slot are on their way to another server.
    TryAgain,
}

/// Sorts the errors that prove that nothing was executed from all others.
pub(super) fn sort(result: RedisResult<Value>, answered: &Address) -> RedisResult<Reply> {
    // Errors within an array are about some of its items: they are the matter of whoever asked for several.
    let err = match result {
        Ok(Value::ServerError(err)) => err.into(),
        Ok(value) => return Ok(Reply::Done(value)),
        Err(err) => err,
    };
    let target = || err.redirect_node().and_then(|(node, _)| Address::parse_redirect(node, answered));
    let reply = match err.kind() {
        Cause::Server(ServerErrorKind::Moved) => target().map(Reply::Moved),
        Cause::Server(ServerErrorKind::Ask) => target().map(Reply::Ask),
        Cause::Server(ServerErrorKind::TryAgain) => Some(Reply::TryAgain),
        _ => None,
    };
    reply.ok_or(err)
}

/// Whether the server asks for the whole script.
pub(super) fn is_unknown_script(result: &RedisResult<Value>) -> bool {
    is_refusal(result, ServerErrorKind::NoScript)
}

/// Whether the server refuses a call because its keys lie in several hash slots.
pub(super) fn is_across_slots(result: &RedisResult<Value>) -> bool {
    is_refusal(result, ServerErrorKind::CrossSlot)
}

/// Whether the server refuses a call because of keys that its user may not touch. Nothing of it was carried out:
/// where several keys are asked for together, others of them may be allowed.
pub(super) fn is_forbidden(result: &RedisResult<Value>) -> bool {
    is_refusal(result, ServerErrorKind::NoPerm)
}

fn is_refusal(result: &RedisResult<Value>, kind: ServerErrorKind) -> bool {
    match result {
        Ok(Value::ServerError(err)) => err.kind() == Some(kind),
        Ok(_) => false,
        Err(err) => err.kind() == Cause::Server(kind),
    }
}
