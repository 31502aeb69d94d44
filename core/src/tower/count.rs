//! What is charged of a request, by its response.

use std::fmt;
use std::sync::Arc;

use http::response::Parts;
use http::{Response, StatusCode};

/// Which requests are charged, by the response to them. What may be charged is reserved before the service is called, so that
/// parallel guesses do not pass together.
///
/// ```
/// use sluicegate::tower::Count;
///
/// let of_guesses = Count::by(|response| response.status == 401);
/// # let _ = of_guesses;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Count {
    /// Every request.
    #[default]
    All,
    /// Those with a response of status 400 and above, and those that the service fails or the client gives up.
    Failures,
    /// The others.
    Successes,
    /// Those for which a function says so. Made by [`Count::by`].
    By(Arc<dyn Fn(&Parts) -> bool + Send + Sync>),
}

impl Count {
    /// Those for which `is_charged` says so of the response. It sees status 500 where the service has none.
    pub fn by(is_charged: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> Self {
        Self::By(Arc::new(is_charged))
    }

    /// Whether a request with this response is charged.
    pub(super) fn is_charged(&self, response: &Parts) -> bool {
        let is_failure = response.status.as_u16() >= 400;
        match self {
            Self::All => true,
            Self::Failures => is_failure,
            Self::Successes => !is_failure,
            Self::By(is_charged) => is_charged(response),
        }
    }

    /// Whether a request without a response is charged.
    pub(super) fn is_charged_unanswered(&self) -> bool {
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        self.is_charged(&response.into_parts().0)
    }

    /// The word for it in names of rules; none where every request is charged.
    pub(super) fn word(&self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Failures => Some("failures"),
            Self::Successes => Some("successes"),
            Self::By(_) => Some("outcome"),
        }
    }
}

impl fmt::Debug for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word().unwrap_or("all"))
    }
}
