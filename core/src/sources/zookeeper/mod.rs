//! Rules that ZooKeeper keeps: one znode per rule, below a common one.
//!
//! The client is our own, and small, since the one that is kept up among Rust's hands its sockets to a thread
//! that the whole process shares: a forked child has not got that thread, and pre-fork servers have to work.

mod connection;
mod login;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod url;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use super::{Following, RuleSource, TlsFiles, Updates};
use crate::error::{Error, ErrorKind, Result};
use crate::text::printable::printable;
use connection::{Connection, Reply, ZooKeeperResult};
use tls::Tls;
use url::ZooKeeperUrl;
use wire::{NO_NODE, NODE_EXISTS, Operation, ZooKeeperError};

/// Time between two attempts to open a session.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// How often a put is retried after another client was faster.
const PUT_ATTEMPTS: usize = 10;

/// Rules in ZooKeeper: each child of a znode is named after its rule and holds the JSON of it. (A `/` in a
/// rule's name is `%2F` in the name of the znode.)
///
/// Changes arrive by watches. Every limiter has a session of its own. When a connection is lost, another server is asked, and everything is read anew.
#[derive(Debug, Clone)]
pub struct ZooKeeperSource {
    url: ZooKeeperUrl,
    /// None: by the system's authorities, where the URL asks for TLS.
    tls: Option<Tls>,
}

impl ZooKeeperSource {
    /// The rules at `zookeeper://host1:port1,host2:port2/path`, with TLS at `zookeepers://...`; the port is 2181, with
    /// TLS 2281, unless it is named. For digest authentication, `user:password@` stands before the hosts,
    /// percent-encoded. When it does not, the environment variable `SLUICEGATE_ZOOKEEPER_LOGIN` may hold
    /// `user:password`, or `SLUICEGATE_ZOOKEEPER_LOGIN_FILE` the path of a file that does.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the URL, or one of those variables, makes no sense.
    ///
    /// ```
    /// use sluicegate::sources::{RuleSource, ZooKeeperSource};
    ///
    /// let source = ZooKeeperSource::new("zookeeper://u:secret@zk1,zk2:2182/config/ratelimit/rules")?;
    /// assert_eq!(source.name(), "zookeeper://zk1:2181,zk2:2182/config/ratelimit/rules");
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn new(url: &str) -> Result<Self> {
        let mut url = ZooKeeperUrl::parse(url)?;
        if url.login.is_none() {
            url.login = login::from_environment()?;
        }
        Ok(Self { url, tls: None })
    }

