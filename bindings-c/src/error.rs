//! Why a call failed.

use std::ffi::c_char;

use crate::status::Status;
use crate::text::fill;

/// The room for the message of an error, its NUL included.
pub const SLUICEGATE_MESSAGE_SIZE: usize = 1024;

/// The room for the keys that an error is about, its NUL included.
pub const SLUICEGATE_ERROR_KEY_SIZE: usize = 512;

/// Why a call failed. Written only when it did; nothing in it has to be freed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Error {
    /// What the call returned.
    pub status: Status,
    /// Whether the same call may succeed later without any change by the caller. After a timeout the
    /// first call may have been charged, so a retry can charge twice.
    pub retryable: bool,
    /// What was wrong, where, and what would be right, in UTF-8. A message that is too long ends in
    /// "...". On one line, and fit for a log: never contains a password, a key or a value.
    pub message: [c_char; SLUICEGATE_MESSAGE_SIZE],
    /// The names, in Redis, of the keys that a SLUICEGATE_SERVER error is about; empty when there is none. One that
    /// is too long ends in "...". They hold what clients are known by, so they do not belong in a log.
    pub key: [c_char; SLUICEGATE_ERROR_KEY_SIZE],
}

/// An error on its way to C.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    retryable: bool,
    message: String,
    key: String,
}

impl Failure {
    pub(crate) fn argument(name: &str, what: &str) -> Self {
        Self::new(Status::InvalidArgument, format!("{name} {what}"))
    }

    pub(crate) fn null(name: &str) -> Self {
        Self::argument(name, "is NULL")
    }

    pub(crate) fn panic(message: &str) -> Self {
        Self::new(Status::Internal, format!("a fault of sluicegate: {message}"))
    }

    fn new(status: Status, message: String) -> Self {
        Self { status, retryable: false, message, key: String::new() }
    }

    /// The same, about a part of something.
    pub(crate) fn within(mut self, whole: &str) -> Self {
        self.message.insert_str(0, whole);
        self
    }
}

impl From<sluicegate::Error> for Failure {
    fn from(error: sluicegate::Error) -> Self {
        let (status, retryable) = (error.kind().into(), error.is_retryable());
        let (message, key) = (error.message().to_owned(), error.key().unwrap_or_default().to_owned());
        Self { status, retryable, message, key }
    }
}

impl From<&Failure> for Error {
    fn from(failure: &Failure) -> Self {
        let (mut message, mut key) = ([0; SLUICEGATE_MESSAGE_SIZE], [0; SLUICEGATE_ERROR_KEY_SIZE]);
        fill(&mut message, &failure.message);
        fill(&mut key, &failure.key);
        Self { status: failure.status, retryable: failure.retryable, message, key }
    }
}
