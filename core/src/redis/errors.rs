//! From errors of the `redis` crate to ours. Messages name the server, never a secret.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::RedisError;

use super::refusals::{refused, server, server_error};
use super::settings::login::{HandshakeStep, Role};
use crate::error::{Error, ErrorKind};
use crate::net::address::Address;

fn connection(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Connection, message)
}

fn timeout(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Timeout, message)
}

#[derive(Debug, Clone)]
pub(super) struct CallError {
    pub(super) error: Error,
    /// Whether another server than the one asked may now be in charge.
    pub(super) moved_on: bool,
    /// How the server left the call without any answer, if it did, which is what a circuit breaker counts.
    pub(super) unanswered: Option<Unanswered>,
}

/// How a server left a call without an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Unanswered {
    /// Why, in a few words, unless an earlier failure says more.
    pub(super) cause: Option<String>,
    /// How long the call waited for the server.
    pub(super) waited: Duration,
    /// When the connection was opened that broke, if one did: it takes along all calls that are under way on it.
    pub(super) opened: Option<Instant>,
}

impl Unanswered {
    pub(super) fn because(cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..Self::default() }
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self { error, moved_on: false, unanswered: None }
    }
}

impl CallError {
    /// Of a server that gave no answer.
    fn unanswered(error: Error, unanswered: Unanswered) -> Self {
        Self { error, moved_on: true, unanswered: Some(unanswered) }
    }

    /// The same failure of a connection that was opened at this time, and broke.
    pub(super) fn of_connection(mut self, opened: Instant) -> Self {
        if let Some(unanswered) = &mut self.unanswered {
            unanswered.opened = Some(opened);
        }
        self
    }

    /// Why the server is not of use, in a few words.
    pub(super) fn cause(&self) -> Option<String> {
        match &self.unanswered {
            Some(unanswered) => unanswered.cause.clone(),
            None => Some(self.error.message().to_owned()),
        }
    }
}

