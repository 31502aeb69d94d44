//! One server of an ensemble.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::secured::Secured;

use crate::port::free_port;
use crate::process::{Process, last_output};
use crate::program::{ZOOKEEPER_PACKAGES, zookeeper};
use crate::ready::wait_until;
use crate::slot::Slot;
use crate::{Error, Result};

const START_DEADLINE: Duration = Duration::from_secs(30);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts quickly and stays small, at the price of speed under load.
const JAVA_OPTIONS: [&str; 4] =
    ["-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"];

/// Settings that zoo.cfg has no lines for. On a busy machine a follower may give its leader up before that one
/// listens, after five attempts with the delay between them. The leader would then time out waiting for all of
/// initLimit, were it not for its own limit.
const SYSTEM_PROPERTIES: [&str; 5] = [
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dzookeeper.cnxTimeout=500",
    // How long a server waits before it asks the others for a leader again; the default is up to a minute.
    "-Dzookeeper.fastleader.maxNotificationInterval=500",
    "-Dzookeeper.leaderConnectDelayDuringRetryMs=200",
    "-Dzookeeper.leader.maxTimeToWaitForEpoch=2000",
];

/// A tick of a quarter of a second, and what follows from it: a follower that is silent for two seconds is
/// given up, a session lives at least half a second. The other lines save time and disk.
const SETTINGS: &str = "\
tickTime=250
initLimit=40
syncLimit=8
minSessionTimeout=500
maxSessionTimeout=60000
maxClientCnxns=0
clientPortAddress=127.0.0.1
standaloneEnabled=false
admin.enableServer=false
4lw.commands.whitelist=*
forceSync=no
preAllocSize=256
";

/// A server with its folder and its ports. It keeps its data when it is killed and restarted.
#[derive(Debug)]
pub(super) struct Server {
    // Before the folder, because fields are dropped in this order and the process uses the folder.
    pub(super) process: Slot,
    folder: TempDir,
    port: u16,
    secure_port: u16,
    peer_ports: [u16; 2],
}

impl Server {
    /// A server yet to be configured and launched.
    pub(super) fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("sluicegate-zookeeper-").tempdir()?;
        let peer_ports = [free_port()?, free_port()?];
        Ok(Self {
            process: Slot::default(),
            folder,
            port: free_port()?,
            secure_port: free_port()?,
            peer_ports,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Where it listens with TLS, if it has any.
    pub(super) fn secure_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.secure_port).into()
    }

    /// A place for files that go when the server does.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How the servers find one another: the line of zoo.cfg for this one.
    pub(super) fn member_line(&self, id: usize) -> String {
        let [quorum, election] = self.peer_ports;
        format!("server.{id}=127.0.0.1:{quorum}:{election}")
    }

    pub(super) fn configure(&self, id: usize, members: &str, secured: Option<&Secured>) -> Result<()> {
        let folder = self.folder.path();
        let own = format!("clientPort={}\ndataDir={}\n", self.port, folder.display());
        let tls = secured.map(|secured| secured.lines(self.secure_port)).unwrap_or_default();
        fs::write(folder.join("zoo.cfg"), format!("{SETTINGS}{own}{tls}{members}\n"))?;
        Ok(fs::write(folder.join("myid"), id.to_string())?)
    }

    /// Starts the process and waits until it listens, which does not yet mean that it serves.
    pub(super) fn launch(&self) -> Result<()> {
        let mut command = zookeeper()?;
        command.args(JAVA_OPTIONS).args(SYSTEM_PROPERTIES);
        command.args(["org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"]);
        let mut process = Process::spawn(command, self.folder.path(), ZOOKEEPER_PACKAGES)?;
        wait_until(&format!("ZooKeeper to listen on port {}", self.port), START_DEADLINE, || {
            if process.has_exited()? {
                return Err(self.failure("ended at once"));
            }
            Ok(self.ask("ruok").ok().filter(|answer| answer == "imok"))
        })?;
        self.process.fill(process);
        Ok(())
    }

    /// An error that quotes what the server wrote last.
    pub(super) fn failure(&self, what: &str) -> Error {
        let output = last_output(self.folder.path());
        Error::new(format!("the ZooKeeper server on port {} {what}:\n{output}", self.port))
    }

    /// `leader` or `follower`, or nothing while the server does not serve.
    pub(super) fn mode(&self) -> Option<String> {
        let answer = self.ask("srvr").ok()?;
        Some(answer.lines().find_map(|line| line.strip_prefix("Mode: "))?.to_owned())
    }

    /// Whether the server that answers on our port is ours. If ours found its port taken, it is not.
    pub(super) fn is_ours(&self) -> Result<bool> {
        let data_folder = format!("dataDir={}", self.folder.path().display());
        Ok(self.ask("conf")?.lines().any(|line| line.starts_with(&data_folder)))
    }

    /// The answer to a command of four letters.
    pub(super) fn ask(&self, command: &str) -> Result<String> {
        let mut stream = TcpStream::connect_timeout(&self.address(), ANSWER_TIMEOUT)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.write_all(command.as_bytes())?;
        stream.shutdown(Shutdown::Write)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}
