//! The judgement of replies: what each says about the requests it answers.

use ::redis::{ErrorKind as Cause, RedisError, ServerErrorKind, Value};

use crate::address::Address;

/// What a reply to a script or a command means.
#[derive(Debug)]
pub(super) enum ReplyKind {
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

/// Judges a reply of the server at `answered`. Errors inside an array concern some of its items and are left to
/// whoever asked for several.
pub(super) fn judge(value: Value, answered: &Address) -> ReplyKind {
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
