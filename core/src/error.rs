//! The one error type: a kind, a message that says what to do, and whether trying again can help.

use std::fmt;

/// An error about more keys than this names the first of them.
const KEYS_NAMED: usize = 4;

/// What went wrong. The kinds are the same in every language.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    retryable: bool,
}

/// `Result` with the limiter's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, ErrorKind::Connection | ErrorKind::Timeout);
        Self { kind, message: message.into(), retryable }
    }

    /// What every call of a closed limiter ends with.
    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the limiter is closed")
    }

    /// The same error, of a state of the server that passes by itself.
    pub(crate) fn passing(self) -> Self {
        Self { retryable: true, ..self }
    }

    /// The same error, naming the keys of the call it came from; only a server's is about keys.
    pub(crate) fn at_keys(self, keys: impl Iterator<Item = String>) -> Self {
        if self.kind != ErrorKind::Server {
            return self;
        }
        let mut keys = keys;
        let named: Vec<_> = keys.by_ref().take(KEYS_NAMED).collect();
        let more = if keys.next().is_some() { ", ..." } else { "" };
        Self { message: format!("{} (key {}{more})", self.message, named.join(", ")), ..self }
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What was wrong, where, and what would be right. Never contains a password.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later without any change by the caller.
    ///
    /// True for [`Connection`](ErrorKind::Connection), [`Timeout`](ErrorKind::Timeout) and
    /// [`Server`](ErrorKind::Server) errors that pass by themselves. After a timeout the first
    /// call may have been charged, so a retry can charge twice.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
