//! What a limiter left on a server, seen from outside. Only tests may list a keyspace.

use std::collections::BTreeMap;

use redis::{Connection, FromRedisValue, ToRedisArgs, cmd};
use sluicegate_test_servers::Node;

/// PTTL's answer for a key that would stay for ever.
const FOR_EVER: i64 = -1;

/// A stored value, whatever its type, and the milliseconds it has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// As DUMP serializes it: equal if and only if nothing was changed.
    pub value: Vec<u8>,
    /// -1: for ever.
    pub ttl_ms: i64,
}

/// A connection beside those of the limiter.
pub struct Stored(Connection);

impl Stored {
    /// Connects to a server.
    pub fn on(node: &Node) -> Self {
        Self(node.client().unwrap())
    }

    /// Sends any command.
    pub fn command<T: FromRedisValue>(&mut self, name: &str, args: impl ToRedisArgs) -> T {
        cmd(name).arg(args).query(&mut self.0).unwrap()
    }

    /// Every key of the server.
    pub fn entries(&mut self) -> BTreeMap<String, Entry> {
        let names: Vec<String> = self.command("KEYS", "*");
        names.into_iter().filter_map(|name| Some((name.clone(), self.entry(&name)?))).collect()
    }

    /// The names of all keys, in order.
    pub fn names(&mut self) -> Vec<String> {
        self.entries().into_keys().collect()
    }

    /// One key; `None` if there is none.
    pub fn entry(&mut self, name: &str) -> Option<Entry> {
        // The lifetime first: if the key ends in between, the value says so.
        let ttl_ms = self.command("PTTL", name);
        let value: Option<Vec<u8>> = self.command("DUMP", name);
        Some(Entry { value: value?, ttl_ms })
    }

    /// Takes the lifetime from every key, as a restored backup or a careless hand does.
    pub fn persist_all(&mut self) {
        for name in self.names() {
            let _: i64 = self.command("PERSIST", name);
        }
    }

    /// The names of keys that would stay for ever.
    pub fn immortal(&mut self) -> Vec<String> {
        let entries = self.entries().into_iter();
        entries.filter(|(_, entry)| entry.ttl_ms == FOR_EVER).map(|(name, _)| name).collect()
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        let _: () = self.command("FLUSHALL", &[] as &[&str]);
    }
}
