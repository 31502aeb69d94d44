//! TLS with a server of ZooKeeper.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::TlsFiles;
use super::wire::ZooKeeperError;
use crate::error::{Error, ErrorKind, Result};
use crate::words::one_line;

/// What is read from and written to.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// How to speak TLS.
#[derive(Debug, Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(files: &TlsFiles) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let versions = versions.map_err(|error| invalid(format!("TLS: {error}")))?;
        let trusting = versions.with_root_certificates(authorities(files.ca.as_deref())?);
        let config = match (&files.cert, &files.key) {
            (Some(cert), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(unreadable("tls_key", key))?;
                let with_key = trusting.with_client_auth_cert(certificates("tls_cert", cert)?, key);
                with_key.map_err(|error| invalid(format!("tls_cert and tls_key: {error}")))?
            }
            (None, None) => trusting.with_no_client_auth(),
            _ => return Err(invalid("tls_cert and tls_key must be given together".to_owned())),
        };
        Ok(Self(Arc::new(config)))
    }

    /// Shakes hands with the server of `host:port`, whose certificate has to be of that host.
    pub(super) async fn over(
        &self,
        stream: TcpStream,
        address: &str,
    ) -> Result<impl Duplex + use<>, ZooKeeperError> {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let failed =
            |error: &dyn std::fmt::Display| ZooKeeperError::Lost(format!("no TLS with {address}: {error}"));
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| failed(&error))?;
        TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await.map_err(|error| failed(&error))
    }
}

/// Whom to trust: the authorities of a file, or the system's.
fn authorities(file: Option<&Path>) -> Result<RootCertStore> {
    let mut trusted = RootCertStore::empty();
    let Some(file) = file else {
        // The system may have some that are of no use.
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(trusted);
    };
    for certificate in certificates("tls_ca", file)? {
        let added = trusted.add(certificate);
        added.map_err(|error| invalid(format!("tls_ca: {}: {error}", one_line(file))))?;
    }
    Ok(trusted)
}

fn certificates(option: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(unreadable(option, file))?;
    if certificates.is_empty() {
        return Err(invalid(format!("{option}: {} holds no PEM block `CERTIFICATE`", one_line(file))));
    }
    Ok(certificates)
}

fn unreadable(option: &str, file: &Path) -> impl FnOnce(rustls::pki_types::pem::Error) -> Error {
    move |error| invalid(format!("{option}: cannot read {}: {error}", one_line(file)))
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, what)
}
