//! A ZooKeeper ensemble.

mod admin;
mod secured;
mod server;
mod session;
mod wire;

use std::thread;
use std::time::Duration;

pub use admin::Admin;
use secured::Secured;
use server::Server;
use session::Session;

use crate::ready::wait_until;
use crate::{Certificates, Error, Result, Transport};

const SERVERS: usize = 3;
const DEADLINE: Duration = Duration::from_secs(30);
/// How often new ports are tried before the servers are believed to fail for another reason.
const STARTS: usize = 3;

/// Three servers, ended when dropped; they are numbered from 0. Clients may ask for session timeouts from half
/// a second on.
#[derive(Debug)]
pub struct ZooKeeper {
    servers: Vec<Server>,
    secured: Option<Secured>,
}

impl ZooKeeper {
    /// Starts three servers and waits until they have a leader and each of them serves.
    pub fn start() -> Result<Self> {
        Self::with(Transport::Tcp)
    }

    /// The same, with ports for TLS beside those without where the transport has it.
    pub fn with(transport: Transport) -> Result<Self> {
        let mut started = Self::attempt(transport);
        for _ in 1..STARTS {
            if started.is_ok() {
                break;
            }
            started = Self::attempt(transport);
        }
        started
    }

    fn attempt(transport: Transport) -> Result<Self> {
        let servers: Vec<Server> = (0..SERVERS).map(|_| Server::new()).collect::<Result<_>>()?;
        let members: Vec<String> =
            servers.iter().enumerate().map(|(index, server)| server.member_line(index + 1)).collect();
        let secured = Secured::new(transport, servers[0].folder())?;
        for (index, server) in servers.iter().enumerate() {
            server.configure(index + 1, &members.join("\n"), secured.as_ref())?;
        }
        let ensemble = Self { servers, secured };
        ensemble.launch_all()?;
        ensemble.wait_until_serving()?;
        for server in &ensemble.servers {
            if !server.is_ours()? {
                return Err(server.failure("found its port taken"));
            }
        }
        Ok(ensemble)
    }

    /// `127.0.0.1:port,127.0.0.1:port,127.0.0.1:port`.
    pub fn hosts(&self) -> String {
        let hosts: Vec<String> = self.servers.iter().map(|server| server.address().to_string()).collect();
        hosts.join(",")
    }

    /// The same with the ports for TLS.
    pub fn secure_hosts(&self) -> String {
        let hosts: Vec<String> =
            self.servers.iter().map(|server| server.secure_address().to_string()).collect();
        hosts.join(",")
    }

