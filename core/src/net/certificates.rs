//! The configuration of TLS connections, from PEM files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::rustls::pki_types::pem::PemObject;
use ::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use ::rustls::{ClientConfig, RootCertStore};

use crate::error::{Error, ErrorKind, Result};
use crate::text::words::one_line;

/// Builds a configuration from the files of the options `tls_ca`, `tls_cert` and `tls_key`; without `ca` it trusts the
/// authorities that the system trusts.
pub(crate) fn client_config(
    ca: Option<&Path>,
    cert: Option<&Path>,
    key: Option<&Path>,
) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(::rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|err| unusable(&err))?
        .with_root_certificates(roots(ca)?);
    let config = match (cert, key) {
        (Some(cert), Some(key)) => builder
            .with_client_auth_cert(certificates("tls_cert", cert)?, private_key(key)?)
            .map_err(|err| unusable(&err))?,
        (None, None) => builder.with_no_client_auth(),
        _ => return Err(invalid("tls_cert and tls_key must be given together".to_owned())),
    };
    Ok(Arc::new(config))
}

fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    match ca {
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
        _ => Err(invalid(format!("{name}: {} holds no PEM block `CERTIFICATE`", one_line(path)))),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let pem = read("tls_key", path)?;
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|_| invalid(format!("tls_key: {} holds no PEM block `PRIVATE KEY`", one_line(path))))
}

fn read(name: &str, path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|err| invalid(format!("{name}: cannot read {}: {err}", one_line(path))))
}

fn unusable(err: &::rustls::Error) -> Error {
    invalid(format!("the TLS files cannot be used: {err}"))
}

fn invalid(reason: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
