//! How a limiter is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::backend;
use super::centre::Centre;
use super::memory::InMemory;
#[cfg(feature = "bridge")]
use super::sleeper::Sleeper;
use super::tasks::Tasks;
use super::{AsyncRateLimiter, RateLimiter};
use crate::algorithm::Micros;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key::is_valid_prefix;
use crate::keys::secret::SecretNames;
#[cfg(feature = "bridge")]
use crate::redis::Host;
use crate::redis::{AsyncRedis, Backend, BlockingRedis, ConnectOptions};
use crate::sources::{Origin, RuleSource, TlsFiles};
use crate::time::clock::ManualClock;
use crate::transaction::CallSettings;

/// What every name in Redis begins with, unless another prefix is chosen.
pub(crate) const PREFIX: &str = "sluicegate";

/// How long the answer to a request is kept, unless another time is chosen.
const REQUEST_ID_SECONDS: u64 = 60;
const LONGEST_REQUEST_ID_SECONDS: u64 = 86_400;

/// Options of a limiter. Nothing is validated before [`build`](Self::build) or
/// [`connect`](Self::connect).
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build` or `connect` is called"]
pub struct Builder {
    url: Hidden,
    rules: Origin,
    prefix: String,
    clock: Option<ManualClock>,
    identifier_secret: Option<Hidden>,
    max_keys: Option<usize>,
    request_id_seconds: u64,
    connection: ConnectOptions,
}

/// What is, or may carry, a secret, and so is never printed.
#[derive(Clone)]
struct Hidden(String);

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl RateLimiter {
    /// Begins a limiter on the backend that `url` names: `memory://`, `redis://`, `rediss://`,
    /// `unix://`, `redis-cluster://host1:port1,host2:port2` or
    /// `redis-sentinel://host1:port1,host2:port2/service`.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }
}

impl AsyncRateLimiter {
    /// Begins a limiter on the backend that `url` names, as
    /// [`RateLimiter::builder`](crate::RateLimiter::builder) does; end it with
    /// [`connect`](Builder::connect).
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }
}

