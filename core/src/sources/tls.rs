//! TLS of sources of rules.

use std::path::PathBuf;

/// PEM files for connections with TLS: those of the limiter's options `tls_ca`, `tls_cert` and `tls_key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// The certificate chain of this client; goes with `key`.
    pub cert: Option<PathBuf>,
    /// The private key of this client; goes with `cert`.
    pub key: Option<PathBuf>,
}
