//! The backend as a URL. No message and no `Debug` output contains a password or a whole URL.

use std::fmt;
use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result};
use crate::net::address::Address;
use crate::net::subnet::Subnet;
use crate::text::percent::decode;

const FORMS: &str = "memory://, redis://host:port/db, rediss://host:port/db, unix:///path/to/socket, \
                     redis-cluster://host1:port1,host2:port2, redis-sentinel://host1:port1,host2:port2/service/db";
const SENTINEL_PORT: u16 = 26379;

/// Where the state of the limits lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Backend {
    Memory,
    Redis(RedisUrl),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RedisUrl {
    pub(in crate::redis) servers: Servers,
    pub(in crate::redis) login: Login,
    /// Login at the Sentinels, which have users of their own.
    pub(super) sentinel_login: Login,
    pub(in crate::redis) database: u32,
    pub(crate) tls: bool,
    pub(in crate::redis) resp3: bool,
    /// The networks in which servers may be that a Cluster or a Sentinel names; without any: everywhere.
    pub(in crate::redis) networks: Option<Vec<Subnet>>,
}

impl RedisUrl {
    /// Whether keys of different hash slots need calls of their own.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.servers, Servers::Cluster(_))
    }

    /// Whether it names a server that another URL names, too.
    pub(crate) fn has_server_of(&self, other: &Self) -> bool {
        match (&self.servers, &other.servers) {
            // The same Sentinels may know several primaries.
            (Servers::Sentinel(_, service), Servers::Sentinel(_, other)) if service != other => false,
            (servers, others) => {
                servers.addresses().iter().any(|address| others.addresses().contains(address))
            }
        }
    }

    fn set(&mut self, parameter: &str, value: String) -> Result<()> {
        match (parameter, value.as_str()) {
            ("protocol", "resp2" | "2") => self.resp3 = false,
            ("protocol", "resp3" | "3") => self.resp3 = true,
            ("protocol", _) => return Err(invalid("protocol must be resp2 or resp3")),
            ("tls", "true") => self.tls = true,
            ("tls", "false") => self.tls = false,
            ("tls", _) => return Err(invalid("tls must be true or false")),
            ("redirects", list) => self.networks = Some(networks(list)?),
            ("db", text) => self.database = number(text)?,
            ("user", _) => self.login.user = Some(value),
            ("pass", _) => self.login.password = Some(value),
            ("sentinel_user", _) => self.sentinel_login.user = Some(value),
            _ => self.sentinel_login.password = Some(value),
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::redis) enum Servers {
    One(Address),
    /// Any nodes of the Cluster; the others are learned from them.
    Cluster(Vec<Address>),
    /// The Sentinels, and the name of the service whose primary they know.
    Sentinel(Vec<Address>, String),
}

impl Servers {
    fn addresses(&self) -> &[Address] {
        match self {
            Self::One(address) => std::slice::from_ref(address),
            Self::Cluster(addresses) | Self::Sentinel(addresses, _) => addresses,
        }
    }
}

#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(in crate::redis) struct Login {
    pub(in crate::redis) user: Option<String>,
    pub(in crate::redis) password: Option<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = |part: &Option<String>| part.as_ref().map(|_| "***");
        f.debug_struct("Login")
            .field("user", &hidden(&self.user))
            .field("password", &hidden(&self.password))
            .finish()
    }
}

impl Backend {
    /// Parses a URL; opens nothing.
    ///
    /// `user:password@` may stand before the hosts (percent-encoded), `?protocol=resp3` behind every form.
    /// - `redis://host:port/database`, with TLS `rediss://`
    /// - `unix:///path` or `redis+unix:///path`, with `?db=`, `?user=`, `?pass=`
    /// - `redis-cluster://host1:port1,host2:port2`, with TLS `?tls=true`
    /// - `redis-sentinel://host1:port1,host2:port2/service/database`, with TLS `?tls=true`. User and password
    ///   are those of the data servers; `?sentinel_user=` and `?sentinel_password=` are those of the Sentinels
    /// - Cluster and Sentinel: `?redirects=10.0.0.0/8,fd00::/8` are the networks in which servers may be that
    ///   others name; none is connected to elsewhere, except for those that the URL names itself
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let Some((scheme, rest)) = url.trim().split_once("://") else {
            return Err(invalid(format!("the scheme is missing; known are {FORMS}")));
        };
        let parts = UrlParts::split(rest)?;
        let url = match scheme.to_ascii_lowercase().as_str() {
            "memory" => return memory(&parts),
            "redis" => parts.one(false)?,
            "rediss" => parts.one(true)?,
            "unix" | "redis+unix" => parts.unix()?,
            "redis-cluster" => parts.cluster()?,
            "redis-sentinel" => parts.sentinel()?,
            // An unknown scheme is not repeated: text without a scheme may begin with a password.
            _ => return Err(invalid(format!("the scheme is not known; known are {FORMS}"))),
        };
        Ok(Self::Redis(url))
    }
}

fn memory(parts: &UrlParts<'_>) -> Result<Backend> {
    match parts {
        UrlParts { login: None, hosts: "", path: "" | "/", query: "" } => Ok(Backend::Memory),
        _ => Err(invalid("memory:// takes no host, path or parameter")),
    }
}