/// Why a connection could not be opened, or ended.
#[derive(Debug, Clone)]
pub(super) enum ConnectionError {
    /// Of the network or of TLS.
    Io(Arc<io::Error>),
    /// Bytes came that are not the Redis protocol, or that nobody asked for.
    Protocol(&'static str),
    /// The server did not answer in time.
    Silent,
    /// The server refused a command of the opening.
    Refused(HandshakeStep, RedisError),
}

impl From<io::Error> for ConnectionError {
    fn from(err: io::Error) -> Self {
        match err.kind() {
            io::ErrorKind::TimedOut => Self::Silent,
            _ => Self::Io(Arc::new(err)),
        }
    }
}

impl ConnectionError {
    /// Why a call that has waited for so long has no answer.
    fn unanswered(&self, waited: Duration) -> Unanswered {
        let cause = match self {
            Self::Silent => format!("no answer for {}", seconds(waited)),
            Self::Io(err) => network_cause(err),
            Self::Protocol(what) => (*what).to_owned(),
            // Its own words may repeat a password.
            Self::Refused(..) => "the server refused the connection".to_owned(),
        };
        Unanswered { waited, ..Unanswered::because(cause) }
    }
}

/// What is wrong with a connection: of a certificate, that first of all.
fn network_cause(err: &io::Error) -> String {
    let text = err.to_string();
    let about = text.strip_prefix("invalid peer certificate: ");
    about.filter(|about| about.starts_with("certificate")).map_or_else(|| text.clone(), str::to_owned)
}

/// A time that was set, or what of it was left: `1.5 s`, `500 ms`, `1 ms` at least.
fn short(time: Duration) -> String {
    let millis = time.as_millis().max(1);
    if millis < 1_000 {
        format!("{millis} ms")
    } else {
        format!("{} s", (millis as f64 / 100.0).round() / 10.0)
    }
}

/// A time as it is read: `0.5 s`, `0.050 s`.
fn seconds(time: Duration) -> String {
    let precision = if time < Duration::from_millis(100) { 3 } else { 1 };
    format!("{:.precision$} s", time.as_secs_f64())
}

/// The connection could not be opened: no call was sent.
pub(super) fn opening(fault: &ConnectionError, address: &Address, role: Role, waited: Duration) -> CallError {
    let error = match fault {
        ConnectionError::Silent => {
            timeout(format!("timed out connecting to {address} after {} ms", waited.as_millis()))
        }
        ConnectionError::Io(err) => {
            connection(format!("cannot connect to {address}: {err}")).caused_by(Arc::clone(err))
        }
        ConnectionError::Protocol(what) => connection(format!("cannot connect to {address}: {what}")),
        ConnectionError::Refused(step, err) => {
            return CallError { moved_on: true, ..refused(*step, err, address, role).into() };
        }
    };
    CallError::unanswered(error, fault.unanswered(waited))
}

/// The connection ended while it was not known whether the call was executed.
pub(super) fn broken(fault: &ConnectionError, address: &Address, limit: Duration) -> CallError {
    let error = match fault {
        ConnectionError::Silent => {
            timeout(format!("{address} did not answer within {}", short(limit))).maybe_done()
        }
        ConnectionError::Io(err) => {
            let error = connection(format!("the connection to {address} broke: {err}"));
            let error = error.maybe_done().caused_by(Arc::clone(err));
            // An error of our own is that of what serves the connection, such as a runtime that has shut down.
            let own = err.get_ref().and_then(|err| err.downcast_ref::<Error>());
            if own.is_some_and(|own| !own.is_retryable()) { error.lasting() } else { error }
        }
        ConnectionError::Protocol(what) => connection(format!("{address}: {what}")).maybe_done(),
        ConnectionError::Refused(_, err) => server_error(err, address),
    };
    CallError::unanswered(error, fault.unanswered(limit))
}

/// A call was given up before it was sent.
pub(super) fn unsent(address: &Address) -> CallError {
    let message = format!("no connection to {address} was free in time; the call was not sent");
    CallError { error: timeout(message), moved_on: false, unanswered: Some(Unanswered::default()) }
}

/// A call was given up before it was sent, since too many others were before it: no fault of the server.
pub(super) fn crowded(address: &Address) -> CallError {
    timeout(format!("too many calls wait for {address} at once; the call was not sent")).into()
}

/// The server became a replica, whose state may be old.
pub(super) fn not_primary(address: &Address) -> CallError {
    let error = server(format!("{address}: READONLY the server is a replica")).passing().maybe_done();
    CallError { moved_on: true, ..error.into() }
}

/// Nothing is sent to a server that has not answered for so long; `cause` is why not the last time.
pub(super) fn breaker_open(address: &Address, cause: Option<&str>, since: Duration) -> Error {
    let (cause, time) = (cause.unwrap_or("no answer"), seconds(since));
    connection(format!("{cause}: circuit breaker open, {address} has not answered for {time}")).withheld()
}

pub(super) fn answered(err: &RedisError, address: &Address) -> CallError {
    let moved_on = matches!(err.code(), Some("READONLY" | "CLUSTERDOWN" | "MASTERDOWN" | "MOVED"));
    CallError { moved_on, ..server_error(err, address).into() }
}

/// Nobody could say which server to ask.
pub(super) fn undiscovered(seed: &Address, reason: &str) -> Error {
    connection(format!("topology discovery via {seed} failed: {reason}"))
}

/// The Cluster serves no node for the slot at present.
pub(super) fn unowned(slot: u16) -> Error {
    server(format!("CLUSTERDOWN no node of the Cluster serves slot {slot}")).passing()
}

/// Of keys of one call, some are on the server by now and some are not. None of the call was carried out.
pub(super) fn slot_moving(slot: u16, address: &Address) -> Error {
    let what = format!("slot {slot} is being moved, and {address} does not have all keys of the call");
    server(format!("TRYAGAIN {what} (try again when the slot has been moved)")).passing()
}

/// Redirections went in a circle.
pub(super) fn lost(slot: u16) -> Error {
    server(format!("the nodes of the Cluster disagree about who serves slot {slot}")).passing()
}

pub(super) fn out_of_time(limit: Duration) -> Error {
    timeout(format!("no server answered within {}", short(limit)))
}

/// Nobody said in time, and as it proved, which server to ask.
pub(super) fn undiscoverable(limit: Duration) -> Error {
    timeout(format!("no seed or Sentinel led to a server within {}", short(limit)))
}

/// A connection ended without any word about a request.
pub(super) fn no_answer() -> CallError {
    connection("the connection ended early").maybe_done().into()
}

/// Timers and sockets of the asynchronous driver are those of a Tokio runtime.
pub(super) fn no_runtime() -> Error {
    connection("not called from a Tokio runtime, or the runtime shut down").lasting()
}

pub(crate) fn no_thread(err: &io::Error) -> Error {
    connection(format!("cannot start a thread: {err}"))
}

pub(super) fn unwatched() -> Error {
    connection("the event loop cannot watch one more connection")
}

/// The asynchronous limiter lives in the process that made it.
pub(crate) fn forked() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the limiter was connected before a fork: connect again in the child process",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_text_is_called_that() {
        let address = Address::Tcp("host".to_owned(), 1);
        for (reply, message) in [
            (&b"-\r\n"[..], "host:1: (an error without a text)"),
            (b"-OTHER\r\n", "host:1: OTHER (an error without a text)"),
            (b"-ERR\r\n", "host:1: ERR (an error without a text)"),
        ] {
            let err = ::redis::parse_redis_value(reply).unwrap().extract_error().unwrap_err();
            assert_eq!(answered(&err, &address).error.message(), message);
        }
    }

    #[test]
    fn causes_are_short() {
        let silent = |time| ConnectionError::Silent.unanswered(Duration::from_millis(time)).cause.unwrap();
        assert_eq!(
            [500, 50, 4512].map(silent),
            ["no answer for 0.5 s", "no answer for 0.050 s", "no answer for 4.5 s"]
        );
        for (text, cause) in [
            ("invalid peer certificate: certificate expired: since noon", "certificate expired: since noon"),
            ("invalid peer certificate: UnknownIssuer", "invalid peer certificate: UnknownIssuer"),
            ("Connection refused", "Connection refused"),
        ] {
            assert_eq!(network_cause(&io::Error::other(text)), cause);
        }
    }
}
