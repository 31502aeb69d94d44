//! TLS as a layer between a session and a socket; rustls does no I/O of its own.

use std::io::{self, Read, Write};
use std::sync::Arc;

use ::rustls::pki_types::ServerName;
use ::rustls::{ClientConfig, ClientConnection};

use crate::error::Result;
use crate::net::certificates::client_config;
use crate::options::ConnectOptions;

/// What all TLS connections of a limiter have in common.
pub(in crate::redis) type Config = Arc<ClientConfig>;

/// Reads the certificates.
pub(in crate::redis) fn config(options: &ConnectOptions) -> Result<Config> {
    let ConnectOptions { tls_ca, tls_cert, tls_key, .. } = options;
    client_config(tls_ca.as_deref(), tls_cert.as_deref(), tls_key.as_deref())
}

/// The TLS of one connection.
pub(in crate::redis) struct Layer(Box<ClientConnection>);

impl Layer {
    /// A new connection to a server whose certificate must match `host`.
    pub(in crate::redis) fn connect(config: &Config, host: &str) -> io::Result<Self> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        Ok(Self(Box::new(connection)))
    }

    /// Takes as many bytes to encrypt as there is room for.
    pub(in crate::redis) fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.0.writer().write(plain)
    }

    /// Whether there are encrypted bytes to send.
    pub(in crate::redis) fn wants_write(&self) -> bool {
        self.0.wants_write()
    }

    /// Sends encrypted bytes until the stream takes no more.
    pub(in crate::redis) fn send(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(stream)?;
        }
        Ok(())
    }

    /// Decrypts what has come into `buffer`; reads from the stream when nothing is left to decrypt.
    pub(in crate::redis) fn receive(
        &mut self,
        stream: &mut impl Read,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            match self.0.reader().read(buffer) {
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if self.0.read_tls(stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The alert that says why may still reach the server.
            self.0.process_new_packets().map_err(|err| io::Error::new(io::ErrorKind::InvalidData, err))?;
        }
    }
}
