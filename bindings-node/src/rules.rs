//! Rules that are checked before any limiter has them.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use sluicegate::Rules;

use crate::failure::Failure;

/// Rules as limiters list them, in JSON.
#[napi(catch_unwind)]
pub(crate) fn normal_rules(json: String) -> Either<String, Failure> {
    match Rules::from_json(&json) {
        Ok(rules) => Either::A(rules.to_json()),
        Err(error) => Either::B(Failure::from(&error)),
    }
}
