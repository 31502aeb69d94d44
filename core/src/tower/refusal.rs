//! Why a request is not decided.

use crate::{Error, ErrorKind};

/// Why a request is not decided.
pub(super) enum Refusal {
    /// The limiter could not.
    Undecided(Error),
    /// The client's request lacks something, or makes no sense.
    Invalid(String),
    /// The application made a mistake. The message names the function, and never a key.
    Broken(String),
}

impl From<Error> for Refusal {
    /// Of a request whose parts the client chose.
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidArgument => Self::Invalid(error.message().to_owned()),
            _ => Self::Undecided(error),
        }
    }
}

impl Refusal {
    /// A mistake of the application, in a message that names where it was made.
    pub(super) fn at(self, place: &str) -> Self {
        match self {
            Self::Broken(message) => Self::Broken(format!("{place}: {message}")),
            other => other,
        }
    }

    /// A user whose name is empty would be counted by no rule, or together with others.
    pub(super) fn empty_user() -> Self {
        Self::Broken("user_id returned an empty text (return None for a request without a user)".to_owned())
    }
}
