//! How a command ends.

use std::fmt;
use std::io;

/// The answer of a command, which the exit code tells: 0 for yes, 1 for no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Everything was admitted, is the same, was done.
    Yes,
    /// Something was denied, differs, was not wanted.
    No,
}

impl Verdict {
    pub(crate) fn of(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    Limiter(crate::Error),
    Output(io::Error),
    Other(String),
    /// The reasons, several perhaps, have been told.
    Told,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limiter(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Other(reason) => f.write_str(reason),
            Self::Told => Ok(()),
        }
    }
}

impl From<crate::Error> for Failure {
    fn from(error: crate::Error) -> Self {
        Self::Limiter(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