impl Builder {
    pub(super) fn new(url: String) -> Self {
        Self {
            url: Hidden(url),
            rules: Origin::default(),
            prefix: PREFIX.to_owned(),
            clock: None,
            identifier_secret: None,
            max_keys: None,
            request_id_seconds: REQUEST_ID_SECONDS,
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

    /// A clock that the caller moves, instead of the server's (or, in memory, the system's).
    pub fn clock(mut self, clock: ManualClock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Hides keys of rules whose `identifier_type` is `api_key` or `header:<name>` also from who can guess them.
    /// Such keys are stored as 128 bits of their SHA-256, with this secret of their HMAC-SHA-256. 16 to 1024 bytes;
    /// limiters share their counts only with the same one. Default: none.
    pub fn identifier_secret(mut self, secret: impl Into<String>) -> Self {
        self.identifier_secret = Some(Hidden(secret.into()));
        self
    }

    /// The most states that `memory://` keeps, one for each key and limit: 1 and more. When there are more, those
    /// nearest to their reset are forgotten first. Default: 1,000,000.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = Some(keys);
        self
    }

    /// For how many seconds the answer to a call with a [request id](crate::CheckOptions::request_id) is kept, by the
    /// limiter's clock, from 1 to 86,400: so long the call may be repeated. Each id takes some 200 bytes in Redis. Default: 60.
    pub fn request_id_seconds(mut self, seconds: u64) -> Self {
        self.request_id_seconds = seconds;
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

    /// How many calls in a row a server leaves unanswered before the circuit breaker opens: from then on calls to
    /// it fail at once, until it answers again. 0: the breaker never opens. Default: 5.
    pub fn breaker_failures(mut self, calls: u32) -> Self {
        self.connection.breaker_failures = calls;
        self
    }

    /// How often a server is tried while its circuit breaker is open and calls come. Default: 100 milliseconds.
    pub fn breaker_probe(mut self, interval: Duration) -> Self {
        self.connection.breaker_probe = interval;
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
    pub fn build(mut self) -> Result<RateLimiter> {
        let wire = self.prepare()?;
        let backend = match Backend::parse(&self.url.0)? {
            Backend::Memory => backend::Backend::Memory(self.in_memory()),
            Backend::Redis(url) => {
                backend::Backend::Server(BlockingRedis::new(&url, &self.connection)?.into())
            }
        };
        Ok(RateLimiter::new(Centre::new(self.rules.open()?, wire, self.clock), backend))
    }

    /// An async limiter, connected. To be awaited on a Tokio runtime with timers and I/O enabled.
    ///
    /// # Errors
    /// As [`build`](Self::build); also [`ErrorKind::Connection`], [`ErrorKind::Timeout`] and
    /// [`ErrorKind::Server`] when no connection can be made.
    pub async fn connect(mut self) -> Result<AsyncRateLimiter> {
        let wire = self.prepare()?;
        let request_lifetime = wire.request_lifetime;
        let rules = if self.rules.is_fixed() {
            self.rules.open()?
        } else {
            let opening = tokio::task::spawn_blocking(move || self.rules.open());
            opening.await.map_err(|error| Error::new(ErrorKind::Connection, format!("rules: {error}")))??
        };
        let centre = Centre::new(rules, wire, self.clock.clone());
        let backend = match Backend::parse(&self.url.0)? {
            Backend::Memory => {
                backend::Backend::Memory(InMemory::new(self.clock, self.max_keys, request_lifetime))
            }
            Backend::Redis(url) => {
                let redis = AsyncRedis::connect(&url, &self.connection).await?;
                backend::Backend::Server(Tasks { redis, sleeper: None }.into())
            }
        };
        Ok(AsyncRateLimiter::new(centre, backend, None))
    }

    /// An async limiter on an event loop that is not Rust's. Loads the rules; opens no connection.
    #[cfg(feature = "bridge")]
    pub(crate) fn open_on(
        mut self,
        host: Option<Arc<dyn Host>>,
        sleeper: Arc<dyn Sleeper>,
    ) -> Result<AsyncRateLimiter> {
        let wire = self.prepare()?;
        let backend = match (Backend::parse(&self.url.0)?, host) {
            (Backend::Redis(url), Some(host)) => {
                let redis = AsyncRedis::on(&url, &self.connection, host)?;
                backend::Backend::Server(Tasks { redis, sleeper: Some(Arc::clone(&sleeper)) }.into())
            }
            _ => backend::Backend::Memory(self.in_memory()),
        };
        let centre = Centre::new(self.rules.open()?, wire, self.clock);
        Ok(AsyncRateLimiter::new(centre, backend, Some(sleeper)))
    }

    /// Whether connecting takes no time, as there is nothing to connect to; validates everything.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_immediate(&self) -> Result<bool> {
        self.clone().prepare()?;
        Ok(matches!(Backend::parse(&self.url.0)?, Backend::Memory) && self.rules.is_fixed())
    }

    fn tls_files(&self) -> TlsFiles {
        let mut files = TlsFiles::default();
        files.ca.clone_from(&self.connection.tls_ca);
        files.cert.clone_from(&self.connection.tls_cert);
        files.key.clone_from(&self.connection.tls_key);
        files
    }

    /// Validates everything, and hands the rules what of the options concerns them. Returns how states are named.
    fn prepare(&mut self) -> Result<CallSettings> {
        self.connection.validate()?;
        if !(1..=LONGEST_REQUEST_ID_SECONDS).contains(&self.request_id_seconds) {
            let seconds = self.request_id_seconds;
            return Err(invalid(&format!(
                "request_id_seconds {seconds}: must be from 1 to {LONGEST_REQUEST_ID_SECONDS}"
            )));
        }
        if !is_valid_prefix(&self.prefix) {
            return Err(invalid("prefix: must be 1 to 128 bytes without braces and control characters"));
        }
        let secret = self.identifier_secret.as_ref().map(|secret| secret.0.as_str());
        self.rules.secrets = SecretNames::new(secret)?;
        let backend = Backend::parse(&self.url.0)?;
        let has_tls = matches!(&backend, Backend::Redis(url) if url.tls);
        if let Some(source) = self.rules.source.with_tls(&self.tls_files()) {
            self.rules.source = source?;
            if !has_tls {
                // They are not ignored, though the server has no use for them.
                let ConnectOptions { tls_ca, tls_cert, tls_key, .. } = &mut self.connection;
                [tls_ca, tls_cert, tls_key].into_iter().for_each(|file| *file = None);
            }
        }
        match &backend {
            Backend::Memory => {
                self.connection.validate_without_tls()?;
                if self.max_keys == Some(0) {
                    return Err(invalid("max_keys must be at least 1"));
                }
            }
            Backend::Redis(_) if self.max_keys.is_some() => {
                return Err(invalid(
                    "max_keys is for memory://; the server has a bound of its own (maxmemory)",
                ));
            }
            Backend::Redis(_) => {}
        }
        let cluster = matches!(&backend, Backend::Redis(url) if url.is_cluster());
        let default_timeout = self.connection.connect_timeout + self.connection.response_timeout;
        Ok(CallSettings {
            prefix: self.prefix.clone(),
            cluster,
            default_timeout: default_timeout.as_micros() as Micros,
            request_lifetime: self.request_lifetime(),
        })
    }

    fn request_lifetime(&self) -> Micros {
        self.request_id_seconds as Micros * 1_000_000
    }

    fn in_memory(&self) -> InMemory {
        InMemory::new(self.clock.clone(), self.max_keys, self.request_lifetime())
    }
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
