//! From the options of `connect` to a builder.

use std::sync::Arc;
use std::time::Duration;

use napi::bindgen_prelude::Reference;
use napi_derive::napi;
use sluicegate::bridge::Settings;
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
        let builder = AsyncRateLimiter::builder(url).rules(self.source()?);
        let settings = Settings {
            rules_cache: self.rules_cache.map(Into::into),
            prefix: self.prefix,
            clock: self.clock.map(|clock| clock.0.clone()),
            connect_timeout: self.connect_timeout_ms.map(milliseconds),
            response_timeout: self.response_timeout_ms.map(milliseconds),
            tls_ca: self.tls_ca.map(Into::into),
            tls_cert: self.tls_cert.map(Into::into),
            tls_key: self.tls_key.map(Into::into),
            identifier_secret: self.identifier_secret,
            // What is too large becomes the largest.
            max_keys: self.max_keys.map(|keys| keys as usize),
            breaker_failures: self.breaker_failures.map(|calls| calls as u32),
            breaker_probe: self.breaker_probe_ms.map(milliseconds),
            request_id_seconds: self.request_id_seconds.map(|seconds| seconds as u64),
            // All calls share one connection.
            pool_size: None,
        };
        Ok(settings.apply(builder))
    }
}

/// What is below zero, or no number, becomes zero, which is refused where zero makes no sense; what is
/// too large becomes the largest.
pub(crate) fn milliseconds(ms: f64) -> Duration {
    if ms > 0.0 { Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::MAX) } else { Duration::ZERO }
}