    /// The same with TLS files. A limiter that follows the source gives it those of its own options.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when a file cannot be used, or the URL is one without TLS.
    pub fn tls_files(mut self, files: &TlsFiles) -> Result<Self> {
        if !self.url.tls {
            let what = "tls_ca, tls_cert and tls_key need a TLS URL: zookeepers://";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        self.tls = Some(Tls::new(files)?);
        Ok(self)
    }

    /// A connection with any server but the one that was lost.
    async fn connection(&self, lost: Option<usize>) -> ZooKeeperResult<Connection> {
        let tls = match &self.tls {
            None if self.url.tls => Some(
                Tls::new(&TlsFiles::default()).map_err(|error| ZooKeeperError::Lost(error.to_string()))?,
            ),
            given => given.clone(),
        };
        Connection::open(&self.url, tls.as_ref(), lost).await
    }

    /// Puts the text of a rule in its znode, which is made if it does not exist. It does not
    /// validate the text: the follower of the source does.
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

    async fn put_at(&self, node: &str, data: &[u8]) -> ZooKeeperResult<()> {
        let mut connection = self.connection(None).await?;
        let put = self.set_or_create_at(&mut connection, node, data).await?;
        if put.is_ok() && self.url.login.is_some() {
            self.warn_if_open(&mut connection, node).await?;
        }
        close(connection).await;
        put.map(drop).map_err(ZooKeeperError::Refused)
    }

    /// Others may make it and delete it meanwhile.
    async fn set_or_create_at(
        &self,
        connection: &mut Connection,
        node: &str,
        data: &[u8],
    ) -> ZooKeeperResult<Reply> {
        let mut put = Err(NO_NODE);
        for _ in 0..PUT_ATTEMPTS {
            put = connection.call_one(Operation::Set { path: node, data }).await?;
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
    async fn create_at(
        &self,
        connection: &mut Connection,
        node: &str,
        data: &[u8],
    ) -> ZooKeeperResult<Reply> {
        let owned = self.url.login.is_some();
        let create = Operation::Create { path: node, data, owned };
        let mut created = connection.call_one(create.clone()).await?;
        if created == Err(NO_NODE) {
            self.create_above(connection, node, owned).await?;
            created = connection.call_one(create).await?;
        }
        if created.is_ok() && !owned {
            log::warn!(
                "{}: {} was made without a login, so anybody may change it (give user and password)",
                self.name(),
                printable(node)
            );
        }
        Ok(created)
    }

    /// A login closes what is made with it, and leaves open what was there before: the znode of a rule, or the one that
    /// has them all, below which anybody may then make and delete some.
    async fn warn_if_open(&self, connection: &mut Connection, node: &str) -> ZooKeeperResult<()> {
        for (path, what) in [
            (node, "change it (delete it and put it again)"),
            (self.url.path.as_str(), "add and delete rules (restrict it with setAcl of ZooKeeper's client)"),
        ] {
            // Who may not know is not everybody.
            let Ok(acl) = connection.call_one(Operation::Acl(path)).await? else { continue };
            if wire::is_open(&acl)? {
                log::warn!(
                    "{}: {} was made without a login, so anybody may {what}",
                    self.name(),
                    printable(path)
                );
            }
        }
        Ok(())
    }

    async fn create_above(
        &self,
        connection: &mut Connection,
        node: &str,
        owned: bool,
    ) -> ZooKeeperResult<()> {
        for (end, _) in node.match_indices('/').skip(1) {
            let above = Operation::Create { path: &node[..end], data: b"", owned };
            // What keeps one from being made shows in the end.
            let _ = connection.call_one(above).await?;
        }
        Ok(())
    }

    async fn delete_at(&self, node: &str) -> ZooKeeperResult<bool> {
        let mut connection = self.connection(None).await?;
        let deleted = connection.call_one(Operation::Delete(node)).await?;
        close(connection).await;
        let was_there = deleted.is_ok();
        deleted.map(drop).or_else(unless(NO_NODE))?;
        Ok(was_there)
    }

    fn error(&self, failure: &ZooKeeperError) -> Error {
        let kind = match failure {
            ZooKeeperError::Lost(_) => ErrorKind::Connection,
            ZooKeeperError::Refused(_) => ErrorKind::Server,
        };
        Error::new(kind, format!("{}: {failure}", self.name()))
    }
}

/// Accepts one code as good.
fn unless(code: i32) -> impl FnOnce(i32) -> ZooKeeperResult<()> {
    move |refused| if refused == code { Ok(()) } else { Err(ZooKeeperError::Refused(refused)) }
}

/// Ends the session, which would otherwise be kept for a while. However that ends, what was done before is done.
async fn close(mut connection: Connection) {
    let _ = connection.call_one(Operation::Close).await;
}

impl RuleSource for ZooKeeperSource {
    fn name(&self) -> String {
        self.url.to_string()
    }

    fn with_tls(&self, files: &TlsFiles) -> Option<Result<Arc<dyn RuleSource>>> {
        // A limiter without files of its own leaves the source those that it was given.
        if self.tls.is_some() && *files == TlsFiles::default() {
            return None;
        }
        let with_files = || Ok(Arc::new(self.clone().tls_files(files)?) as Arc<dyn RuleSource>);
        self.url.tls.then(with_files)
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            let mut lost = None;
            loop {
                let ended = match self.connection(lost).await {
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
