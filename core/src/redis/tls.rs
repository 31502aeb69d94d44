//! TLS as a layer between a session and a socket; rustls does no I/O of its own.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use ::rustls::pki_types::pem::PemObject;
use ::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use ::rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::options::ConnectOptions;
use crate::error::{Error, ErrorKind, Result};

/// What all TLS connections of a limiter have in common. The certificates are read once.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Reads the files of the options; without `tls_ca` the authorities that the system trusts.
    pub(super) fn new(options: &ConnectOptions) -> Result<Self> {
        let provider = Arc::new(::rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|err| unusable(&err))?
            .with_root_certificates(roots(options.tls_ca.as_deref())?);
        let config = match (&options.tls_cert, &options.tls_key) {
            (Some(cert), Some(key)) => builder
                .with_client_auth_cert(certificates("tls_cert", cert)?, private_key(key)?)
                .map_err(|err| unusable(&err))?,
            _ => builder.with_no_client_auth(),
        };
        Ok(Self(Arc::new(config)))
    }

    /// A new connection to a server whose certificate must match `host`.
    pub(super) fn connect(&self, host: &str) -> io::Result<Layer> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Ok(Layer(Box::new(connection)))
    }
}

fn roots(tls_ca: Option<&Path>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match tls_ca {
        Some(path) => {
            for certificate in certificates("tls_ca", path)? {
                store.add(certificate).map_err(|err| unusable(&err))?;
            }
        }
        // Without any authority every handshake fails, and says so.
        None => drop(store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    Ok(store)
}

fn certificates(name: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let pem = read(name, path)?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match parsed {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(invalid(format!("{name}: {} holds no PEM block `CERTIFICATE`", path.display()))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let pem = read("tls_key", path)?;
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| invalid(format!("tls_key: {} holds no PEM block `PRIVATE KEY`", path.display())))
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|err| invalid(format!("{name}: cannot read {}: {err}", path.display())))
}

fn unusable(err: &::rustls::Error) -> Error {
    invalid(format!("the TLS files cannot be used: {err}"))
}

fn invalid(reason: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}

/// The TLS of one connection.
pub(super) struct Layer(Box<ClientConnection>);

impl Layer {
    /// Takes as many bytes to encrypt as there is room for.
    pub(super) fn write(&mut self, plain: &[u8]) -> io::Result<usize> {
        self.0.writer().write(plain)
    }

    /// Whether there are encrypted bytes to send.
    pub(super) fn wants_write(&self) -> bool {
        self.0.wants_write()
    }

    /// Sends encrypted bytes until the stream takes no more.
    pub(super) fn send(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(stream)?;
        }
        Ok(())
    }

    /// Decrypts what has come into `buffer`; reads from the stream when nothing is left to decrypt.
    pub(super) fn receive(&mut self, stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.reader().read(buffer) {
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            if self.0.read_tls(stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Err(err) = self.0.process_new_packets() {
                // The alert that says why may still reach the server.
                return Err(io::Error::new(io::ErrorKind::InvalidData, err));
            }
        }
    }
}
