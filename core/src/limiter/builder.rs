//! How a limiter is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::centre::Centre;
use super::local::Local;
use super::{AsyncRateLimiter, RateLimiter, asynchronous, blocking};
use crate::clock::ManualClock;
use crate::error::{Error, ErrorKind, Result};
use crate::key::is_valid_prefix;
use crate::redis::{AsyncRedis, Backend, BlockingRedis, ConnectOptions};
use crate::sources::{Origin, RuleSource};
use crate::transaction::Wire;

/// What every name in Redis begins with, unless another prefix is chosen.
const PREFIX: &str = "sluicegate";

/// Options of a limiter. Nothing is validated before [`build`](Self::build) or
/// [`connect`](Self::connect).
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` or `connect` is called"]
pub struct Builder {
    url: Url,
    rules: Origin,
    prefix: String,
    clock: Option<ManualClock>,
    connection: ConnectOptions,
}

/// A URL may carry a password, so it is never printed.
#[derive(Clone)]
struct Url(String);

impl std::fmt::Debug for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Builder {
    pub(super) fn new(url: String) -> Self {
        Self {
            url: Url(url),
            rules: Origin::default(),
            prefix: PREFIX.to_owned(),
            clock: None,
            connection: ConnectOptions::default(),
        }
    }

    /// The rules to decide by: [`Rules`](crate::Rules), or a source that is followed while the limiter runs
    /// (see [`sources`](crate::sources)). Default: none.
    pub fn rules(mut self, source: impl RuleSource) -> Self {
        self.rules.source = Arc::new(source);
        self
    }

    /// A file in which the last good rules of a followed source are kept. A limiter that is made while the
    /// source is away begins with them. Default: none; then the limiter is not made.
    pub fn rules_cache(mut self, path: impl Into<PathBuf>) -> Self {
        self.rules.cache = Some(path.into());
        self
    }

    /// What every name in Redis begins with: 1 to 128 bytes without braces and control characters.
    /// Limiters share their counts when their prefixes and rules are the same. Default: `sluicegate`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// A clock that the caller moves, instead of the server's (or, embedded, the system's).
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// The longest time to open a connection. Default: 1 second.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connection.connect_timeout = timeout;
        self
    }

    /// The longest time to wait for an answer; then the call ends with [`ErrorKind::Timeout`]. Where the server
    /// asks for the script, the time begins anew. A call of the blocking limiter that finds all connections in
    /// use may wait as long for its turn before. With TLS, or not on Unix, the blocking limiter measures the
    /// silence of the server instead. Default: 500 milliseconds.
    pub fn response_timeout(mut self, timeout: Duration) -> Self {
        self.connection.response_timeout = timeout;
        self
    }

    /// The most connections that a blocking limiter opens to one server. Threads share round trips where that is
    /// sooner than to take turns, so few connections serve many threads. Default: 16.
    pub fn pool_size(mut self, connections: usize) -> Self {
        self.connection.pool_size = connections;
        self
    }

    /// PEM file with the certificate authorities to trust instead of the system's.
    pub fn tls_ca(mut self, path: impl Into<PathBuf>) -> Self {
        self.connection.tls_ca = Some(path.into());
        self
    }

    /// PEM file with the certificate chain of this client; goes with [`tls_key`](Self::tls_key).
    pub fn tls_cert(mut self, path: impl Into<PathBuf>) -> Self {
        self.connection.tls_cert = Some(path.into());
        self
    }

    /// PEM file with the private key of this client; goes with [`tls_cert`](Self::tls_cert).
    pub fn tls_key(mut self, path: impl Into<PathBuf>) -> Self {
        self.connection.tls_key = Some(path.into());
        self
    }

    /// A blocking limiter. Opens no connection to Redis: the first call does, so a process may fork in
    /// between. Rules that are followed are loaded.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL or an option makes no sense; [`ErrorKind::InvalidRule`],
    /// [`ErrorKind::Connection`] and [`ErrorKind::Timeout`] when the rules cannot be loaded.
    pub fn build(self) -> Result<RateLimiter> {
        let wire = self.wire()?;
        let backend = match Backend::parse(&self.url.0)? {
            Backend::Memory => blocking::Backend::Local(Local::new(self.clock.clone())),
            Backend::Redis(url) => {
                blocking::Backend::Server(BlockingRedis::new(&url, &self.connection)?.into())
            }
        };
        Ok(RateLimiter::new(Centre::new(self.rules.open()?, wire, self.clock), backend))
    }

    /// An async limiter, connected. To be awaited on a Tokio runtime with timers and I/O enabled.
    ///
    /// # Errors
    /// As [`build`](Self::build); also [`ErrorKind::Connection`], [`ErrorKind::Timeout`] and
    /// [`ErrorKind::Server`] when no connection can be made.
    pub async fn connect(self) -> Result<AsyncRateLimiter> {
        let wire = self.wire()?;
        let rules = if self.rules.is_fixed() {
            self.rules.open()?
        } else {
            let opening = tokio::task::spawn_blocking(move || self.rules.open());
            opening.await.map_err(|error| Error::new(ErrorKind::Connection, format!("rules: {error}")))??
        };
        let centre = Centre::new(rules, wire, self.clock.clone());
        let backend = match Backend::parse(&self.url.0)? {
            Backend::Memory => asynchronous::Backend::Local(Local::new(self.clock)),
            Backend::Redis(url) => {
                asynchronous::Backend::Server(AsyncRedis::connect(&url, &self.connection).await?.into())
            }
        };
        Ok(AsyncRateLimiter::new(centre, backend))
    }

    /// Whether connecting takes no time, as there is nothing to connect to; validates everything.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_immediate(&self) -> Result<bool> {
        self.wire()?;
        Ok(matches!(Backend::parse(&self.url.0)?, Backend::Memory) && self.rules.is_fixed())
    }

    /// How states are named; validates everything.
    fn wire(&self) -> Result<Wire> {
        self.connection.validate()?;
        if !is_valid_prefix(&self.prefix) {
            let what = "prefix: must be 1 to 128 bytes without braces and control characters";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let cluster = match Backend::parse(&self.url.0)? {
            Backend::Memory => {
                self.connection.validate_without_tls()?;
                false
            }
            Backend::Redis(url) => url.is_cluster(),
        };
        Ok(Wire { prefix: self.prefix.clone(), cluster })
    }
}