/// The raw parts after `scheme://`.
struct UrlParts<'a> {
    login: Option<&'a str>,
    hosts: &'a str,
    path: &'a str,
    query: &'a str,
}

impl<'a> UrlParts<'a> {
    fn split(rest: &'a str) -> Result<Self> {
        if rest.contains('#') {
            return Err(invalid("`#` is not allowed; in a password write %23"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // An `@` further back means that a `/` or `?` of the password was taken for the end of the host.
        if path.contains('@') && !authority.is_empty() || query.contains('@') {
            return Err(invalid("user and password: write `/` as %2F, `?` as %3F and `@` as %40"));
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Some(login), hosts),
            None => (None, authority),
        };
        Ok(Self { login, hosts, path, query })
    }

    fn one(&self, tls: bool) -> Result<RedisUrl> {
        if self.hosts.contains(',') {
            return Err(invalid("one host only; for several use redis-cluster:// or redis-sentinel://"));
        }
        let hosts = if self.hosts.is_empty() { "127.0.0.1" } else { self.hosts };
        let server = Address::parse(hosts).map_err(invalid)?;
        let url = self.url(Servers::One(server), self.path.trim_matches('/'), &["protocol"])?;
        Ok(RedisUrl { tls, ..url })
    }

    fn unix(&self) -> Result<RedisUrl> {
        if !self.hosts.is_empty() {
            return Err(invalid("the socket's path must be absolute: unix:///path/to/socket"));
        }
        let path = decode_part(self.path, "path")?;
        if path.len() < 2 {
            return Err(invalid("the socket's path is missing: unix:///path/to/socket"));
        }
        let server = Address::Unix(PathBuf::from(path));
        self.url(Servers::One(server), "", &["protocol", "db", "user", "pass"])
    }

    fn cluster(&self) -> Result<RedisUrl> {
        if !matches!(self.path, "" | "/" | "/0") {
            return Err(invalid("a Cluster has no database but 0"));
        }
        let seeds = self.addresses(Address::parse)?;
        self.url(Servers::Cluster(seeds), "", &["protocol", "tls", "redirects"])
    }

    fn sentinel(&self) -> Result<RedisUrl> {
        let sentinels = self.addresses(|host| Address::parse_with_port(host, SENTINEL_PORT))?;
        let path = self.path.trim_matches('/');
        let (service, database) = path.split_once('/').unwrap_or((path, ""));
        if service.is_empty() {
            return Err(invalid("the service is missing: redis-sentinel://host1:port1,host2:port2/service"));
        }
        let known = ["protocol", "tls", "redirects", "sentinel_user", "sentinel_password"];
        self.url(Servers::Sentinel(sentinels, decode_part(service, "service")?), database, &known)
    }

    fn addresses(&self, parse: impl Fn(&str) -> Result<Address, String>) -> Result<Vec<Address>> {
        self.hosts.split(',').map(|host| parse(host.trim()).map_err(invalid)).collect()
    }

    /// The URL of these servers; `known` are the parameters that its form takes.
    fn url(&self, servers: Servers, database: &str, known: &[&str]) -> Result<RedisUrl> {
        let mut url = RedisUrl {
            servers,
            login: Login::default(),
            sentinel_login: Login::default(),
            database: number(database)?,
            tls: false,
            resp3: false,
            networks: None,
        };
        self.apply_parameters(&mut url, known)?;
        if let Some(text) = self.login {
            if url.login != Login::default() {
                return Err(invalid("user and password stand either before `@` or in the parameters"));
            }
            url.login = login(text)?;
        }
        let lacks_password = |login: &Login| login.user.is_some() && login.password.is_none();
        if lacks_password(&url.login) || lacks_password(&url.sentinel_login) {
            return Err(invalid("a user without a password; for a password alone write :password@"));
        }
        Ok(url)
    }

    fn apply_parameters(&self, url: &mut RedisUrl, known: &[&str]) -> Result<()> {
        let mut given = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !known.contains(&name) {
                return Err(invalid(format!(
                    "a parameter is not known here; known are {}",
                    known.join(", ")
                )));
            }
            if given.contains(&name) {
                return Err(invalid(format!("the parameter {name} is given twice")));
            }
            given.push(name);
            url.set(name, decode_part(value, name)?)?;
        }
        Ok(())
    }
}

/// `user:password` or `:password`. A password alone would be read as a user's name, hence an error.
fn login(text: &str) -> Result<Login> {
    let (user, password) = text.split_once(':').unwrap_or((text, ""));
    let part = |text: &str, what| (!text.is_empty()).then(|| decode_part(text, what)).transpose();
    Ok(Login { user: part(user, "user")?, password: part(password, "password")? })
}

fn number(text: &str) -> Result<u32> {
    let number = if text.is_empty() { Ok(0) } else { text.parse() };
    number.map_err(|_| invalid("the database must be a whole number, 0 or greater"))
}

fn networks(value: &str) -> Result<Vec<Subnet>> {
    let networks: Option<_> = value.split(',').map(Subnet::parse).collect();
    networks.ok_or_else(|| invalid("redirects must be networks with commas between: 10.0.0.0/8,fd00::/8"))
}

/// The error names the part only, as it may be the password.
fn decode_part(text: &str, part: &str) -> Result<String> {
    decode(text).map_err(|reason| invalid(format!("{part}: {reason}")))
}

fn invalid(reason: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the backend's URL: {reason}"))
}
