//! One rate limiter for a fleet: it decides atomically inside Redis, or in memory, by one set of rules.
//!
//! ```
//! use sluicegate::{RateLimiter, Rules};
//!
//! let rules = Rules::from_json(
//!     r#"[{"rule_id": "login", "rate": "5/minute", "identifier_type": "ip_address"}]"#,
//! )?;
//! let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
//! let decision = limiter.check("login", "203.0.113.9")?;
//! assert!(decision.allowed);
//! assert_eq!((decision.limit, decision.remaining), (5, 4));
//! # Ok::<(), sluicegate::Error>(())
//! ```
//!
//! - [`RateLimiter`] blocks, [`AsyncRateLimiter`] is for Tokio; both are opened by a [`Builder`] on the
//!   backend that a URL names.
//! - [`Rules`] are read from JSON, strictly; [`rules`] holds what a rule is. They may change while the limiter
//!   runs: [`sources`].
//! - A [`Request`] chooses the rules that apply to it ([`check_request`](RateLimiter::check_request)), and a
//!   decision knows the [headers](Decision::headers) of the answer.
//! - A [`Decision`] says whether a cost is admitted, what is left, and when to retry. A denial is a
//!   decision, never an error. An [`Error`] has a [kind](ErrorKind).
//! - [`ManualClock`] stands in for the server's clock in tests of your own.
//!
//! # Guarantees
//!
//! Never more than the algorithm's bound is admitted, however many processes and threads ask. A denial
//! changes nothing (unless the rule says `count_denied`). `retry_after` is the shortest wait after which
//! the same cost would be admitted if nobody else came, and `remaining` the most that would be admitted
//! now. Several limits are charged together or not at all, in one round trip. The clock is the server's; it
//! never runs backwards for a key. Every key in Redis expires, except for a limit that is stored without an
//! expiry. A call that may have been charged is sent again only if the server recognizes it: by the `request_id`
//! of the call, or the id of a reservation.
//!
//! # Features
//!
//! - `tls`: connections with TLS; on by default.
//! - `zookeeper`: rules that ZooKeeper keeps.
//! - `tower`: a layer for axum, hyper and other servers of HTTP.
//!
//! The command-line tool is the crate [`sluicegate-cli`](https://docs.rs/sluicegate-cli); what rules let through in simulated
//! traffic, [`sluicegate-lab`](https://docs.rs/sluicegate-lab).

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod algorithm;
#[doc(hidden)]
#[cfg(feature = "bridge")]
pub mod bridge;
mod callers;
mod catalog;
mod cells;
mod decision;
#[cfg(test)]
mod effort;
mod error;
mod events;
#[cfg(test)]
mod fuzz;
mod http;
#[doc(hidden)]
#[cfg(feature = "internal")]
pub mod internal;
mod keys;
mod limiter;
mod matching;
mod memory;
pub mod metrics;
mod net;
mod options;
mod plan;
#[cfg(any(test, feature = "internal"))]
#[cfg_attr(not(feature = "internal"), allow(unreachable_pub, reason = "for the lab"))]
mod random;
mod redis;
mod regions;
mod request;
mod reservation;
pub mod rules;
mod script;
mod sequence;
pub mod sources;
mod sync;
mod text;
mod time;
#[cfg(feature = "tower")]
pub mod tower;
mod tracking;

pub use self::http::HeaderStyle;
pub use decision::{Decision, Source};
pub use error::{Error, ErrorKind, Result};
pub use keys::address::address_key;
pub use keys::composite::CompositeKey;
pub use limiter::{AsyncRateLimiter, Builder, RateLimiter};
pub use matching::{Explanation, Request, RequestMatch};
pub use options::{Credentials, CredentialsProvider};
pub use request::{Check, CheckAllOptions, CheckOptions};
pub use reservation::{Reservation, ReservationRef, Usage};
pub use rules::{RuleId, Rules};
pub use time::clock::ManualClock;
