//! Keys of several parts, and of addresses.

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use sluicegate::CompositeKey;

use crate::failure::Failure;

/// Joins the parts of a key.
#[napi(catch_unwind)]
pub(crate) fn join_key(parts: Vec<String>) -> Either<String, Failure> {
    key_or_failure(CompositeKey::new(parts).map(String::from))
}

/// The key of the client with an address.
#[napi(catch_unwind)]
pub(crate) fn address_key(ip: String, prefix_length: f64) -> Either<String, Failure> {
    // Beyond the bounds, and a fraction, becomes what core refuses.
    let prefix_length = if prefix_length.fract() == 0.0 { prefix_length as u8 } else { 0 };
    key_or_failure(sluicegate::address_key(&ip, prefix_length))
}

fn key_or_failure(key: sluicegate::Result<String>) -> Either<String, Failure> {
    match key {
        Ok(key) => Either::A(key),
        Err(error) => Either::B(Failure::from(&error)),
    }
}
