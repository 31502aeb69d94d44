//! Everything is read, and then whatever the watches tell of, until the connection is lost.

use std::collections::HashSet;

use super::super::Updates;
use super::connection::{Connection, Reply, ZooKeeperResult};
use super::url::{ZooKeeperUrl, rule_id};
use super::wire::{NO_AUTH, NO_NODE, Operation, Reader, ZooKeeperError};

/// So many rules are read at once: enough to hide the round trips, few enough for a busy server.
const READS_AT_ONCE: usize = 64;

/// The text of a rule, or why it cannot be had.
type Text = Result<String, String>;

/// Reads and follows until it fails, and returns why.
pub(super) async fn follow(connection: Connection, url: &ZooKeeperUrl, updates: &Updates) -> ZooKeeperError {
    let mut folder = RulesNode { connection, url, updates, known: HashSet::new() };
    let Err(failure) = folder.follow().await;
    failure
}

/// The znode of the rules, and what is known of it.
struct RulesNode<'a> {
    connection: Connection,
    url: &'a ZooKeeperUrl,
    updates: &'a Updates,
    /// The names of the znodes below it.
    known: HashSet<String>,
}

/// Nothing: what is followed never ends well.
enum Never {}

impl RulesNode<'_> {
    async fn follow(&mut self) -> ZooKeeperResult<Never> {
        self.read_all().await?;
        loop {
            let changed = self.connection.changes().await?;
            let (common, of_rules): (Vec<_>, Vec<_>) =
                changed.into_iter().partition(|path| *path == self.url.path);
            let names: HashSet<_> =
                of_rules.iter().filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect();
            let mut changes = self.read(names.into_iter().collect()).await?;
            if !common.is_empty() {
                changes.extend(self.relist().await?);
            }
            // Also when nothing changed: it may have been out of reach.
            self.updates.changed(changes);
        }
    }

    /// Reports all there is.
    async fn read_all(&mut self) -> ZooKeeperResult<()> {
        // The server may be behind the one that was asked before.
        self.connection.call_one(Operation::Sync(&self.url.path)).await?.map(drop).or_else(absent)?;
        let names = self.list().await?;
        let texts = self.read(names).await?;
        self.updates.rules(texts.into_iter().filter_map(|(id, text)| Some((id, text?))).collect());
        Ok(())
    }

    /// Znodes that came or went.
    async fn relist(&mut self) -> ZooKeeperResult<Vec<(String, Option<Text>)>> {
        let before = self.known.clone();
        let names = self.list().await?;
        let there: HashSet<_> = names.iter().cloned().collect();
        let gone: Vec<_> = before.difference(&there).collect();
        self.known.retain(|name| there.contains(name));
        let new = names.into_iter().filter(|name| !self.known.contains(name)).collect();
        let mut changes = self.read(new).await?;
        changes.extend(gone.iter().map(|name| (rule_id(name), None)));
        Ok(changes)
    }

    /// The names of the znodes there are. Waits until their common one exists.
    async fn list(&mut self) -> ZooKeeperResult<Vec<String>> {
        let path = self.url.path.as_str();
        loop {
            match self.connection.call_one(Operation::Children(path)).await? {
                Ok(reply) => return Ok(Reader(&reply).texts()?),
                Err(NO_NODE) => {
                    // Their watches went with the znodes, and their events may be discarded below.
                    self.known.clear();
                    self.updates.unreachable(ZooKeeperError::Refused(NO_NODE).to_string());
                }
                Err(code) => return Err(ZooKeeperError::Refused(code)),
            }
            match self.connection.call_one(Operation::Exists(path)).await? {
                Ok(_) => {}
                Err(NO_NODE) => drop(self.connection.changes().await?),
                // Then it is not watched for.
                Err(code) => return Err(ZooKeeperError::Refused(code)),
            }
        }
    }

    /// The texts of znodes, which are watched from now on; none for those that do not exist.
    async fn read(&mut self, names: Vec<String>) -> ZooKeeperResult<Vec<(String, Option<Text>)>> {
        let mut texts = Vec::with_capacity(names.len());
        for names in names.chunks(READS_AT_ONCE) {
            let paths: Vec<_> = names.iter().map(|name| format!("{}/{name}", self.url.path)).collect();
            let requests: Vec<_> = paths.iter().map(|path| Operation::Data(path)).collect();
            for (name, reply) in names.iter().zip(self.connection.call(&requests).await?) {
                let text = text_of(reply)?;
                if text.is_some() {
                    self.known.insert(name.clone());
                } else {
                    self.known.remove(name);
                }
                texts.push((rule_id(name), text));
            }
        }
        Ok(texts)
    }
}

fn text_of(reply: Reply) -> ZooKeeperResult<Option<Text>> {
    match reply {
        Ok(reply) => {
            let text = String::from_utf8(Reader(&reply).bytes()?.to_vec());
            Ok(Some(text.map_err(|_| "it is not UTF-8".to_owned())))
        }
        Err(NO_NODE) => Ok(None),
        // That may concern no other; the rest is followed all the same.
        Err(NO_AUTH) => Ok(Some(Err(ZooKeeperError::Refused(NO_AUTH).to_string()))),
        Err(code) => Err(ZooKeeperError::Refused(code)),
    }
}

fn absent(code: i32) -> ZooKeeperResult<()> {
    if code == NO_NODE { Ok(()) } else { Err(ZooKeeperError::Refused(code)) }
}
