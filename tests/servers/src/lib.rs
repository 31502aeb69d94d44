//! Real Redis and ZooKeeper servers for tests.
//!
//! A test starts what it needs, on free loopback ports and in temporary folders of its own:
//!
//! ```
//! # fn main() -> sluicegate_test_servers::Result<()> {
//! use sluicegate_test_servers::Redis;
//!
//! let redis = Redis::start()?;
//! redis::cmd("SET").arg("greeting").arg("hello").exec(&mut redis.client()?)?;
//! # Ok(())
//! # }
//! ```
//!
//! The servers end when the value is dropped, and also when the test panics or is killed: no process and no
//! folder stays behind. Any number of tests may run at the same time.
//!
//! `SLUICEGATE_REDIS_SERVER` and `SLUICEGATE_REDIS_CLI` name other programs than the `redis-server` and
//! `redis-cli` on the PATH, for example those of Valkey or of another version; `SLUICEGATE_JAVA` and
//! `SLUICEGATE_ZOOKEEPER_CLASSPATH` do so for ZooKeeper.

mod certificates;
mod cluster;
mod error;
mod finally;
mod inspect;
mod node;
mod port;
mod process;
mod program;
mod ready;
mod regions;
mod relay;
mod replicated;
mod sentinel;
mod single;
mod slot;
mod tls;
mod zookeeper;

pub use certificates::Certificates;
pub use cluster::Cluster;
pub use error::{Error, Result};
pub use finally::{Finally, finally};
pub use inspect::keys_without_ttl;
pub use node::Node;
pub use regions::Regions;
pub use relay::Relay;
pub use replicated::{Promoted, Replicated};
pub use sentinel::Sentinel;
pub use single::{Options, Redis, Transport};
pub use zookeeper::{Admin, ZooKeeper};
