//! From an address to a client of the `redis` crate: login, database, protocol, TLS, socket options.

use std::fs;
use std::path::Path;
use std::time::Duration;

use ::redis::io::tcp::TcpSettings;
use ::redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion,
    RedisConnectionInfo, RedisResult, TlsCertificates,
};

use super::address::Address;
use super::options::ConnectOptions;
use super::url::{Login, RedisUrl, Servers};
use crate::error::{Error, ErrorKind, Result};

/// What a server is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It holds the state of the limits.
    Data,
    /// It knows which server does.
    Sentinel,
}

/// Everything that the connections of one limiter have in common.
pub(super) struct Connector {
    data: RedisConnectionInfo,
    sentinel: RedisConnectionInfo,
    /// A TLS address without host whose certificates, parsed once, every TLS address shares.
    tls: Option<ConnectionAddr>,
    pub(super) servers: Servers,
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
    pub(super) pool_size: usize,
}

impl Connector {
    pub(super) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        options.validate()?;
        if !url.tls {
            options.validate_without_tls()?;
        }
        Ok(Self {
            data: session(&url.login, url.resp3).set_db(i64::from(url.database)),
            sentinel: session(&url.sentinel_login, false),
            tls: if url.tls { Some(tls_template(options)?) } else { None },
            servers: url.servers.clone(),
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
            pool_size: options.pool_size,
        })
    }

    /// A client for the server; opens nothing.
    pub(super) fn client(&self, address: &Address, role: Role) -> RedisResult<Client> {
        let session = self.session(role).clone();
        Client::open(connection_info(self.target(address))?.set_redis_settings(session))
    }

    /// Login, database and protocol.
    pub(super) fn session(&self, role: Role) -> &RedisConnectionInfo {
        match role {
            Role::Data => &self.data,
            Role::Sentinel => &self.sentinel,
        }
    }

    /// Whether connections are those of the kernel, without TLS.
    #[cfg(unix)]
    pub(super) fn is_plain(&self, address: &Address) -> bool {
        self.tls.is_none() || matches!(address, Address::Unix(_))
    }

    fn target(&self, address: &Address) -> ConnectionAddr {
        match (address, &self.tls) {
            (Address::Unix(path), _) => ConnectionAddr::Unix(path.clone()),
            (Address::Tcp(host, port), Some(ConnectionAddr::TcpTls { tls_params, .. })) => {
                ConnectionAddr::TcpTls {
                    host: host.clone(),
                    port: *port,
                    insecure: false,
                    tls_params: tls_params.clone(),
                }
            }
            (Address::Tcp(host, port), _) => ConnectionAddr::Tcp(host.clone(), *port),
        }
    }
}

fn session(login: &Login, resp3: bool) -> RedisConnectionInfo {
    // CLIENT SETINFO is skipped: servers before 7.2 answer it with an error and count that.
    let mut session = RedisConnectionInfo::default().set_skip_set_lib_name();
    if let Some(user) = &login.user {
        session = session.set_username(user);
    }
    if let Some(password) = &login.password {
        session = session.set_password(password);
    }
    if resp3 { session.set_protocol(ProtocolVersion::RESP3) } else { session }
}

fn connection_info(address: ConnectionAddr) -> RedisResult<ConnectionInfo> {
    Ok(address.into_connection_info()?.set_tcp_settings(TcpSettings::default().set_nodelay(true)))
}

fn tls_template(options: &ConnectOptions) -> Result<ConnectionAddr> {
    // Fails only if the application chose a provider of its own already, which is then used.
    let _ = ::rustls::crypto::ring::default_provider().install_default();
    let root_cert = read_pem("tls_ca", options.tls_ca.as_deref(), "CERTIFICATE-----")?;
    let client_cert = read_pem("tls_cert", options.tls_cert.as_deref(), "CERTIFICATE-----")?;
    let client_key = read_pem("tls_key", options.tls_key.as_deref(), "PRIVATE KEY-----")?;
    let client_tls = client_cert
        .zip(client_key)
        .map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
    let bare = ConnectionAddr::TcpTls { host: String::new(), port: 0, insecure: false, tls_params: None };
    let client = connection_info(bare)
        .and_then(|info| Client::build_with_tls(info, TlsCertificates { client_tls, root_cert }))
        .map_err(|err| invalid(format!("the TLS files cannot be used: {err}")))?;
    Ok(client.get_connection_info().addr().clone())
}

/// Reads a PEM file. The parser would take a file without any block for an empty list of certificates.
fn read_pem(name: &str, path: Option<&Path>, holds: &str) -> Result<Option<Vec<u8>>> {
    let Some(path) = path else { return Ok(None) };
    let file = path.display();
    let pem = fs::read(path).map_err(|err| invalid(format!("{name}: cannot read {file}: {err}")))?;
    if String::from_utf8_lossy(&pem).contains(holds) {
        Ok(Some(pem))
    } else {
        Err(invalid(format!("{name}: {file} holds no PEM block `{}`", holds.trim_end_matches('-'))))
    }
}

fn invalid(reason: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, reason)
}
