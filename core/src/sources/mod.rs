//! Where rules come from, and how a limiter follows them while it runs.
//!
//! A [`RuleSource`] reports what it holds, on a thread of its own. Every report is judged as a whole: a file, or
//! one rule of a source that keeps them apart. What is valid takes effect with the next check, all counts kept;
//! what is not is refused, logged and listed in [`RulesStatus`], and its last good version stays in force.
//!
//! [`Rules`] are a source that never changes; [`FileSource`] and `ZooKeeperSource` are followed.
//!
//! ```
//! use sluicegate::RateLimiter;
//! use sluicegate::sources::FileSource;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let path = std::env::temp_dir().join(format!("sluicegate-{}.json", std::process::id()));
//! # let rules = |limit: u64| {
//! #     let rule = r#"{ "rule_id": "login", "algorithm": "fixed_window", "window_size_seconds": 3600, "limit": "#;
//! #     format!("[{rule}{limit} }}]")
//! # };
//! std::fs::write(&path, rules(5))?;
//! let limiter = RateLimiter::builder("memory://").rules(FileSource::new(&path)).build()?;
//! assert_eq!(limiter.check("login", "alice")?.remaining, 4);
//!
//! std::fs::write(&path, rules(9))?;
//! while limiter.rules_status().updates == 1 {
//!     std::thread::sleep(std::time::Duration::from_millis(10));
//! }
//! assert_eq!(limiter.check("login", "alice")?.remaining, 7);
//! # std::fs::remove_file(path)?;
//! # Ok(())
//! # }
//! ```

mod book;
mod cache;
mod file;
mod fixed;
mod following;
mod lost;
mod named;
mod origin;
mod reading;
mod rulebook;
mod snapshot;
mod source;
mod status;
#[cfg(test)]
mod tests;
mod update_log;
mod updates;
#[cfg(feature = "zookeeper")]
mod zookeeper;

pub use file::FileSource;
pub use named::named;
pub(crate) use origin::Origin;
pub(crate) use rulebook::RuleBook;
pub(crate) use snapshot::Snapshot;
pub use source::{Following, RuleSource, TlsFiles};
pub use status::{Refusal, RulesStatus};
pub use updates::Updates;
#[cfg(feature = "zookeeper")]
pub use zookeeper::ZooKeeperSource;

#[cfg(doc)]
use crate::rules::Rules;
