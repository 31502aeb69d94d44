//! Rules that ZooKeeper keeps: one znode per rule, below a common one.

mod session;
mod url;

use std::time::Duration;

use zookeeper_client::{Client, Connector, CreateMode, Error as ClientError};

use super::{Following, RuleSource, Updates};
use crate::error::{Error, ErrorKind, Result};
use session::follow_session;
use url::ZooKeeperUrl;

/// Without a sign of life for two fifths of it, the next server is tried.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// The longest time to open a session, at any of the servers.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// Time between two attempts to open a session.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// Rules in ZooKeeper: each child of a znode is named after its rule and holds the JSON of it. (A `/` in a
/// rule's name is `%2F` in the name of the znode.)
///
/// Changes arrive by watches. When a session is lost, or moves to another server, everything is read anew.
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
        let client = self.connect().await.map_err(|error| self.failed(error))?;
        let acls = if self.url.login.is_some() {
            zookeeper_client::Acls::creator_all()
        } else {
            zookeeper_client::Acls::anyone_all()
        };
        let options = CreateMode::Persistent.with_acls(acls);
        let put = async {
            client.mkdir(&self.url.path, &options).await.or_else(existing)?;
            let node = self.url.node(rule_id);
            match client.create(&node, text.as_bytes(), &options).await {
                Err(ClientError::NodeExists) => client.set_data(&node, text.as_bytes(), None).await.map(drop),
                created => created.map(drop),
            }
        };
        put.await.map_err(|error| self.failed(error))
    }

    /// Deletes the znode of a rule; false when there is none.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn delete(&self, rule_id: &str) -> Result<bool> {
        let client = self.connect().await.map_err(|error| self.failed(error))?;
        match client.delete(&self.url.node(rule_id), None).await {
            Ok(()) => Ok(true),
            Err(ClientError::NoNode) => Ok(false),
            Err(error) => Err(self.failed(error)),
        }
    }

    async fn connect(&self) -> Result<Client, ClientError> {
        let mut connector: Connector =
            Client::connector().with_session_timeout(SESSION_TIMEOUT).with_fail_eagerly();
        if let Some(login) = &self.url.login {
            connector = connector.with_auth("digest", login.0.as_bytes());
        }
        let connecting = connector.connect(&self.url.hosts);
        tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or(Err(ClientError::Timeout))
    }

    fn failed(&self, error: ClientError) -> Error {
        let kind = match error {
            ClientError::NoHosts | ClientError::Timeout | ClientError::ConnectionLoss => {
                ErrorKind::Connection
            }
            _ => ErrorKind::Server,
        };
        Error::new(kind, format!("{}: {error}", self.name()))
    }
}

fn existing(error: ClientError) -> Result<(), ClientError> {
    if error == ClientError::NodeExists { Ok(()) } else { Err(error) }
}

impl RuleSource for ZooKeeperSource {
    fn name(&self) -> String {
        self.url.to_string()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        Box::pin(async move {
            loop {
                let ended = match self.connect().await {
                    Ok(client) => follow_session(&client, &self.url, updates).await,
                    Err(error) => error,
                };
                updates.unreachable(ended.to_string());
                tokio::time::sleep(RETRY_AFTER).await;
            }
        })
    }
}
