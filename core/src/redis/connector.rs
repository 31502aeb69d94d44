//! What the connections of one limiter have in common: login, database, protocol, TLS, timeouts.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::background::Background;
use super::breaker::Breaker;
use super::login::{Handshake, Role};
use super::options::ConnectOptions;
use super::tls::{Layer, Tls};
use super::url::{RedisUrl, Servers};
use crate::address::Address;
use crate::error::Result;
use crate::subnet::Subnet;

/// Everything that the connections of one limiter have in common.
#[derive(Clone)]
pub(super) struct Connector {
    data: Handshake,
    sentinel: Handshake,
    tls: Option<Tls>,
    pub(super) servers: Servers,
    networks: Option<Vec<Subnet>>,
    pub(super) connect_timeout: Duration,
    pub(super) response_timeout: Duration,
    pub(super) pool_size: usize,
    pub(super) breaker_failures: u32,
    pub(super) breaker_probe: Duration,
    pub(super) background: Arc<Background>,
}

impl Connector {
    pub(super) fn new(url: &RedisUrl, options: &ConnectOptions) -> Result<Self> {
        options.validate()?;
        if !url.tls {
            options.validate_without_tls()?;
        }
        Ok(Self {
            data: Handshake::of_data(url),
            sentinel: Handshake::of_sentinels(url),
            tls: if url.tls { Some(Tls::new(options)?) } else { None },
            servers: url.servers.clone(),
            networks: url.networks.clone(),
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
            pool_size: options.pool_size,
            breaker_failures: options.breaker_failures,
            breaker_probe: options.breaker_probe,
            background: Arc::default(),
        })
    }

    /// The same for a forked child, which has none of its parent's threads.
    pub(super) fn inherited(&self) -> Self {
        Self { background: Arc::default(), ..self.clone() }
    }

    /// A circuit breaker for one server.
    pub(super) fn breaker(&self) -> Breaker {
        Breaker::new(self.breaker_failures, self.breaker_probe)
    }

    /// The longest time of a call that sets none: to connect and to answer.
    #[inline(always)]
    pub(super) fn timeout(&self) -> Duration {
        self.connect_timeout + self.response_timeout
    }

    /// What connections say first.
    pub(super) fn handshake(&self, role: Role) -> &Handshake {
        match role {
            Role::Data => &self.data,
            Role::Sentinel => &self.sentinel,
        }
    }

    /// Whether keys of one script have to lie in one hash slot, as far as the URL states.
    pub(super) fn minds_slots(&self) -> bool {
        matches!(self.servers, Servers::Cluster(_))
    }

    /// Whether a server may be connected to there. Those that the URL names may be anywhere; the others may have
    /// been named by a server that is not to be trusted with a password.
    pub(super) fn allows(&self, address: &Address, ip: IpAddr) -> bool {
        let is_named = match &self.servers {
            Servers::One(named) => named == address,
            Servers::Cluster(named) | Servers::Sentinel(named, _) => named.contains(address),
        };
        is_named
            || self
                .networks
                .as_ref()
                .is_none_or(|networks| networks.iter().any(|network| network.contains(ip.to_canonical())))
    }

    /// The TLS of a new connection to a server, if there is any.
    pub(super) fn tls(&self, address: &Address) -> io::Result<Option<Layer>> {
        match (address, &self.tls) {
            (Address::Tcp(host, _), Some(tls)) => tls.connect(host).map(Some),
            (Address::Tcp(..), None) | (Address::Unix(_), _) => Ok(None),
        }
    }
}
