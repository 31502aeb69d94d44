//! A primary with replicas at a distance, and failovers at the word of a test.

use std::time::Duration;

use crate::inspect::field;
use crate::ready::wait_until;
use crate::{Error, Node, Relay, Result, Transport};

const DEADLINE: Duration = Duration::from_secs(60);

/// Which replica takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promoted {
    /// The one that has the most of what the primary wrote: Sentinels and a Cluster choose it.
    Foremost,
    /// The one that has the least.
    Hindmost,
}

/// A primary, and replicas that hear of its writes late. Nobody watches them. Ended when dropped.
pub struct Replicated {
    servers: Vec<Node>,
    primary: usize,
    /// The ways between the primary and each replica.
    relays: Vec<Relay>,
    trips: Vec<Duration>,
}

impl Replicated {
    /// Starts a primary, and a replica for each time that bytes take there and back.
    ///
    /// # Errors
    /// When a server does not start.
    pub fn start(trips: &[Duration]) -> Result<Self> {
        let lines = || ["repl-diskless-sync yes", "repl-diskless-sync-delay 0"].map(str::to_owned).to_vec();
        let server = |_| Node::server("", Transport::Tcp, |_| Ok(lines()));
        let servers = (0..=trips.len()).map(server).collect::<Result<_>>()?;
        let mut all = Self { servers, primary: 0, relays: Vec::new(), trips: trips.to_vec() };
        all.follow_primary()?;
        Ok(all)
    }

    /// The server in charge.
    pub fn primary(&self) -> &Node {
        &self.servers[self.primary]
    }

    /// The others.
    pub fn replicas(&self) -> impl Iterator<Item = &Node> {
        self.servers.iter().enumerate().filter(|(at, _)| *at != self.primary).map(|(_, server)| server)
    }

    /// Kills the primary; what is on its way to replicas is lost with it. One of these takes over, and the others and the
    /// old primary, which comes back empty, follow it.
    ///
    /// # Errors
    /// When a server does not answer, or not in time.
    pub fn fail_over(&mut self, promoted: Promoted) -> Result<()> {
        self.relays.iter().for_each(Relay::cut);
        self.primary().kill();
        let mut offsets = Vec::new();
        for (at, server) in self.servers.iter().enumerate().filter(|(at, _)| *at != self.primary) {
            offsets.push((offset(server)?, at));
        }
        let chosen = match promoted {
            Promoted::Foremost => offsets.iter().max(),
            Promoted::Hindmost => offsets.iter().min(),
        };
        let (_, chosen) = *chosen.ok_or_else(|| Error::new("no replica takes over"))?;
        order(&self.servers[chosen], ["NO", "ONE"])?;
        self.primary().restart()?;
        self.primary = chosen;
        self.follow_primary()
    }

    fn follow_primary(&mut self) -> Result<()> {
        let port = self.primary().port();
        self.relays = self.trips.iter().map(|trip| Relay::start(port, *trip)).collect::<Result<_>>()?;
        for (replica, relay) in self.replicas().zip(&self.relays) {
            order(replica, ["127.0.0.1", &relay.port().to_string()])?;
        }
        for replica in self.replicas() {
            wait_until("a linked replica", DEADLINE, || {
                let info = replica.info("replication").unwrap_or_default();
                Ok((field(&info, "master_link_status") == Some("up")).then_some(()))
            })?;
        }
        let count = self.relays.len().to_string();
        wait_until("a primary that knows its replicas", DEADLINE, || {
            let info = self.primary().info("replication").unwrap_or_default();
            let online = info.matches("state=online").count();
            Ok((field(&info, "connected_slaves") == Some(&count) && online == self.relays.len())
                .then_some(()))
        })
    }
}

/// Says whom a server has to follow, until it takes the order: one that loads what it last received is late with it.
fn order(server: &Node, whom: [&str; 2]) -> Result<()> {
    let follow = || redis::cmd("REPLICAOF").arg(&whom).exec(&mut server.client()?).map_err(Error::from);
    wait_until("a server that follows another one, or none", DEADLINE, || Ok(follow().ok()))
}

/// How much of what the primary wrote the replica has.
fn offset(replica: &Node) -> Result<u64> {
    let info = replica.info("replication")?;
    let offset = field(&info, "slave_repl_offset").and_then(|offset| offset.parse().ok());
    offset.ok_or_else(|| Error::new("a replica does not know how much it has"))
}
