//! Three regions, each with a server of its own, at a distance from each other.

use std::time::Duration;

use crate::{Redis, Relay, Result};

/// Each region sees its own server at once, and those of the others over relays.
pub struct Regions {
    servers: Vec<Redis>,
    relays: Vec<Relay>,
}

impl Regions {
    /// Their names, in the order of their places.
    pub const NAMES: [&str; 3] = ["ap", "eu", "us"];

    /// From the others to each region and back takes its `trip`.
    ///
    /// # Errors
    /// When a server does not start.
    pub fn start(trips: [Duration; 3]) -> Result<Self> {
        let servers: Vec<_> = Self::NAMES.iter().map(|_| Redis::start()).collect::<Result<_>>()?;
        let relay = |(server, trip): (&Redis, Duration)| Relay::start(server.port(), trip);
        let relays = servers.iter().zip(trips).map(relay).collect::<Result<_>>()?;
        Ok(Self { servers, relays })
    }

    /// The name and URL of each region, as that at this place sees them.
    pub fn urls(&self, place: usize) -> Vec<(&'static str, String)> {
        let port = |at: usize| if at == place { self.servers[at].port() } else { self.relays[at].port() };
        let url = |(at, name)| (name, format!("redis://127.0.0.1:{}", port(at)));
        Self::NAMES.into_iter().enumerate().map(url).collect()
    }

    /// The server of a region.
    pub fn server(&self, place: usize) -> &Redis {
        &self.servers[place]
    }

    /// The way from other regions to this one.
    pub fn relay(&self, place: usize) -> &Relay {
        &self.relays[place]
    }
}
