//! One `redis-server` process, whatever its part.

use std::fs;
use std::path::Path;
use std::time::Duration;

use redis::Connection;
use tempfile::TempDir;

use crate::inspect::field;
use crate::port::free_port;
use crate::process::{Process, last_output};
use crate::program::{REDIS_PACKAGES, guards_debug_command, redis_server};
use crate::ready::wait_until;
use crate::slot::Slot;
use crate::{Error, Result, Transport};

const START_DEADLINE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// An assertion against a server that hangs fails instead of hanging too. A Sentinel that writes its state to a busy disk takes seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// How many ports are tried before a server that exits at once is believed to have another reason.
const PORTS_TRIED: usize = 5;

/// A server process with its port and its folder. It can be killed, restarted, paused and resumed through a
/// shared reference, from any thread.
#[derive(Debug)]
pub struct Node {
    // Before the folder, because fields are dropped in this order and the process uses the folder.
    process: Slot,
    folder: TempDir,
    port: u16,
    tls_port: Option<u16>,
    login: String,
    sentinel: bool,
}

impl Node {
    /// Starts a data server with the lines that `config` makes, given the server's folder. `login` is what its
    /// URL needs before the host: nothing, or `user:password@`.
    pub(crate) fn server(
        login: &str,
        transport: Transport,
        config: impl FnMut(&Path) -> Result<Vec<String>>,
    ) -> Result<Self> {
        Self::start(login, transport, false, config)
    }

    /// Starts a sentinel with these lines.
    pub(crate) fn sentinel(transport: Transport, config: &[String]) -> Result<Self> {
        Self::start("", transport, true, |_| Ok(config.to_vec()))
    }

    fn start(
        login: &str,
        transport: Transport,
        sentinel: bool,
        mut config: impl FnMut(&Path) -> Result<Vec<String>>,
    ) -> Result<Self> {
        let mut attempt = || {
            let folder = tempfile::Builder::new().prefix("sluicegate-redis-").tempdir()?;
            let (process, port, login) = (Slot::default(), free_port()?, login.to_owned());
            let tls_port = if transport.has_tls() { Some(free_port()?) } else { None };
            let node = Self { process, folder, port, tls_port, login, sentinel };
            let mut lines = node.base_config()?;
            lines.extend(config(node.folder.path())?);
            fs::write(node.folder.path().join("redis.conf"), lines.join("\n") + "\n")?;
            node.launch().map(|()| node)
        };
        let mut started = attempt();
        for _ in 1..PORTS_TRIED {
            if started.is_ok() {
                break;
            }
            started = attempt();
        }
        started
    }

    /// The TCP port, always without TLS.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The port for the code under test and for other servers: with TLS, if the server has it.
    pub fn public_port(&self) -> u16 {
        self.tls_port.unwrap_or(self.port)
    }

    /// `127.0.0.1:port`, where the port is the public one.
    pub(crate) fn public_address(&self) -> String {
        format!("127.0.0.1:{}", self.public_port())
    }

    /// `127.0.0.1:port`, always without TLS.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// `redis://127.0.0.1:port`, with user and password if the server asks for them.
    pub fn url(&self) -> String {
        format!("redis://{}{}", self.login, self.address())
    }

    /// The server's own folder, removed with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process, unless it was killed.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Whether the server is neither killed nor paused.
    pub fn is_running(&self) -> bool {
        self.process.is_running()
    }

    /// A new connection for assertions, over TCP without TLS, that gives up on an answer after 20 seconds.
    pub fn client(&self) -> Result<Connection> {
        let connection = redis::Client::open(self.url())?.get_connection_with_timeout(CONNECT_TIMEOUT)?;
        connection.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        connection.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        Ok(connection)
    }

    /// Freezes the process: connections stay open, new ones are accepted by the system, nobody answers.
    pub fn pause(&self) -> Result<()> {
        self.process.set_paused(true)
    }

    /// Ends a pause.
    pub fn resume(&self) -> Result<()> {
        self.process.set_paused(false)
    }

    /// Ends the process at once, as a crash would. A killed server stays dead until [`Node::restart`].
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Kills the process if it runs and starts it again, empty, on the same port. A Cluster node or a sentinel
    /// remembers its part.
    pub fn restart(&self) -> Result<()> {
        self.kill();
        self.launch()
    }

    /// What INFO answers for one section.
    pub(crate) fn info(&self, section: &str) -> Result<String> {
        Ok(redis::cmd("INFO").arg(section).query(&mut self.client()?)?)
    }

    fn base_config(&self) -> Result<Vec<String>> {
        let mut lines = vec![
            format!("port {}", self.port),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", quoted_path(self.folder.path())),
        ];
        lines.extend(self.tls_port.map(|port| format!("tls-port {port}")));
        if !self.sentinel {
            lines.extend(["save \"\"", "appendonly no", "repl-diskless-sync-delay 0"].map(str::to_owned));
            if guards_debug_command()? {
                lines.push("enable-debug-command local".to_owned());
            }
        }
        Ok(lines)
    }

    fn launch(&self) -> Result<()> {
        let mut command = redis_server();
        command.arg(self.folder.path().join("redis.conf"));
        if self.sentinel {
            command.arg("--sentinel");
        }
        let mut process = Process::spawn(command, self.folder.path(), REDIS_PACKAGES)?;
        let what = format!("redis-server to answer on port {}", self.port);
        wait_until(&what, START_DEADLINE, || self.is_ready(&mut process))?;
        self.process.fill(process);
        Ok(())
    }

    /// A server answers, and it is ours: if ours found its port taken, the one that has it may well answer.
    fn is_ready(&self, process: &mut Process) -> Result<Option<()>> {
        if process.has_exited()? {
            let output = last_output(self.folder.path());
            return Err(Error::new(format!("redis-server ended at once:\n{output}")));
        }
        let Ok(info) = self.info("server") else { return Ok(None) };
        let ours = field(&info, "process_id") == Some(process.pid().to_string().as_str());
        Ok(ours.then_some(()))
    }
}

/// A value for a line of redis.conf, whatever characters it has.
pub(crate) fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A path for a line of redis.conf.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
