//! One session: everything is read, and then whatever the watches tell of.

use std::collections::HashSet;
use std::pin::Pin;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use zookeeper_client::{Client, Error, EventType, OneshotWatcher, SessionState, StateWatcher, WatchedEvent};

use super::super::Updates;
use super::url::{ZooKeeperUrl, rule_id};

/// So many rules are read at once: enough to hide the round trips, few enough for a busy server.
const READS_AT_ONCE: usize = 64;

/// After a lost connection everything is read anew when it is back, or when this has passed.
const RECONNECTED_AFTER: Duration = Duration::from_secs(1);

type Outcome<T> = Result<T, Error>;

type Watch<T> = Pin<Box<dyn Future<Output = T>>>;

/// The text of a rule, or why it cannot be had.
type Text = Result<String, String>;

/// Follows as long as the session lasts, and returns what ended it.
pub(super) async fn follow_session(client: &Client, url: &ZooKeeperUrl, updates: &Updates) -> Error {
    let mut state = client.state_watcher();
    loop {
        // What happened while a connection was lost is not known: once there is another, all is read again.
        let connected = tokio::select! {
            connected = reconnected(&mut state, updates) => connected,
            error = follow_connection(client, url, updates) => match error {
                Error::ConnectionLoss => {
                    let connected = tokio::time::timeout(RECONNECTED_AFTER, reconnected(&mut state, updates));
                    connected.await.unwrap_or(Ok(()))
                }
                error => Err(error),
            },
        };
        if let Err(error) = connected {
            return error;
        }
    }
}

/// Waits for the session's next connection, or its end.
async fn reconnected(state: &mut StateWatcher, updates: &Updates) -> Outcome<()> {
    loop {
        match state.changed().await {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => return Ok(()),
            SessionState::Disconnected => updates.unreachable("the connection was lost"),
            SessionState::Expired => return Err(Error::SessionExpired),
            SessionState::AuthFailed => return Err(Error::AuthFailed),
            SessionState::Closed => return Err(Error::ClientClosed),
        }
    }
}

/// Reads everything and follows the watches until one of them, or a call, fails.
async fn follow_connection(client: &Client, url: &ZooKeeperUrl, updates: &Updates) -> Error {
    let mut folder = Folder { client, url, updates, known: HashSet::new(), rules: FuturesUnordered::new() };
    let error: Outcome<()> = async {
        let mut children = folder.open().await?;
        loop {
            tokio::select! {
                event = &mut children => {
                    still_watching(&event)?;
                    children = folder.relist().await?;
                }
                Some(first) = folder.rules.next() => folder.reread(first).await?,
            }
        }
    }
    .await;
    error.err().unwrap_or(Error::ConnectionLoss)
}

/// The znode of the rules, and what is watched of it.
struct Folder<'a> {
    client: &'a Client,
    url: &'a ZooKeeperUrl,
    updates: &'a Updates,
    /// The names of the znodes that are watched.
    known: HashSet<String>,
    /// The watch of each.
    rules: FuturesUnordered<Watch<(String, WatchedEvent)>>,
}

impl Folder<'_> {
    /// Reports all there is, and returns the watch over which znodes there are.
    async fn open(&mut self) -> Outcome<Watch<WatchedEvent>> {
        // The server may be behind the one that was asked before.
        self.client.sync(&self.url.path).await.or_else(absent)?;
        let (names, children) = self.list().await?;
        let texts = self.read(names).await?;
        self.updates.rules(texts.into_iter().filter_map(|(id, text)| Some((id, text?))).collect());
        Ok(children)
    }

    /// Reports znodes that came or went.
    async fn relist(&mut self) -> Outcome<Watch<WatchedEvent>> {
        let (names, children) = self.list().await?;
        let there: HashSet<_> = names.iter().cloned().collect();
        let gone: Vec<_> = self.known.extract_if(|name| !there.contains(name)).collect();
        let new = names.into_iter().filter(|name| !self.known.contains(name)).collect();
        let mut changes = self.read(new).await?;
        changes.extend(gone.iter().map(|name| (rule_id(name), None)));
        self.updates.changed(changes);
        Ok(children)
    }

    /// Reports znodes that changed: one and, as they often change together, whichever else did.
    async fn reread(&mut self, first: (String, WatchedEvent)) -> Outcome<()> {
        let mut changed = HashSet::new();
        let mut next = Some(first);
        while let Some((name, event)) = next {
            still_watching(&event)?;
            // A znode that is gone is no longer known; one that took its place meanwhile will be.
            self.known.remove(&name);
            changed.insert(name);
            next = self.rules.next().now_or_never().flatten();
        }
        let changes = self.read(changed.into_iter().collect()).await?;
        self.updates.changed(changes);
        Ok(())
    }

    /// The names of the znodes there are. Waits until their common one exists.
    async fn list(&self) -> Outcome<(Vec<String>, Watch<WatchedEvent>)> {
        loop {
            match self.client.list_and_watch_children(&self.url.path).await {
                Ok((names, watcher)) => return Ok((names, Box::pin(watcher.changed()))),
                Err(Error::NoNode) => self.updates.unreachable("the znode does not exist"),
                Err(error) => return Err(error),
            }
            let (stat, watcher) = self.client.check_and_watch_stat(&self.url.path).await?;
            if stat.is_none() {
                still_watching(&watcher.changed().await)?;
            }
        }
    }

    /// The texts of znodes, which are watched from now on; none for those that do not exist.
    async fn read(&mut self, names: Vec<String>) -> Outcome<Vec<(String, Option<Text>)>> {
        let (client, url) = (self.client, self.url);
        let reads = names.into_iter().map(|name| async move {
            let found = read_one(client, &format!("{}/{name}", url.path)).await?;
            Outcome::Ok((name, found))
        });
        let found: Vec<_> = stream::iter(reads).buffer_unordered(READS_AT_ONCE).try_collect().await?;
        let watch = |(name, found): (String, Option<(Text, Option<OneshotWatcher>)>)| {
            let id = rule_id(&name);
            let Some((text, watcher)) = found else { return (id, None) };
            if let Some(watcher) = watcher {
                self.known.insert(name.clone());
                self.rules.push(Box::pin(async move { (name, watcher.changed().await) }));
            }
            (id, Some(text))
        };
        Ok(found.into_iter().map(watch).collect())
    }
}

async fn read_one(client: &Client, node: &str) -> Outcome<Option<(Text, Option<OneshotWatcher>)>> {
    match client.get_and_watch_data(node).await {
        Ok((data, _, watcher)) => {
            let text = String::from_utf8(data).map_err(|_| "it is not UTF-8".to_owned());
            Ok(Some((text, Some(watcher))))
        }
        Err(Error::NoNode) => Ok(None),
        // It can be neither read nor watched, and may concern others only; the rest is followed all the same.
        Err(error @ Error::NoAuth) => Ok(Some((Err(error.to_string()), None))),
        Err(error) => Err(error),
    }
}

fn absent(error: Error) -> Outcome<()> {
    if error == Error::NoNode { Ok(()) } else { Err(error) }
}

/// A watch ends with the session too; the state of the session says what became of it.
fn still_watching(event: &WatchedEvent) -> Outcome<()> {
    if event.event_type == EventType::Session { Err(Error::ConnectionLoss) } else { Ok(()) }
}
