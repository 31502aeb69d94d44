//! A primary with replicas, watched by sentinels.

use std::time::Duration;

use crate::inspect::field;
use crate::ready::wait_until;
use crate::tls::Tls;
use crate::{Certificates, Error, Node, Result, Transport};

const SERVICE: &str = "mymaster";
const SENTINELS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(60);

/// A primary with its replicas and three sentinels, ended when dropped.
#[derive(Debug)]
pub struct Sentinel {
    servers: Vec<Node>,
    sentinels: Vec<Node>,
    tls: Tls,
}

impl Sentinel {
    /// Starts everything over TCP, with one replica.
    pub fn start() -> Result<Self> {
        Self::with(Transport::Tcp)
    }

    /// Starts everything with one replica. With TLS all servers use it among themselves too, and the sentinels name
    /// the ports with TLS to everybody.
    pub fn with(transport: Transport) -> Result<Self> {
        Self::with_replicas(transport, 1)
    }

    /// Starts all servers and waits until the sentinels know each other and the data servers.
    pub fn with_replicas(transport: Transport, replicas: usize) -> Result<Self> {
        let mut tls = Tls::among_servers(transport)?;
        let primary = Node::server("", transport, |folder| tls.first(folder))?;
        let mut servers = vec![primary];
        for _ in 0..replicas {
            servers.push(start_replica(&servers[0], &tls)?);
        }
        let sentinels = (0..SENTINELS).map(|_| start_sentinel(&servers[0], &tls));
        let sentinels = sentinels.collect::<Result<_>>()?;
        let all = Self { servers, sentinels, tls };
        wait_until("sentinels that know each other", DEADLINE, || all.when_all_know_each_other())?;
        Ok(all)
    }

    /// `redis-sentinel://host:port,host:port,host:port/service`, with `?tls=true` if they have TLS.
    pub fn url(&self) -> String {
        let sentinels: Vec<String> = self.sentinels.iter().map(Node::public_address).collect();
        format!("redis-sentinel://{}/{SERVICE}{}", sentinels.join(","), self.tls.query())
    }

    /// The certificates of servers with TLS, the same for all.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.tls.certificates()
    }

    /// The data servers, the killed ones too.
    pub fn servers(&self) -> &[Node] {
        &self.servers
    }

    /// The three sentinels.
    pub fn sentinels(&self) -> &[Node] {
        &self.sentinels
    }

    /// The primary, as the first running sentinel sees it.
    pub fn primary(&self) -> Result<&Node> {
        let witness =
            self.running_sentinels().next().ok_or_else(|| Error::new("every sentinel was killed"))?;
        self.primary_seen_by(witness)
    }

    /// Kills the primary and returns it.
    pub fn kill_primary(&self) -> Result<&Node> {
        let primary = self.primary()?;
        primary.kill();
        Ok(primary)
    }

    /// Waits until all running sentinels name another primary than `old`, which was killed or paused, and that
    /// one has taken over; returns it.
    pub fn wait_for_failover(&self, old: &Node) -> Result<&Node> {
        wait_until("a failover by the sentinels", DEADLINE, || {
            for witness in self.running_sentinels() {
                if self.primary_seen_by(witness)?.port() == old.port() {
                    return Ok(None);
                }
            }
            let new = self.primary()?;
            let is_primary = field(&new.info("replication")?, "role") == Some("master");
            Ok(is_primary.then_some(new))
        })
    }

    fn running_sentinels(&self) -> impl Iterator<Item = &Node> {
        self.sentinels.iter().filter(|node| node.is_running())
    }

    fn primary_seen_by(&self, witness: &Node) -> Result<&Node> {
        let (_, port): (String, u16) = redis::cmd("SENTINEL")
            .arg("get-master-addr-by-name")
            .arg(SERVICE)
            .query(&mut witness.client()?)?;
        self.servers
            .iter()
            .find(|node| node.public_port() == port)
            .ok_or_else(|| Error::new(format!("port {port} is not of these servers")))
    }

    fn when_all_know_each_other(&self) -> Result<Option<()>> {
        let expected = format!("slaves={},sentinels={SENTINELS}", self.servers.len() - 1);
        for sentinel in &self.sentinels {
            // master0:name=mymaster,status=ok,address=127.0.0.1:10000,slaves=1,sentinels=3
            let info = sentinel.info("sentinel")?;
            let seen = field(&info, "master0").unwrap_or_default();
            if !seen.contains("status=ok") || !seen.ends_with(&expected) {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }
}

/// Starts a replica and waits until it hears its primary: sentinels find it through the primary.
fn start_replica(primary: &Node, tls: &Tls) -> Result<Node> {
    let replica = Node::server("", tls.transport, |_| {
        let mut lines = tls.lines();
        lines.push(format!("replicaof 127.0.0.1 {}", primary.public_port()));
        Ok(lines)
    })?;
    wait_until("a linked replica", DEADLINE, || {
        let linked = field(&replica.info("replication")?, "master_link_status") == Some("up");
        Ok(linked.then_some(()))
    })?;
    Ok(replica)
}

/// Starts a sentinel that declares a server dead after a second of silence.
fn start_sentinel(primary: &Node, tls: &Tls) -> Result<Node> {
    let quorum = SENTINELS / 2 + 1;
    let mut lines = tls.lines();
    lines.extend([
        format!("sentinel monitor {SERVICE} 127.0.0.1 {} {quorum}", primary.public_port()),
        format!("sentinel down-after-milliseconds {SERVICE} 1000"),
        format!("sentinel failover-timeout {SERVICE} 5000"),
    ]);
    Node::sentinel(tls.transport, &lines)
}
