//! Errors, as the JavaScript layer receives them.

use napi_derive::napi;
use sluicegate::Error;

/// What a `SluicegateError` is made of. Node-API's own errors keep neither the kind nor `retryable`.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// The kind's name.
    pub code: &'static str,
    /// For people.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The names of the keys that it is about.
    pub key: Option<String>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self {
            code: error.kind().name(),
            message: error.message().to_owned(),
            retryable: error.is_retryable(),
            key: error.key().map(str::to_owned),
        }
    }
}
