//! Connections to Redis: one server, a Cluster, or whatever primary the Sentinels name.
//!
//! [`BlockingRedis`] and [`AsyncRedis`] carry out a [`Call`](crate::script::ScriptCall) and share all that does no
//! I/O. A call goes through the rooms in this order:
//!
//! - `settings`: what the caller has set: servers, credentials, TLS, timeouts;
//! - `drivers`: carries calls out, for threads that block (`threads`) and for event loops (`loops`, `multiplexer`);
//! - `topology`: which server has the state of a key;
//! - `connecting`: when and how that server is connected to;
//! - `wire`: commands, replies, and what a reply asks for.
//!
//! One rule governs both: **what may have been executed is not sent again, unless the script recognizes it**
//! (a call with a `request_id`, or of a reservation). Any other call is repeated only after an answer that
//! proves that it was not executed: NOSCRIPT, MOVED, ASK and TRYAGAIN. That is also why the
//! Cluster and Sentinel clients of the `redis` crate are not used: with retries they repeat a call after a
//! broken connection or a timeout, and without retries they do not follow MOVED.

mod connecting;
mod drivers;
mod errors;
mod refusals;
mod settings;
#[cfg(test)]
mod simulation;
#[cfg(test)]
pub(crate) mod tests;
mod topology;
mod wire;

pub(crate) use drivers::hub::Host;
#[cfg(feature = "bridge")]
pub(crate) use drivers::hub::Hub;
pub(crate) use drivers::loops::asynchronous::AsyncRedis;
#[cfg(feature = "bridge")]
pub(crate) use drivers::loops::loop_host::LoopHost;
pub(crate) use drivers::multiplexer::Then;
#[cfg(feature = "bridge")]
pub(crate) use drivers::spin::{LONGEST as LONGEST_SPIN, Spin};
pub(crate) use drivers::threads::blocking::BlockingRedis;
#[cfg(feature = "bridge")]
pub(crate) use errors::{forked, no_thread};
pub(crate) use settings::url::{Backend, RedisUrl};
pub(crate) use wire::command::{Attempts, CallDeadline, split_replicated};
