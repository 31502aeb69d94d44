//! TLS with a server of ZooKeeper.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::TlsFiles;
use super::wire::ZooKeeperError;
use crate::error::Result;
use crate::net::certificates::client_config;

/// What is read from and written to.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// How to speak TLS.
#[derive(Debug, Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    pub(super) fn new(files: &TlsFiles) -> Result<Self> {
        client_config(files.ca.as_deref(), files.cert.as_deref(), files.key.as_deref()).map(Self)
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
