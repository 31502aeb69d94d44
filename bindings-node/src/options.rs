//! From the options of `connect` to a builder.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::Reference;
use napi_derive::napi;
use sluicegate::sources::{RuleSource, named};
use sluicegate::{AsyncRateLimiter, Builder, Result, Rules};

use crate::clock::NativeClock;

/// The options, of the right types already.
#[napi(object, object_to_js = false)]
pub(crate) struct Options {
    /// Where rules come from: a path, the address of a ZooKeeper, or JSON.
    pub rules: Option<String>,
    /// Rules as JSON, whatever it looks like.
    pub rules_json: Option<String>,
    /// A file for the last good rules.
    pub rules_cache: Option<String>,
    /// What every name in Redis begins with.
    pub prefix: Option<String>,
    /// Instead of the server's clock.
    pub clock: Option<Reference<NativeClock>>,
    /// The longest time to open a connection.
    pub connect_timeout_ms: Option<f64>,
    /// The longest time to wait for an answer.
    pub response_timeout_ms: Option<f64>,
    /// PEM file of authorities.
    pub tls_ca: Option<String>,
    /// PEM file of the client's certificate.
    pub tls_cert: Option<String>,
    /// PEM file of its key.
    pub tls_key: Option<String>,
    /// Hides keys that are secrets.
    pub identifier_secret: Option<String>,
    /// How many states are kept in memory; a whole number.
    pub max_keys: Option<f64>,
    /// How many calls without an answer open the circuit breaker; a whole number.
    pub breaker_failures: Option<f64>,
    /// How often a server is tried meanwhile.
    pub breaker_probe_ms: Option<f64>,
    /// For how long calls with a request id may be repeated; a whole number.
    pub request_id_seconds: Option<f64>,
}

impl Options {
    fn source(&self) -> Result<Arc<dyn RuleSource>> {
        match &self.rules {
            Some(text) => named(text),
            None => Ok(Arc::new(Rules::from_json(self.rules_json.as_deref().unwrap_or_default())?)),
        }
    }

    pub(crate) fn builder(self, url: String) -> Result<Builder> {
        let mut builder = AsyncRateLimiter::builder(url).rules(self.source()?);
        if let Some(path) = self.rules_cache {
            builder = builder.rules_cache(path);
        }
        if let Some(prefix) = self.prefix {
            builder = builder.prefix(prefix);
        }
        if let Some(clock) = self.clock {
            builder = builder.clock(clock.0.clone());
        }
        if let Some(timeout) = self.connect_timeout_ms {
            builder = builder.connect_timeout(milliseconds(timeout));
        }
        if let Some(timeout) = self.response_timeout_ms {
            builder = builder.response_timeout(milliseconds(timeout));
        }
        if let Some(path) = self.tls_ca {
            builder = builder.tls_ca(path);
        }
        if let Some(path) = self.tls_cert {
            builder = builder.tls_cert(path);
        }
        if let Some(path) = self.tls_key {
            builder = builder.tls_key(path);
        }
        if let Some(secret) = self.identifier_secret {
            builder = builder.identifier_secret(secret);
        }
        if let Some(keys) = self.max_keys {
            // What is too large becomes the largest.
            builder = builder.max_keys(keys as usize);
        }
        if let Some(calls) = self.breaker_failures {
            builder = builder.breaker_failures(calls as u32);
        }
        if let Some(interval) = self.breaker_probe_ms {
            builder = builder.breaker_probe(milliseconds(interval));
        }
        if let Some(seconds) = self.request_id_seconds {
            builder = builder.request_id_seconds(seconds as u64);
        }
        Ok(builder)
    }
}

/// What is below zero, or no number, becomes zero, which is refused where zero makes no sense; what is
/// too large becomes the largest.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    if ms > 0.0 { Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}
