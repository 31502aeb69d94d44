//! From errors of the `redis` crate to ours. Messages name the server, never a secret.

use std::time::Duration;

use ::redis::{ErrorKind as Cause, RedisError, ServerErrorKind};

use super::address::Address;
use super::connector::Role;
use crate::error::{Error, ErrorKind};

/// Refusals that end with a restart, a failover, a slow script or a migration of slots.
const PASSING: [&str; 9] =
    ["LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN", "BUSY", "NOREPLICAS", "MOVED", "ASK"];
/// What a server says that has `maxclients` connections: it has no code of its own.
const FULL: &str = "max number of clients";
const MAYBE_DONE: &str = "whether the call was carried out is not known";

/// A failed call.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// Whether another server than the one asked may now be in charge.
    pub(super) moved_on: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, moved_on: false }
    }
}

/// An error before anything was asked of the server: while opening a connection, or trying an idle one.
pub(super) fn opening(err: &RedisError, address: &Address, role: Role, waited: Duration) -> Failure {
    Failure { error: not_opened(err, address, role, waited), moved_on: true }
}

fn not_opened(err: &RedisError, address: &Address, role: Role, waited: Duration) -> Error {
    if err.is_timeout() {
        return silent(address, waited);
    }
    // The password that may be in the URL already is that of the servers with the data.
    if role == Role::Sentinel && err.code() == Some("NOAUTH") {
        let what = format!("{address} asks for a login: add ?sentinel_password= to the URL");
        return Error::new(ErrorKind::Server, what);
    }
    match err.kind() {
        Cause::Io | Cause::Client | Cause::InvalidClientConfig => {
            Error::new(ErrorKind::Connection, format!("cannot connect to {address}: {err}"))
        }
        Cause::AuthenticationFailed => login_refused(address),
        _ => answered(err, address),
    }
}

/// A connection was not opened in time.
pub(super) fn silent(address: &Address, waited: Duration) -> Error {
    let message = format!("{address} gave no sign of life within {} ms", waited.as_millis());
    Error::new(ErrorKind::Timeout, message)
}

/// An error of a call that was sent.
pub(super) fn calling(err: &RedisError, address: &Address, limit: Duration) -> Failure {
    Failure { error: not_answered(err, address, limit), moved_on: moved_on(err) }
}

fn not_answered(err: &RedisError, address: &Address, limit: Duration) -> Error {
    if err.is_timeout() {
        let message = format!("{address} did not answer within {limit:?}; {MAYBE_DONE}");
        return Error::new(ErrorKind::Timeout, message);
    }
    match err.kind() {
        Cause::Io => Error::new(
            ErrorKind::Connection,
            format!("the connection to {address} broke: {err}; {MAYBE_DONE}"),
        ),
        Cause::Parse => Error::new(
            ErrorKind::Connection,
            format!("{address} sent what is not the Redis protocol; {MAYBE_DONE}"),
        ),
        _ => answered(err, address),
    }
}

fn moved_on(err: &RedisError) -> bool {
    match err.kind() {
        Cause::Io | Cause::Parse => true,
        Cause::Server(kind) => matches!(
            kind,
            ServerErrorKind::ReadOnly
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::Moved
        ),
        _ => false,
    }
}

/// The server refused: kind `Server`, since trying again does not help against a wrong password.
fn answered(err: &RedisError, address: &Address) -> Error {
    let code = err.code().unwrap_or("ERR");
    match code {
        "WRONGPASS" => login_refused(address),
        "NOAUTH" => {
            Error::new(ErrorKind::Server, format!("{address} asks for a login: give the password in the URL"))
        }
        _ => {
            let detail = err.detail().map_or_else(|| err.category().to_owned(), clean);
            let detail = without_code(&detail, code);
            let error = Error::new(ErrorKind::Server, format!("{address}: {code} {detail}"));
            if PASSING.contains(&code) || detail.starts_with(FULL) { error.passing() } else { error }
        }
    }
}

