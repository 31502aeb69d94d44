//! How a command ends.

use std::{fmt, io};

/// The exit status of a command that succeeded: 0 for yes, 1 for no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Everything was admitted, is the same, was done.
    Yes,
    /// Something was denied, differs, was not wanted.
    No,
}

impl ExitStatus {
    pub(crate) fn of(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum CommandError {
    Limiter(sluicegate::Error),
    Output(io::Error),
    Other(String),
    /// The command has printed the reasons already.
    Reported,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limiter(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
            Self::Other(reason) => f.write_str(reason),
            Self::Reported => Ok(()),
        }
    }
}

impl From<sluicegate::Error> for CommandError {
    fn from(error: sluicegate::Error) -> Self {
        Self::Limiter(error)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
