//! A single server.

use std::ops::Deref;
use std::path::Path;

use crate::node::{quoted, quoted_path};
use crate::port::free_port;
use crate::{Certificates, Error, Node, Result};

/// How a [`Redis`] is to be reached by the code under test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Transport {
    /// `redis://127.0.0.1:port`
    #[default]
    Tcp,
    /// `unix:///path`
    Unix,
    /// `rediss://127.0.0.1:port`, the server alone shows a certificate.
    Tls,
    /// `rediss://127.0.0.1:port`, the client must show one too.
    MutualTls,
}

/// What a [`Redis`] is to be like.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The password clients must give.
    pub password: Option<String>,
    /// The ACL user clients must name; without it the password is that of the default user.
    pub user: Option<String>,
    /// How clients connect.
    pub transport: Transport,
    /// Further lines for redis.conf, such as `maxmemory 2mb`.
    pub config: Vec<String>,
}

/// A single server, ended when dropped. It derefs to its [`Node`], which can kill, restart, pause and resume it.
#[derive(Debug)]
pub struct Redis {
    node: Node,
    url: String,
    certificates: Option<Certificates>,
}

impl Redis {
    /// Starts a server that anybody may use, over TCP.
    pub fn start() -> Result<Self> {
        Self::with(&Options::default())
    }

    /// Starts a server.
    pub fn with(options: &Options) -> Result<Self> {
        if options.user.is_some() && options.password.is_none() {
            return Err(Error::new("a user needs a password"));
        }
        let mut url = None;
        let mut certificates = None;
        let node = Node::server(&login(options), |folder| {
            let mut lines = options.config.clone();
            lines.extend(access(options));
            match options.transport {
                Transport::Tcp => {}
                Transport::Unix => {
                    let socket = folder.join("redis.sock");
                    lines.push(format!("unixsocket {}", quoted_path(&socket)));
                    url = Some(unix_url(&socket, options));
                }
                Transport::Tls | Transport::MutualTls => {
                    let port = free_port()?;
                    let files = Certificates::generate(folder.join("certificates"))?;
                    lines.extend(tls(&files, port, options.transport));
                    url = Some(format!("rediss://{}127.0.0.1:{port}", login(options)));
                    certificates = Some(files);
                }
            }
            Ok(lines)
        })?;
        let url = url.unwrap_or_else(|| node.url());
        Ok(Self { node, url, certificates })
    }

    /// The URL for the code under test, with user and password. The server also listens at [`Node::url`].
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificates of a server with TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }
}

impl Deref for Redis {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

/// Who may use the server.
fn access(options: &Options) -> Vec<String> {
    match (&options.user, &options.password) {
        (Some(user), Some(password)) => vec![
            "user default off".to_owned(),
            format!("user {user} on {} ~* &* +@all", quoted(&format!(">{password}"))),
        ],
        (None, Some(password)) => vec![format!("requirepass {}", quoted(password))],
        (_, None) => Vec::new(),
    }
}

fn tls(certificates: &Certificates, port: u16, transport: Transport) -> Vec<String> {
    let client_certificate = if transport == Transport::MutualTls { "yes" } else { "no" };
    vec![
        format!("tls-port {port}"),
        format!("tls-cert-file {}", quoted_path(&certificates.server_cert_pem())),
        format!("tls-key-file {}", quoted_path(&certificates.server_key_pem())),
        format!("tls-ca-cert-file {}", quoted_path(&certificates.ca_pem())),
        format!("tls-auth-clients {client_certificate}"),
    ]
}

/// `user:password@`, or nothing.
fn login(options: &Options) -> String {
    let user = options.user.as_deref().unwrap_or_default();
    match &options.password {
        Some(password) => format!("{}:{}@", percent_encoded(user), percent_encoded(password)),
        None => String::new(),
    }
}

/// A URL for a Unix socket has no place for a login but the query.
fn unix_url(socket: &Path, options: &Options) -> String {
    let pairs = [("user", &options.user), ("pass", &options.password)];
    let query: Vec<String> = pairs
        .iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", percent_encoded(value.as_ref()?))))
        .collect();
    let separator = if query.is_empty() { "" } else { "?" };
    format!("unix://{}{separator}{}", socket.display(), query.join("&"))
}

/// For any part of a URL: all but letters, digits and `-._~` as `%XX`.
fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
        encoded
    })
}
