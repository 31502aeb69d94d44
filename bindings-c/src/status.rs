//! How a call went, as a number.

use std::ffi::{CStr, c_char, c_int};

use sluicegate::ErrorKind;

/// How a call went. The numbers never change; later releases may add some.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It succeeded, and only now are its outputs written. A denial is a success, too.
    Ok = 0,
    /// A rule, or a file of rules, is not valid.
    InvalidRule = 1,
    /// No rule has the name that was asked for.
    UnknownRule = 2,
    /// An argument is not acceptable; the message names it.
    InvalidArgument = 3,
    /// The server cannot be reached, or the connection broke.
    Connection = 4,
    /// The server did not answer in time. Whether the cost was charged is not known.
    Timeout = 5,
    /// The server answered with an error.
    Server = 6,
    /// The limiter was closed.
    Closed = 7,
    /// A fault of this library, such as a panic.
    Internal = 8,
}

impl Status {
    const ALL: [Self; 9] = [
        Self::Ok,
        Self::InvalidRule,
        Self::UnknownRule,
        Self::InvalidArgument,
        Self::Connection,
        Self::Timeout,
        Self::Server,
        Self::Closed,
        Self::Internal,
    ];

    /// The name; that of a kind of error is the same in every language.
    fn name(self) -> &'static CStr {
        match self {
            Self::Ok => c"Ok",
            Self::InvalidRule => c"InvalidRule",
            Self::UnknownRule => c"UnknownRule",
            Self::InvalidArgument => c"InvalidArgument",
            Self::Connection => c"Connection",
            Self::Timeout => c"Timeout",
            Self::Server => c"Server",
            Self::Closed => c"Closed",
            Self::Internal => c"Internal",
        }
    }
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::InvalidRule => Self::InvalidRule,
            ErrorKind::UnknownRule => Self::UnknownRule,
            ErrorKind::InvalidArgument => Self::InvalidArgument,
            ErrorKind::Connection => Self::Connection,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Server => Self::Server,
            ErrorKind::Closed => Self::Closed,
            // The kinds may grow; one without a number still gets its message across.
            _ => Self::Internal,
        }
    }
}

export! {
    /// The name of a status, such as "UnknownRule": the same in every language. "Unknown" for a number
    /// that is no status. Never NULL; lives for ever.
    fn sluicegate_status_name(status: c_int) -> *const c_char {
        let known = Status::ALL.into_iter().find(|known| *known as c_int == status);
        known.map_or(c"Unknown", Status::name).as_ptr()
    }
}
