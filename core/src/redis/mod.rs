//! Connections to Redis: one server, a Cluster, or whatever primary the Sentinels name.
//!
//! [`BlockingRedis`] and [`AsyncRedis`] carry out a [`Call`](crate::script::ScriptCall) and share all that does no
//! I/O: the URL, the options, the errors, where a key lives (`router`) and what a reply asks for (`session`).
//!
//! One rule governs both: **what may have been executed is never sent again**. A call is repeated only after
//! an answer that proves that it was not executed: NOSCRIPT, MOVED, ASK and TRYAGAIN. That is also why the
//! Cluster and Sentinel clients of the `redis` crate are not used: with retries they repeat a call after a
//! broken connection or a timeout, and without retries they do not follow MOVED.

mod asynchronous;
mod background;
mod blocking;
mod breaker;
mod channel;
mod combining;
mod command;
mod connection;
mod connector;
mod deadline;
mod discoverer;
mod discovery;
mod errors;
mod hub;
mod login;
#[cfg(feature = "bridge")]
mod loop_host;
mod multiplexer;
mod options;
mod pacing;
mod pool;
mod resolve;
mod role;
mod router;
mod search;
mod session;
#[cfg(test)]
mod simulation;
mod slots;
mod spin;
mod stream;
#[cfg(test)]
pub(crate) mod tests;
#[cfg_attr(not(feature = "tls"), path = "without_tls.rs")]
mod tls;
mod tokio_host;
mod topology;
mod url;

pub(crate) use asynchronous::AsyncRedis;
pub(crate) use blocking::BlockingRedis;
pub(crate) use command::{Attempts, CallDeadline};
#[cfg(feature = "bridge")]
pub(crate) use errors::{forked, no_thread};
#[cfg(feature = "bridge")]
pub(crate) use hub::{Host, Hub};
#[cfg(feature = "bridge")]
pub(crate) use loop_host::LoopHost;
pub(crate) use options::ConnectOptions;
pub(crate) use slots::slot_of;
#[cfg(feature = "bridge")]
pub(crate) use spin::{LONGEST as LONGEST_SPIN, Spin};
pub(crate) use url::Backend;
