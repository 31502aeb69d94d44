//! A single server.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use crate::node::{quoted, quoted_path};
use crate::tls::Tls;
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

impl Transport {
    pub(crate) fn has_tls(self) -> bool {
        matches!(self, Self::Tls | Self::MutualTls)
    }
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
    tls: Tls,
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
        let mut tls = Tls::new(options.transport);
        let node = Node::server(&login(options), options.transport, |folder| {
            let mut lines = options.config.clone();
            lines.extend(access(options));
            lines.extend(tls.first(folder)?);
            if options.transport == Transport::Unix {
                lines.push(format!("unixsocket {}", quoted_path(&socket(folder))));
            }
            Ok(lines)
        })?;
        let url = match options.transport {
            Transport::Tcp => node.url(),
            Transport::Unix => unix_url(&socket(node.folder()), options),
            Transport::Tls | Transport::MutualTls => {
                format!("rediss://{}{}", login(options), node.public_address())
            }
        };
        Ok(Self { node, url, tls })
    }

    /// The URL for the code under test, with user and password. The server also listens at [`Node::url`].
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The certificates of a server with TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.tls.certificates()
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

fn socket(folder: &Path) -> PathBuf {
    folder.join("redis.sock")
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
