//! Connections to Redis: one server, a Cluster, or whatever primary the Sentinels name.
//!
//! [`BlockingRedis`] and [`AsyncRedis`] carry out a [`Call`](crate::script::Call) and share all that does no
//! I/O: the URL, the options, the errors, where a key lives (`router`) and what a reply asks for (`reply`).
//!
//! One rule governs both: **what may have been executed is never sent again**. A call is repeated only after
//! an answer that proves that it was not executed: NOSCRIPT, MOVED, ASK and TRYAGAIN. That is also why the
//! Cluster and Sentinel clients of the `redis` crate are not used: with retries they repeat a call after a
//! broken connection or a timeout, and without retries they do not follow MOVED.

mod address;
mod asynchronous;
#[cfg(feature = "bridge")]
mod batch;
mod blocking;
mod bundle;
mod combined;
mod combining;
mod connection;
mod connector;
#[cfg(all(unix, feature = "bridge"))]
mod direct;
mod discovery;
mod errors;
mod link;
mod options;
mod pool;
mod reply;
mod router;
mod signals;
mod slots;
#[cfg(unix)]
mod socket;
mod spin;
#[cfg(unix)]
mod stream;
#[cfg(test)]
mod tests;
mod url;

#[cfg(feature = "zookeeper")]
pub(crate) use address::Address;
pub(crate) use asynchronous::AsyncRedis;
pub(crate) use blocking::BlockingRedis;
#[cfg(all(unix, feature = "bridge"))]
pub(crate) use direct::{Direct, Opener, Reaction};
pub(crate) use options::ConnectOptions;
pub(crate) use slots::slot_of;
pub(crate) use url::Backend;
