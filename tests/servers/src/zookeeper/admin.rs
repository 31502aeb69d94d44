//! Znodes, as a test writes and reads them itself.

use std::net::SocketAddr;
use std::time::Duration;

use super::session::{BAD_ARGUMENTS, NO_AUTH, NO_NODE, NODE_EXISTS, NOT_EMPTY, Reply, Session};
use crate::ready::wait_until;
use crate::{Error, Result};

/// Long enough for the servers to agree on a new leader.
const DEADLINE: Duration = Duration::from_secs(20);

/// Writes and reads znodes without the code under test. Every call has a session of its own, with whichever
/// server is ready first, so that a test may kill and pause servers between calls; reads see all that was
/// written before, through any server.
#[derive(Debug, Clone)]
pub struct Admin {
    addresses: Vec<SocketAddr>,
    identity: Option<String>,
}

impl Admin {
    pub(super) fn new(addresses: Vec<SocketAddr>) -> Self {
        Self { addresses, identity: None }
    }

    /// The same with `user:password` for the scheme `digest`. What it creates, it alone may read and write.
    pub fn with_digest(&self, identity: &str) -> Self {
        Self { identity: Some(identity.to_owned()), ..self.clone() }
    }

    /// Makes a znode, and above it those that are missing, empty and open to everybody.
    pub fn create(&self, path: &str, data: impl AsRef<[u8]>) -> Result<()> {
        let owned = self.identity.is_some();
        self.in_session("create", path, |session| {
            for (end, _) in path.match_indices('/').skip(1) {
                match session.create(&path[..end], b"", false)? {
                    Ok(()) | Err(NODE_EXISTS) => {}
                    Err(code) => return Ok(Err(code)),
                }
            }
            session.create(path, data.as_ref(), owned)
        })
    }

    /// Replaces the data of a znode.
    pub fn set(&self, path: &str, data: impl AsRef<[u8]>) -> Result<()> {
        self.in_session("set", path, |session| session.set(path, data.as_ref()))
    }

    /// Removes a znode with these children and makes it anew with the same, so fast that whoever watches can
    /// hardly keep up. Names and data.
    pub fn remake(&self, path: &str, children: &[(String, String)]) -> Result<()> {
        self.in_session("remake", path, |session| session.remake(path, children))
    }

    /// Removes a znode that has no children.
    pub fn delete(&self, path: &str) -> Result<()> {
        self.in_session("delete", path, |session| session.delete(path))
    }

    /// The data of a znode, or nothing if there is no such znode.
    pub fn get(&self, path: &str) -> Result<Option<Vec<u8>>> {
        self.in_session("get", path, |session| match after_sync(session, |session| session.get(path))? {
            Err(NO_NODE) => Ok(Ok(None)),
            answer => Ok(answer.map(Some)),
        })
    }

    /// The names of a znode's children, sorted.
    pub fn children(&self, path: &str) -> Result<Vec<String>> {
        let mut names = self
            .in_session("children", path, |session| after_sync(session, |session| session.children(path)))?;
        names.sort();
        Ok(names)
    }

    /// Asks once, since a request that was sent may have been carried out whatever became of its answer.
    fn in_session<T>(
        &self,
        what: &str,
        path: &str,
        ask: impl FnOnce(&mut Session) -> Result<Reply<T>>,
    ) -> Result<T> {
        let mut session = self.session()?;
        let refused = |code| Error::new(format!("zookeeper: {what} {path}: {}", meaning(code)));
        if let Some(identity) = &self.identity {
            session.authenticate(identity)?.map_err(refused)?;
        }
        let answer = ask(&mut session)?.map_err(refused);
        // A session that cannot be closed now times out; what was asked for has its answer all the same.
        let _ = session.close();
        answer
    }

    /// A session with any server; until the servers have a leader there is none to be had.
    fn session(&self) -> Result<Session> {
        wait_until("a session with ZooKeeper", DEADLINE, || {
            Ok(self.addresses.iter().find_map(|&address| Session::open(address).ok()))
        })
    }
}

fn after_sync<T>(
    session: &mut Session,
    read: impl FnOnce(&mut Session) -> Result<Reply<T>>,
) -> Result<Reply<T>> {
    match session.sync()? {
        Ok(()) => read(session),
        Err(code) => Ok(Err(code)),
    }
}

fn meaning(code: i32) -> String {
    match code {
        NO_NODE => "there is no such znode".to_owned(),
        NODE_EXISTS => "the znode is already there".to_owned(),
        NO_AUTH => "not permitted".to_owned(),
        NOT_EMPTY => "the znode has children".to_owned(),
        BAD_ARGUMENTS => "not a valid path".to_owned(),
        _ => format!("error {code}"),
    }
}
