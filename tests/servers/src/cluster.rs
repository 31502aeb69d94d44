//! A Redis Cluster.

use std::path::Path;
use std::time::Duration;

use crate::inspect::{field, keys_without_ttl};
use crate::program::{REDIS_PACKAGES, not_started, redis_cli};
use crate::ready::wait_until;
use crate::tls::Tls;
use crate::{Certificates, Error, Node, Result, Transport};

const PRIMARIES: usize = 3;
const REPLICAS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(60);

/// A node is considered dead after this time; a replica takes over about a second later.
const NODE_TIMEOUT_MS: u32 = 2000;

/// Three primaries with one replica each, ended when dropped.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Node>,
    tls: Tls,
}

impl Cluster {
    /// Starts a cluster over TCP.
    pub fn start() -> Result<Self> {
        Self::with(Transport::Tcp)
    }

    /// Starts six servers, makes them a cluster and waits until each of them is ready for every slot. With TLS
    /// the nodes use it among themselves too, and name the ports with TLS to whoever uses it.
    pub fn with(transport: Transport) -> Result<Self> {
        let mut tls = Tls::among_servers(transport)?;
        let first = start_node(transport, |folder| tls.first(folder))?;
        let others = (1..PRIMARIES + REPLICAS).map(|_| start_node(transport, |_| Ok(tls.lines())));
        let nodes = std::iter::once(Ok(first)).chain(others).collect::<Result<_>>()?;
        let cluster = Self { nodes, tls };
        cluster.join()?;
        wait_until("a complete cluster", DEADLINE, || cluster.when_all(is_complete))?;
        Ok(cluster)
    }

    /// `redis-cluster://host:port,host:port,host:port`: the nodes that were primaries at the start. With
    /// `?tls=true` if they have TLS.
    pub fn url(&self) -> String {
        let seeds: Vec<String> = self.nodes[..PRIMARIES].iter().map(Node::public_address).collect();
        format!("redis-cluster://{}{}", seeds.join(","), self.tls.query())
    }

