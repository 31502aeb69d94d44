//! What the connections of one limiter have in common: login, database, protocol, TLS, timeouts.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::background::Background;
use super::breaker::Breaker;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Seldom;
use crate::net::address::Address;
use crate::net::subnet::Subnet;
use crate::options::ConnectOptions;
use crate::redis::settings::login::Role;
use crate::redis::settings::tls::{self, Layer};
use crate::redis::settings::url::{Login, RedisUrl, Servers};

/// Everything that the connections of one limiter have in common.
#[derive(Clone)]
pub(in crate::redis) struct Connector {
    pub(in crate::redis) url: RedisUrl,
    pub(in crate::redis) options: ConnectOptions,
    tls: Option<tls::Config>,
    /// Where servers are asked to announce changes of keys: their refusals.
    tracking: Option<Arc<Seldom>>,
    /// Differs between limiters with other settings.
    pub(super) identity: u64,
    pub(in crate::redis) background: Arc<Background>,
}

impl Connector {
    pub(in crate::redis) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        options.validate()?;
        if !url.tls {
            options.validate_without_tls()?;
        }
        if options.credentials.is_some() && url.login != Login::default() {
            let what = "credentials: the URL has a login as well (leave one of them out)";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let mut identity = DefaultHasher::new();
        (url, options).hash(&mut identity);
        Ok(Self {
            identity: identity.finish(),
            url: url.clone(),
            options: options.clone(),
            tls: url.tls.then(|| tls::config(options)).transpose()?,
            tracking: None,
            background: Arc::default(),
        })
    }

    /// The same, of connections that are read all the time: on which servers are asked to announce changes of keys.
    pub(in crate::redis) fn tracking_keys(self) -> Self {
        Self { tracking: Some(Arc::default()), ..self }
    }

    /// Whether servers of this role are asked for that.
    pub(in crate::redis) fn tracks(&self, role: Role) -> Option<&Arc<Seldom>> {
        self.tracking.as_ref().filter(|_| role == Role::Data)
    }

    /// The same for a forked child, which has none of its parent's threads.
    pub(in crate::redis) fn inherited(&self) -> Self {
        Self { background: Arc::default(), ..self.clone() }
    }

    pub(in crate::redis) fn breaker(&self) -> Breaker {
        Breaker::new(self.options.breaker_failures, self.options.breaker_probe)
    }

    /// The longest time of a call that sets none: to connect and to answer.
    #[inline(always)]
    pub(in crate::redis) fn timeout(&self) -> Duration {
        self.options.connect_timeout + self.options.response_timeout
    }

    /// Whether a server may be connected to there. Those that the URL names may be anywhere; the others may have
    /// been named by a server that is not to be trusted with a password.
    pub(in crate::redis) fn allows(&self, address: &Address, ip: IpAddr) -> bool {
        let is_named = match &self.url.servers {
            Servers::One(named) => named == address,
            Servers::Cluster(named) | Servers::Sentinel(named, _) => named.contains(address),
        };
        let is_within =
            |networks: &Vec<Subnet>| networks.iter().any(|network| network.contains(ip.to_canonical()));
        is_named || self.url.networks.as_ref().is_none_or(is_within)
    }

    /// The TLS of a new connection to a server, if there is any.
    pub(in crate::redis) fn tls(&self, address: &Address) -> io::Result<Option<Layer>> {
        match (address, &self.tls) {
            (Address::Tcp(host, _), Some(config)) => Layer::connect(config, host).map(Some),
            (Address::Tcp(..), None) | (Address::Unix(_), _) => Ok(None),
        }
    }
}
