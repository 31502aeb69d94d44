//! Keys of several parts.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use sluicegate::CompositeKey;

use crate::failure::Failure;

/// Joins the parts of a key.
#[napi(catch_unwind)]
pub(crate) fn join_key(parts: Vec<String>) -> Either<String, Failure> {
    match CompositeKey::new(parts) {
        Ok(key) => Either::A(key.into()),
        Err(error) => Either::B(Failure::from(&error)),
    }
}
