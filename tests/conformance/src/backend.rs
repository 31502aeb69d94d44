//! The backends that every test runs on, each started for the test that asks for it.

use sluicegate_test_servers::{Cluster, Redis, keys_without_ttl};

/// A place for state, alive as long as this value.
#[derive(Debug)]
pub enum Backend {
    /// The engine of this process.
    Memory,
    /// One Redis server.
    Redis(Redis),
    /// Three primaries and three replicas.
    Cluster(Cluster),
}

impl Backend {
    /// Starts a server.
    pub fn redis() -> Self {
        Self::Redis(Redis::start().unwrap())
    }

    /// Starts a Cluster.
    pub fn cluster() -> Self {
        Self::Cluster(Cluster::start().unwrap())
    }

    /// The URL for a limiter.
    pub fn url(&self) -> String {
        match self {
            Self::Memory => "memory://".to_owned(),
            Self::Redis(redis) => redis.url().to_owned(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// The names of keys that would stay for ever, on any server of the backend.
    pub fn immortal_keys(&self) -> Vec<String> {
        match self {
            Self::Memory => Vec::new(),
            Self::Redis(redis) => keys_without_ttl(&mut redis.client().unwrap()).unwrap(),
            Self::Cluster(cluster) => cluster.keys_without_ttl().unwrap(),
        }
    }
}
