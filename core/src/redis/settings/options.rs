//! How connections are made.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::time::timeout::validate_time;

const LARGEST_POOL: usize = 10_000;

/// Timeouts, pool size and TLS files of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ConnectOptions {
    /// The longest time to open a connection, login included.
    pub(crate) connect_timeout: Duration,
    /// The longest time to wait for an answer (and, blocking, for a free connection of the pool).
    /// A call that must first open a connection may take the sum of both.
    pub(crate) response_timeout: Duration,
    /// The most connections that the blocking driver opens to one server.
    pub(crate) pool_size: usize,
    /// How many calls in a row the server leaves unanswered before the circuit breaker opens; 0: it never opens.
    pub(crate) breaker_failures: u32,
    /// How often the server is tried while the circuit breaker is open.
    pub(crate) breaker_probe: Duration,
    /// PEM file with the authorities to trust instead of the system's.
    pub(crate) tls_ca: Option<PathBuf>,
    /// PEM file with the client's certificate chain.
    pub(crate) tls_cert: Option<PathBuf>,
    /// PEM file with the key of the client's certificate.
    pub(crate) tls_key: Option<PathBuf>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_millis(500),
            pool_size: 16,
            breaker_failures: 5,
            breaker_probe: Duration::from_millis(100),
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
        }
    }
}

impl ConnectOptions {
    /// Checks the values, not the files.
    pub(crate) fn validate(&self) -> Result<()> {
        validate_time("connect_timeout", self.connect_timeout)?;
        validate_time("response_timeout", self.response_timeout)?;
        validate_time("breaker_probe", self.breaker_probe)?;
        if !(1..=LARGEST_POOL).contains(&self.pool_size) {
            return Err(invalid(format!("pool_size must be from 1 to {LARGEST_POOL}")));
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(invalid("tls_cert and tls_key must be given together"));
        }
        Ok(())
    }

    /// Refuses options that only a TLS connection can honour: elsewhere they would be ignored.
    pub(crate) fn validate_without_tls(&self) -> Result<()> {
        if self.tls_ca.is_some() || self.tls_cert.is_some() || self.tls_key.is_some() {
            return Err(invalid("tls_ca, tls_cert and tls_key need a TLS URL: rediss://, or ?tls=true"));
        }
        Ok(())
    }
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