/// Why, the `redis` crate does not tell: a server with no room refuses the first command, which is the login.
fn login_refused(address: &Address) -> Error {
    let why = "the user or the password is wrong, or it takes no more clients";
    Error::new(ErrorKind::Server, format!("{address} refused the login: {why}"))
}

/// The error's own words, without what the server adds about the script: its digest and line mean nothing
/// to a reader. Arguments that a server repeats in "unknown command" may be a password.
fn clean(detail: &str) -> String {
    let text = detail.split(", with args beginning with").next().unwrap_or(detail);
    let text = match text.find(" script: ") {
        Some(at) if text[at..].contains("@user_script") => &text[..at],
        _ => text,
    };
    // Redis 6: "Error running script (call to f_<digest>): @user_script:3: user_script:3: the words".
    let text = match text.strip_prefix("Error running script (call to ").and_then(|t| t.split_once("): ")) {
        Some((_, rest)) => rest,
        None => text,
    };
    let mut text = text.trim();
    while let Some(rest) = without_position(text) {
        text = rest;
    }
    text.to_owned()
}

/// `user_script:12: words` becomes `words`.
fn without_position(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('@').unwrap_or(text).strip_prefix("user_script:")?;
    let (line, words) = rest.split_once(": ")?;
    line.bytes().all(|b| b.is_ascii_digit()).then_some(words)
}

/// A script's error on Redis 6 repeats the code inside: `ERR ... WRONGTYPE Operation ...`.
fn without_code<'a>(text: &'a str, code: &str) -> &'a str {
    text.strip_prefix(code).map_or(text, str::trim_start)
}

/// All connections are in use, and stayed so.
pub(super) fn exhausted(address: &Address, size: usize, limit: Duration) -> Failure {
    let message = format!("all {size} connections to {address} were busy for {limit:?}; raise pool_size");
    Failure { error: Error::new(ErrorKind::Timeout, message), moved_on: false }
}

/// The thread that carried out the call for others came to no end.
pub(super) fn abandoned() -> Failure {
    let message = format!("the thread that made the call ended early; {MAYBE_DONE}");
    Failure { error: Error::new(ErrorKind::Connection, message), moved_on: false }
}

/// Nobody could say which server to ask.
pub(super) fn undiscovered(adviser: &Address, reason: &str) -> Error {
    Error::new(ErrorKind::Connection, format!("{adviser} cannot tell which server to use: {reason}"))
}

/// The Cluster serves no node for the slot at present.
pub(super) fn unowned(slot: u16) -> Error {
    Error::new(ErrorKind::Server, format!("CLUSTERDOWN no node of the Cluster serves slot {slot}")).passing()
}

/// Redirections went in a circle.
pub(super) fn lost(slot: u16) -> Error {
    Error::new(ErrorKind::Server, format!("the nodes of the Cluster disagree about who serves slot {slot}"))
        .passing()
}

/// A call that had to find its server first took too long.
pub(super) fn patience_lost(limit: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("no server answered within {limit:?}; {MAYBE_DONE}"))
}

/// Timers and sockets of the asynchronous driver are those of a Tokio runtime.
pub(super) fn no_runtime() -> Error {
    Error::new(ErrorKind::Connection, "not called from a Tokio runtime, or the runtime shut down")
}

/// The asynchronous limiter lives in the process that made it.
pub(super) fn forked() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the limiter was connected before a fork: connect again in the child process",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "2067d915024a3e1657c4169c84f809f8ebdb9767";

    #[test]
    fn script_noise_is_removed() {
        let redis7 = format!("Operation against a key script: {DIGEST}, on @user_script:12.");
        assert_eq!(clean(&redis7), "Operation against a key");
        let redis6 =
            format!("Error running script (call to f_{DIGEST}): @user_script:3: user_script:3: bad state");
        assert_eq!(clean(&redis6), "bad state");
        assert_eq!(clean("user_script:7: bad state"), "bad state");
        assert_eq!(clean("words about a script: mine"), "words about a script: mine");
    }

    #[test]
    fn repeated_arguments_are_removed() {
        let text = clean("unknown command 'AUTH', with args beginning with: 'secret'");
        assert_eq!(text, "unknown command 'AUTH'");
    }
}
