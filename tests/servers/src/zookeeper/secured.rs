//! TLS of the servers of an ensemble.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Certificates, Result, Transport};

/// Files for TLS with clients, which all servers share.
#[derive(Debug)]
pub(super) struct Secured {
    pub(super) certificates: Certificates,
    /// Key and certificate of the servers in one file, as Java wants them.
    key_store: PathBuf,
    client_auth: &'static str,
}

impl Secured {
    /// Makes the files, if the transport has TLS.
    pub(super) fn new(transport: Transport, folder: &Path) -> Result<Option<Self>> {
        if !transport.has_tls() {
            return Ok(None);
        }
        let certificates = Certificates::generate(folder.join("certificates"))?;
        let key_store = folder.join("server.keystore.pem");
        let key = fs::read_to_string(certificates.server_key_pem())?;
        fs::write(&key_store, key + &fs::read_to_string(certificates.server_cert_pem())?)?;
        let client_auth = if transport == Transport::MutualTls { "need" } else { "none" };
        Ok(Some(Self { certificates, key_store, client_auth }))
    }

    /// The lines of zoo.cfg.
    pub(super) fn lines(&self, port: u16) -> String {
        format!(
            "secureClientPort={port}\nsecureClientPortAddress=127.0.0.1\nssl.clientAuth={}\n\
             serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
             ssl.keyStore.location={}\nssl.trustStore.location={}\n",
            self.client_auth,
            self.key_store.display(),
            self.certificates.ca_pem().display(),
        )
    }
}
