//! Where one server listens.

use std::fmt;
use std::path::PathBuf;

/// The port when a URL names none.
const DEFAULT_PORT: u16 = 6379;

/// The address of one server. Holds no secret: it is what messages show.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Address {
    /// A host name or an IP address (IPv6 without brackets), and a port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl Address {
    /// Parses `host`, `host:port` or `[ipv6]:port`; the error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with_port(text, DEFAULT_PORT)
    }

    pub(crate) fn parse_with_port(text: &str, default_port: u16) -> Result<Self, String> {
        let (host, port) = split_port(text)?;
        if host.is_empty() {
            return Err("the host is missing".to_owned());
        }
        if let Some(bad) = host.chars().find(|c| c.is_whitespace() || c.is_control() || "/?#@[]".contains(*c))
        {
            return Err(format!("the host must not contain {bad:?}"));
        }
        let port = match port {
            None => default_port,
            Some(port) => match port.parse() {
                Ok(0) | Err(_) => return Err("the port must be a number from 1 to 65535".to_owned()),
                Ok(port) => port,
            },
        };
        Ok(Self::Tcp(host.to_owned(), port))
    }

    /// The address in a redirection (`10.0.0.1:6379`, `fe80::1:6379`, `:6379`), where the last colon always
    /// precedes the port.
    pub(crate) fn parse_redirect(text: &str, answered: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Self::announced(host, port.parse().ok()?, answered)
    }

    /// The address that a server announced for a node of its Cluster. An empty host means the host that answered; `?` that
    /// the server does not know it.
    pub(crate) fn announced(host: &str, port: u16, answered: &Self) -> Option<Self> {
        match (host.trim_start_matches('[').trim_end_matches(']'), answered) {
            ("", Self::Tcp(own, _)) => Some(Self::Tcp(own.clone(), port)),
            ("?", _) => None,
            (host, _) => Some(Self::Tcp(host.to_owned(), port)),
        }
    }
}

/// Splits at the port, if there is one. A bare IPv6 address has several colons and no port.
fn split_port(text: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("the `]` of the IPv6 address is missing")?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err("an IPv6 address must be followed by `:port`".to_owned()),
        };
    }
    match text.split_once(':') {
        None => Ok((text, None)),
        Some((_, rest)) if rest.contains(':') => {
            Err("an IPv6 address must stand in brackets: `[::1]:6379`".to_owned())
        }
        Some((host, port)) => Ok((host, Some(port))),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}