    /// The certificates of a cluster with TLS, the same for all nodes.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.tls.certificates()
    }

    /// All six nodes, the killed ones too.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The primary that serves a key's slot. Where running nodes disagree, as after a failover, the latest
    /// configuration counts.
    pub fn primary_of(&self, key: &str) -> Result<&Node> {
        let mut latest: Option<Member> = None;
        for witness in self.running() {
            let seen = primary_seen_by(witness, key)?;
            latest = latest.into_iter().chain(seen).max_by_key(|member| member.epoch);
        }
        let latest = latest.ok_or_else(|| Error::new(format!("no node serves the slot of key {key:?}")))?;
        self.nodes
            .iter()
            .find(|node| node.port() == latest.port)
            .ok_or_else(|| Error::new(format!("port {} is not of this cluster", latest.port)))
    }

    /// Kills the primary that serves a key's slot and returns it.
    pub fn kill_primary_of(&self, key: &str) -> Result<&Node> {
        let primary = self.primary_of(key)?;
        primary.kill();
        Ok(primary)
    }

    /// Waits until every running node knows that somebody else than `old`, which was killed or paused, serves
    /// the key's slot, and is ready for every slot; returns the new primary.
    pub fn wait_for_failover(&self, key: &str, old: &Node) -> Result<&Node> {
        wait_until("a failover in the cluster", DEADLINE, || {
            for witness in self.running() {
                let seen = primary_seen_by(witness, key)?;
                if seen.is_none_or(|primary| primary.port == old.port()) || !is_ok(witness)? {
                    return Ok(None);
                }
            }
            self.primary_of(key).map(Some)
        })
    }

    /// The keys on any running node that would stay for ever.
    pub fn keys_without_ttl(&self) -> Result<Vec<String>> {
        let mut forever = Vec::new();
        for node in self.running() {
            let mut client = node.client()?;
            // Without this a replica would send us to its primary for the TTL.
            redis::cmd("READONLY").exec(&mut client)?;
            forever.extend(keys_without_ttl(&mut client)?);
        }
        forever.sort();
        forever.dedup();
        Ok(forever)
    }

    fn running(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.is_running())
    }

    fn join(&self) -> Result<()> {
        let mut command = redis_cli();
        if let Some(files) = self.certificates() {
            command.arg("--tls").arg("--cacert").arg(files.ca_pem());
            command.arg("--cert").arg(files.cert_pem()).arg("--key").arg(files.key_pem());
        }
        command.args(["--cluster-replicas", "1", "--cluster-yes", "--cluster", "create"]);
        command.args(self.nodes.iter().map(Node::public_address));
        let output = command.output().map_err(|error| not_started(&command, &error, REDIS_PACKAGES))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        Err(Error::new(format!("redis-cli could not make a cluster:\n{text}")))
    }

    fn when_all(&self, condition: fn(&Node) -> Result<bool>) -> Result<Option<()>> {
        for node in &self.nodes {
            if !condition(node)? {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }
}

fn start_node(transport: Transport, mut tls: impl FnMut(&Path) -> Result<Vec<String>>) -> Result<Node> {
    Node::server("", transport, |folder| {
        let mut lines = tls(folder)?;
        lines.extend([
            "cluster-enabled yes".to_owned(),
            format!("cluster-node-timeout {NODE_TIMEOUT_MS}"),
            // A replica takes over however long it has not heard of its primary.
            "cluster-replica-validity-factor 0".to_owned(),
            // No primary ever has so many replicas that one would move to another primary.
            format!("cluster-migration-barrier {}", PRIMARIES + REPLICAS),
        ]);
        Ok(lines)
    })
}

/// Serves every slot, knows all members in their parts and, as a replica, hears its primary.
fn is_complete(node: &Node) -> Result<bool> {
    let members = members(node)?;
    let replicas = members.iter().filter(|member| member.has_flag("slave")).count();
    let replication = node.info("replication")?;
    let linked = field(&replication, "master_link_status").is_none_or(|status| status == "up");
    Ok(members.len() == PRIMARIES + REPLICAS && replicas == REPLICAS && linked && is_ok(node)?)
}

fn primary_seen_by(witness: &Node, key: &str) -> Result<Option<Member>> {
    let slot: u16 = redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut witness.client()?)?;
    Ok(members(witness)?.into_iter().find(|member| member.serves(slot)))
}

fn is_ok(node: &Node) -> Result<bool> {
    let info: String = redis::cmd("CLUSTER").arg("INFO").query(&mut node.client()?)?;
    Ok(field(&info, "cluster_state") == Some("ok"))
}

/// One line of CLUSTER NODES.
struct Member {
    port: u16,
    flags: Vec<String>,
    epoch: u64,
    slots: Vec<(u16, u16)>,
}

impl Member {
    fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    fn serves(&self, slot: u16) -> bool {
        self.has_flag("master")
            && !self.has_flag("fail")
            && self.slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}

fn members(witness: &Node) -> Result<Vec<Member>> {
    let text: String = redis::cmd("CLUSTER").arg("NODES").query(&mut witness.client()?)?;
    Ok(text.lines().filter_map(member).collect())
}

/// `id host:port@bus flags primary ping pong epoch link slot-slot ...`
fn member(line: &str) -> Option<Member> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = fields.get(1)?.split_once('@')?.0.rsplit_once(':')?.1.parse().ok()?;
    let flags = fields.get(2)?.split(',').map(str::to_owned).collect();
    let epoch = fields.get(6)?.parse().ok()?;
    let slots = fields.get(8..)?.iter().filter_map(|range| slot_range(range)).collect();
    Some(Member { port, flags, epoch, slots })
}

/// `100-200` or `100`; slots on the move, in brackets, are none.
fn slot_range(text: &str) -> Option<(u16, u16)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}
