//! Why a call failed.

use std::ffi::c_char;

use crate::status::Status;
use crate::text::fill;

/// The room for the message of an error, its NUL included.
pub const SLUICEGATE_MESSAGE_SIZE: usize = 1024;

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
    /// "...". Never contains a password.
    pub message: [c_char; SLUICEGATE_MESSAGE_SIZE],
}

/// An error on its way to C.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    retryable: bool,
    message: String,
}

impl Failure {
    pub(crate) fn argument(name: &str, what: &str) -> Self {
        Self { status: Status::InvalidArgument, retryable: false, message: format!("{name} {what}") }
    }

    pub(crate) fn null(name: &str) -> Self {
        Self::argument(name, "is NULL")
    }

    pub(crate) fn panic(message: &str) -> Self {
        Self {
            status: Status::Internal,
            retryable: false,
            message: format!("a fault of sluicegate: {message}"),
        }
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
        Self { status, retryable, message: error.message().to_owned() }
    }
}

impl From<&Failure> for Error {
    fn from(failure: &Failure) -> Self {
        let mut message = [0; SLUICEGATE_MESSAGE_SIZE];
        fill(&mut message, &failure.message);
        Self { status: failure.status, retryable: failure.retryable, message }
    }
}
