//! TLS for one server, or for servers that belong together.

use std::path::Path;

use crate::node::quoted_path;
use crate::{Certificates, Error, Result, Transport};

/// What the configuration of servers says about TLS: nothing, if their transport has none.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) transport: Transport,
    certificates: Option<Certificates>,
}

impl Tls {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, certificates: None }
    }

    /// For servers that tell each other, and clients, where they listen.
    pub(crate) fn among_servers(transport: Transport) -> Result<Self> {
        match transport {
            Transport::Unix => Err(Error::new("servers that belong together have no Unix sockets")),
            Transport::Tcp | Transport::Tls | Transport::MutualTls => Ok(Self::new(transport)),
        }
    }

    /// The certificates, once the first server was started.
    pub(crate) fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The lines for the first server, in whose folder the certificates are made for all: they go when it goes.
    pub(crate) fn first(&mut self, folder: &Path) -> Result<Vec<String>> {
        if self.transport.has_tls() {
            self.certificates = Some(Certificates::generate(folder.join("certificates"))?);
        }
        Ok(self.lines())
    }

    /// The lines for a further server.
    pub(crate) fn lines(&self) -> Vec<String> {
        let Some(files) = &self.certificates else { return Vec::new() };
        let client_certificate = if self.transport == Transport::MutualTls { "yes" } else { "no" };
        vec![
            format!("tls-ca-cert-file {}", quoted_path(&files.ca_pem())),
            format!("tls-cert-file {}", quoted_path(&files.server_cert_pem())),
            format!("tls-key-file {}", quoted_path(&files.server_key_pem())),
            format!("tls-auth-clients {client_certificate}"),
            // Among themselves servers are clients too, and a Cluster always asks for certificates.
            "tls-cluster yes".to_owned(),
            "tls-replication yes".to_owned(),
            format!("tls-client-cert-file {}", quoted_path(&files.cert_pem())),
            format!("tls-client-key-file {}", quoted_path(&files.key_pem())),
        ]
    }

    /// `?tls=true` where a URL needs it, for schemes that do not say it themselves.
    pub(crate) fn query(&self) -> &'static str {
        if self.transport.has_tls() { "?tls=true" } else { "" }
    }
}
