//! The one error type: a kind, a message that says what to do, and whether trying again can help.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::mem::{replace, take};
use std::sync::Arc;

use crate::text::printable::printable;
use crate::text::words::first_of;

/// An error about more rules, or more keys, than this names the first of them.
const NAMED: usize = 4;

/// What is added to an error after which the call may have been carried out all the same.
const MAYBE_DONE: &str = "; whether the call was carried out is not known";

/// The kind of an error. The kinds are the same in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A rule, or a file of rules, is not valid.
    InvalidRule,
    /// No rule has the name that was asked for.
    UnknownRule,
    /// A key, cost, resource, option or URL is not acceptable.
    InvalidArgument,
    /// The server cannot be reached, or the connection broke.
    Connection,
    /// The server did not answer in time. Whether the cost was charged is not known.
    Timeout,
    /// The server answered with an error.
    Server,
    /// The limiter was closed.
    Closed,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::InvalidRule,
        Self::UnknownRule,
        Self::InvalidArgument,
        Self::Connection,
        Self::Timeout,
        Self::Server,
        Self::Closed,
    ];

    /// The kind's name, as used by every language: `"InvalidRule"`, `"Timeout"`, ...
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidRule => "InvalidRule",
            Self::UnknownRule => "UnknownRule",
            Self::InvalidArgument => "InvalidArgument",
            Self::Connection => "Connection",
            Self::Timeout => "Timeout",
            Self::Server => "Server",
            Self::Closed => "Closed",
        }
    }
}

/// An error of the limiter. A denial is not an error: it is a [`Decision`](crate::Decision).
#[derive(Clone)]
pub struct Error(
    // A pointer, so that a result is hardly longer than what a call returns when all is well: a processor copies a long one
    // more slowly than a check in memory takes.
    Box<Parts>,
);

#[derive(Clone)]
struct Parts {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    /// Whether the call may have been carried out all the same.
    is_maybe_done: bool,
    /// Whether the server ended a script that may have written something by then.
    is_midway: bool,
    /// Whether nothing was sent, as the circuit breaker is open.
    is_withheld: bool,
    cause: Option<Arc<io::Error>>,
    key: Option<Box<str>>,
}

/// Errors are equal that say the same, whatever caused them.
impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let said = |Self(parts): &Self| (parts.kind, parts.retryable);
        said(self) == said(other) && self.message() == other.message() && self.key() == other.key()
    }
}

impl Eq for Error {}

/// `Result` with the limiter's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, ErrorKind::Connection | ErrorKind::Timeout);
        // It may repeat what a server, a file or a caller said.
        let message = match printable(&message.into()) {
            Cow::Borrowed(message) => message.to_owned(),
            Cow::Owned(escaped) => escaped,
        };
        let parts = Parts {
            kind,
            message,
            retryable,
            is_maybe_done: false,
            is_midway: false,
            is_withheld: false,
            key: None,
            cause: None,
        };
        Self(Box::new(parts))
    }

    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(&mut self.0);
        self
    }

    /// What every call of a closed limiter ends with.
    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the limiter is closed")
    }

    /// The same error with what caused it, for [`source`](std::error::Error::source).
    pub(crate) fn caused_by(self, cause: Arc<io::Error>) -> Self {
        self.with(|parts| parts.cause = Some(cause))
    }

    /// The same error, to be kept: of a cause that has memory of its own only the kind.
    pub(crate) fn kept(self) -> Self {
        let short = |cause: Arc<io::Error>| match cause.get_ref() {
            Some(_) => Arc::new(cause.kind().into()),
            None => cause,
        };
        self.with(|parts| parts.cause = parts.cause.take().map(short))
    }

    /// The same error, which trying again does not mend.
    pub(crate) fn lasting(self) -> Self {
        self.with(|parts| parts.retryable = false)
    }

    /// The same error, after which the call may have been carried out all the same: its message says so.
    pub(crate) fn maybe_done(self) -> Self {
        self.with(|parts| {
            if !replace(&mut parts.is_maybe_done, true) {
                parts.message.push_str(MAYBE_DONE);
            }
        })
    }

    /// The same error, of what was asked before a call, which has not begun.
    pub(crate) fn not_done(self) -> Self {
        self.with(|parts| {
            parts.is_maybe_done = false;
            if let Some(said) = parts.message.strip_suffix(MAYBE_DONE) {
                parts.message.truncate(said.len());
            }
        })
    }

    /// The same error, by which the server ended a script that may have written something by then.
    pub(crate) fn midway(self) -> Self {
        self.with(|parts| parts.is_midway = true)
    }

    /// The same error, of a call that an open circuit breaker keeps from being sent.
    pub(crate) fn withheld(self) -> Self {
        self.with(|parts| parts.is_withheld = true)
    }

    /// Whether nothing was sent, as the circuit breaker is open.
    pub(crate) fn is_withheld(&self) -> bool {
        self.0.is_withheld
    }

    /// The same error of a script that does not mend what it has begun.
    pub(crate) fn unmended(self) -> Self {
        if self.0.is_midway { self.maybe_done() } else { self }
    }

    /// Whether the call may have been carried out all the same.
    pub(crate) fn is_maybe_done(&self) -> bool {
        self.0.is_maybe_done
    }

    /// Whether it says that no server can decide: none is reached or answers in time, or one is in no state to decide.
    pub(crate) fn is_undecided(&self) -> bool {
        match self.kind() {
            ErrorKind::Connection | ErrorKind::Timeout => true,
            ErrorKind::Server => self.is_retryable(),
            _ => false,
        }
    }

    /// The same error, of a state of the server that passes by itself.
    pub(crate) fn passing(self) -> Self {
        self.with(|parts| parts.retryable = true)
    }

    /// The same error, of a call about these rules and keys; only a server's is about them. The message names the
    /// rules: keys are those of clients, and messages are logged.
    pub(crate) fn about<'a>(
        self,
        rules: impl Iterator<Item = &'a str>,
        keys: impl Iterator<Item = String>,
    ) -> Self {
        if self.kind() != ErrorKind::Server {
            return self;
        }
        let mut rules: Vec<_> = rules.collect();
        rules.dedup();
        let keys: Vec<_> = keys.take(NAMED).collect();
        // What stands between the server and us may repeat them.
        self.with(|parts| {
            let said = keys.iter().fold(take(&mut parts.message), |said, key| said.replace(key, "***"));
            parts.message = format!("{said} (rule {})", first_of(rules.into_iter(), NAMED));
            parts.key = Some(keys.join(", ").into());
        })
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was wrong, where, and what would be right. On one line, and fit for a log: never contains a password, a
    /// key or a value.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The names, in Redis, of the keys that a [`Server`](ErrorKind::Server) error is about, separated by commas; of
    /// many the first. To look them up: they hold what clients are known by, so they do not belong in a log.
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// Whether the same call may succeed later without any change by the caller.
    ///
    /// True for [`Connection`](ErrorKind::Connection), [`Timeout`](ErrorKind::Timeout) and
    /// [`Server`](ErrorKind::Server) errors that pass by themselves. After a timeout the first
    /// call may have been charged, so a retry can charge twice.
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }
}

/// Without the key, which is for who asks.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        let Parts { kind, message, retryable, .. } = &*self.0;
        debug.field("kind", kind).field("message", message).field("retryable", retryable);
        debug.finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}
