//! Certificates for servers with TLS.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::Result;

/// A certificate authority of its own, a server certificate for `127.0.0.1` and `localhost`, and a client
/// certificate, as PEM files.
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// Writes new keys and certificates into a folder, which is made if it is not there. A test whose client
    /// trusts the wrong authority makes a second set, in a folder inside its server's [`crate::Node::folder`].
    pub fn generate(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        let (ca, ca_pem) = authority()?;
        fs::write(folder.join("ca.pem"), ca_pem)?;
        let names = ["localhost", "127.0.0.1"];
        leaf(&ca, "server", &names, ExtendedKeyUsagePurpose::ServerAuth, &folder)?;
        leaf(&ca, "client", &[], ExtendedKeyUsagePurpose::ClientAuth, &folder)?;
        Ok(Self { folder })
    }

    /// The authority that signed the others: what a client must trust.
    pub fn ca_pem(&self) -> PathBuf {
        self.folder.join("ca.pem")
    }

    /// The server's certificate.
    pub fn server_cert_pem(&self) -> PathBuf {
        self.folder.join("server.pem")
    }

    /// The server's private key.
    pub fn server_key_pem(&self) -> PathBuf {
        self.folder.join("server.key")
    }

    /// The client's certificate, for servers that ask for one.
    pub fn cert_pem(&self) -> PathBuf {
        self.folder.join("client.pem")
    }

    /// The client's private key.
    pub fn key_pem(&self) -> PathBuf {
        self.folder.join("client.key")
    }
}

fn authority() -> Result<(Issuer<'static, KeyPair>, String)> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Sluicegate test authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let pem = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), pem))
}

/// Writes `<name>.pem` and `<name>.key`.
fn leaf(
    ca: &Issuer<'_, KeyPair>,
    name: &str,
    hosts: &[&str],
    purpose: ExtendedKeyUsagePurpose,
    folder: &Path,
) -> Result<()> {
    let mut params = CertificateParams::new(hosts.iter().map(|&host| host.to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate()?;
    fs::write(folder.join(format!("{name}.pem")), params.signed_by(&key, ca)?.pem())?;
    fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    Ok(())
}
