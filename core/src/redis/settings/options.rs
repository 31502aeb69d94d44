//! Which options of a connection go together.

use crate::error::{Error, ErrorKind, Result};
use crate::options::ConnectOptions;

impl ConnectOptions {
    /// Checks the values, not the files.
    pub(crate) fn validate(&self) -> Result<()> {
        self.validate_bounds()?;
        // A call waits for the batch before it, and then for its own.
        if self.replicas > 0 && self.replica_timeout * 2 > self.response_timeout {
            return Err(invalid("replica_timeout must be at most half of response_timeout"));
        }
        if self.tls_cert.is_some() != self.tls_key.is_some() {
            return Err(invalid("tls_cert and tls_key must be given together"));
        }
        Ok(())
    }

    /// The same for servers without TLS.
    pub(crate) fn without_tls_files(&self) -> Self {
        Self { tls_ca: None, tls_cert: None, tls_key: None, ..self.clone() }
    }

    /// Refuses options that only a TLS connection can honour: elsewhere they would be ignored.
    pub(crate) fn validate_without_tls(&self) -> Result<()> {
        if self.tls_ca.is_some() || self.tls_cert.is_some() || self.tls_key.is_some() {
            return Err(invalid("tls_ca, tls_cert and tls_key need a TLS URL: rediss://, or ?tls=true"));
        }
        Ok(())
    }
}

fn invalid(reason: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
