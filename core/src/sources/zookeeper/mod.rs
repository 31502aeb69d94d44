//! Rules that ZooKeeper keeps: one znode per rule, below a common one.
//!
//! The client is our own, and small, since the one that is kept up among Rust's hands its sockets to a thread
//! that the whole process shares: a forked child has not got that thread, and pre-fork servers have to work.

mod connection;
mod session;
#[cfg(test)]
mod tests;
mod url;
mod wire;

use std::time::Duration;

use super::{Following, RuleSource, Updates};
use crate::error::{Error, ErrorKind, Result};
use connection::{Connection, Outcome, Reply};
use url::ZooKeeperUrl;
use wire::{Failure, NO_NODE, NODE_EXISTS, Request};

/// Time between two attempts to open a session.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// So often somebody else would have to be faster for a rule not to be put.
const PUT_ATTEMPTS: usize = 10;

/// Rules in ZooKeeper: each child of a znode is named after its rule and holds the JSON of it. (A `/` in a
/// rule's name is `%2F` in the name of the znode.)
///
/// Changes arrive by watches. Every limiter has a session of its own. When a connection is lost, another server is asked, and everything is read anew.
#[derive(Debug, Clone)]
pub struct ZooKeeperSource {
    url: ZooKeeperUrl,
}

impl ZooKeeperSource {
    /// The rules at `zookeeper://host1:port1,host2:port2/path`; the port is 2181 unless it is named. For
    /// digest authentication, `user:password@` stands before the hosts, percent-encoded.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL makes no sense.
    ///
    /// ```
    /// use sluicegate::sources::{RuleSource, ZooKeeperSource};
    ///
    /// let source = ZooKeeperSource::new("zookeeper://u:secret@zk1,zk2:2182/config/ratelimit/rules")?;
    /// assert_eq!(source.name(), "zookeeper://zk1:2181,zk2:2182/config/ratelimit/rules");
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self { url: ZooKeeperUrl::parse(url)? })
    }

    /// Puts the text of a rule in its znode, which is made if it does not exist. The text is not looked at:
    /// whoever follows the source does.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] and [`ErrorKind::Server`], when ZooKeeper cannot be reached or refuses.
    pub async fn put(&self, rule_id: &str, text: &str) -> Result<()> {
        self.put_at(&self.url.node(rule_id), text.as_bytes()).await.map_err(|failure| self.error(&failure))
    }

    /// Deletes the znode of a rule; false when there is none.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn delete(&self, rule_id: &str) -> Result<bool> {
        self.delete_at(&self.url.node(rule_id)).await.map_err(|failure| self.error(&failure))
    }

    async fn put_at(&self, node: &str, data: &[u8]) -> Outcome<()> {
        let mut connection = Connection::open(&self.url, None).await?;
        let put = self.set_or_create_at(&mut connection, node, data).await?;
        close(connection).await;
        put.map(drop).map_err(Failure::Refused)
    }

    /// Others may make it and delete it meanwhile.
    async fn set_or_create_at(&self, connection: &mut Connection, node: &str, data: &[u8]) -> Outcome<Reply> {
        let mut put = Err(NO_NODE);
        for _ in 0..PUT_ATTEMPTS {
            put = connection.call_one(Request::Set { path: node, data }).await?;
            if put != Err(NO_NODE) {
                break;
            }
            put = self.create_at(connection, node, data).await?;
            if put != Err(NODE_EXISTS) {
                break;
            }
        }
        Ok(put)
    }

    /// Those above it are made only if they are missing: in most places they may not be.
    async fn create_at(&self, connection: &mut Connection, node: &str, data: &[u8]) -> Outcome<Reply> {
        let owned = self.url.login.is_some();
        let create = Request::Create { path: node, data, owned };
        let created = connection.call_one(create.clone()).await?;
        if created != Err(NO_NODE) {
            return Ok(created);
        }
        for (end, _) in node.match_indices('/').skip(1) {
            let above = Request::Create { path: &node[..end], data: b"", owned };
            // What keeps one from being made shows in the end.
            let _ = connection.call_one(above).await?;
        }
        connection.call_one(create).await
    }

    async fn delete_at(&self, node: &str) -> Outcome<bool> {
        let mut connection = Connection::open(&self.url, None).await?;
        let deleted = connection.call_one(Request::Delete(node)).await?;
        close(connection).await;
        let was_there = deleted.is_ok();
        deleted.map(drop).or_else(unless(NO_NODE))?;
        Ok(was_there)
    }

    fn error(&self, failure: &Failure) -> Error {
        let kind = match failure {
            Failure::Lost(_) => ErrorKind::Connection,
            Failure::Refused(_) => ErrorKind::Server,
        };
        Error::new(kind, format!("{}: {failure}", self.name()))
    }
}

/// Accepts one code as good.
fn unless(code: i32) -> impl FnOnce(i32) -> Outcome<()> {
    move |refused| if refused == code { Ok(()) } else { Err(Failure::Refused(refused)) }
}

/// Ends the session, which would otherwise be kept for a while. However that ends, what was done before is done.
async fn close(mut connection: Connection) {
    let _ = connection.call_one(Request::Close).await;
}

impl RuleSource for ZooKeeperSource {
    fn name(&self) -> String {
        self.url.to_string()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            let mut lost = None;
            loop {
                let ended = match Connection::open(&self.url, lost).await {
                    Ok(connection) => {
                        lost = Some(connection.host);
                        session::follow(connection, &self.url, updates).await
                    }
                    Err(failure) => failure,
                };
                updates.unreachable(ended.to_string());
                tokio::time::sleep(RETRY_AFTER).await;
            }
        })
    }
}