    /// The files of servers with TLS.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.secured.as_ref().map(|secured| &secured.certificates)
    }

    /// The processes that were not killed.
    pub fn pids(&self) -> Vec<u32> {
        self.servers.iter().filter_map(|server| server.process.pid()).collect()
    }

    /// Ends a server at once, as a crash would.
    ///
    /// This and the other methods that take an index panic where there is no such server.
    pub fn kill(&self, index: usize) {
        self.servers[index].process.kill();
    }

    /// Kills a server if it runs and starts it again, with its data, on its old port. If then a majority runs,
    /// waits until all that run serve.
    pub fn restart(&self, index: usize) -> Result<()> {
        self.kill(index);
        self.servers[index].launch()?;
        if self.running().count() <= SERVERS / 2 {
            return Ok(());
        }
        self.wait_until_serving()
    }

    /// Freezes a server: connections stay open, new ones are accepted by the system, nobody answers.
    pub fn pause(&self, index: usize) -> Result<()> {
        self.servers[index].process.set_paused(true)
    }

    /// Ends a pause. The server may take a moment to join the others: see [`ZooKeeper::wait_until_serving`].
    pub fn resume(&self, index: usize) -> Result<()> {
        self.servers[index].process.set_paused(false)
    }

    /// Waits until one of the servers that are neither killed nor paused leads and the others follow it.
    pub fn wait_until_serving(&self) -> Result<()> {
        wait_until("ZooKeeper to serve with a leader", DEADLINE, || {
            let modes: Vec<Option<String>> = self.running().map(|(_, server)| server.mode()).collect();
            let count = |wanted: &str| modes.iter().flatten().filter(|mode| *mode == wanted).count();
            let serves = count("leader") == 1 && count("leader") + count("follower") == modes.len();
            Ok(serves.then_some(()))
        })
    }

    /// The server that leads the others.
    pub fn leader(&self) -> Result<usize> {
        let leads = |server: &Server| server.mode().is_some_and(|mode| mode == "leader");
        let mut running = self.running();
        running
            .find_map(|(index, server)| leads(server).then_some(index))
            .ok_or_else(|| Error::new("ZooKeeper has no leader"))
    }

    /// The sessions that now have a connection, each with the server it is connected to.
    pub fn sessions(&self) -> Result<Vec<(i64, usize)>> {
        let mut sessions = Vec::new();
        for (index, server) in self.running() {
            let answer = server.ask("cons")?;
            sessions.extend(answer.lines().filter_map(session_id).map(|session| (session, index)));
        }
        Ok(sessions)
    }

    /// The server that a session is connected to, unless it has no connection now.
    pub fn server_of(&self, session: i64) -> Result<Option<usize>> {
        let is_it = |&(id, _): &(i64, usize)| id == session;
        Ok(self.sessions()?.into_iter().find(is_it).map(|(_, index)| index))
    }

    /// Ends a session of any client at once, as if it had timed out: its ephemeral znodes vanish, its
    /// connection is closed, and the servers refuse it when the client comes back.
    ///
    /// Pausing all servers for longer than its timeout would not do: a leader that still leads afterwards ends
    /// the session, but a new one gives it its full time again. So we take the session over and close it,
    /// through a server that its client does not use, so that the client notices nothing before the end.
    pub fn expire(&self, session: i64) -> Result<()> {
        self.wait_until_serving()?;
        wait_until(&format!("session {session:#x} to be over"), DEADLINE, || {
            if !self.knows(session)? {
                return Ok(Some(()));
            }
            let used = self.server_of(session)?;
            let unused = self.running().find(|(index, _)| Some(*index) != used);
            let (_, server) = unused.ok_or_else(|| Error::new("no server to expire a session with"))?;
            // The client may have taken it back in between: then the next attempt counts.
            if let Ok(Some(taken)) = Session::take_over(server.address(), session) {
                let _ = taken.close();
            }
            Ok(None)
        })
    }

    /// Whether the servers still keep a session.
    pub fn knows(&self, session: i64) -> Result<bool> {
        let sessions = self.servers[self.leader()?].ask("dump")?;
        // A server that does not serve for the moment lists none.
        let is_listed = |line: &str| line.trim() == format!("{session:#x}");
        Ok(!sessions.contains("SessionTracker dump") || sessions.lines().any(is_listed))
    }

    /// The answer of a server to a command of four letters, such as `wchp` (who watches which path).
    pub fn ask(&self, index: usize, command: &str) -> Result<String> {
        self.servers[index].ask(command)
    }

    /// For znodes.
    pub fn admin(&self) -> Admin {
        Admin::new(self.servers.iter().map(Server::address).collect())
    }

    /// All at once, since starting Java is what takes time.
    fn launch_all(&self) -> Result<()> {
        thread::scope(|scope| {
            let starts: Vec<_> = self.servers.iter().map(|server| scope.spawn(|| server.launch())).collect();
            starts
                .into_iter()
                .try_for_each(|start| start.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn running(&self) -> impl Iterator<Item = (usize, &Server)> {
        self.servers.iter().enumerate().filter(|(_, server)| server.process.is_running())
    }
}

/// The session of a line such as ` /127.0.0.1:40000[1](queued=0,recved=1,sent=1,sid=0x100009d0b560000,...)`.
fn session_id(line: &str) -> Option<i64> {
    let (_, id) = line.split_once(",sid=0x")?;
    u64::from_str_radix(id.split(',').next()?, 16).ok().map(|id| id as i64)
}
