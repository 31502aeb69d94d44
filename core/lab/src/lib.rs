//! What each rule lets through: traffic in virtual time, sent through the real engine, counted and drawn.
//!
//! ```
//! use sluicegate::Rules;
//! use sluicegate_lab::{Options, Traffic, simulate};
//!
//! let rules = Rules::from_json(
//!     r#"[{"rule_id": "window", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 10}]"#,
//! )?;
//! // 20 calls around every other edge of a window: the limit before it, and the limit after it.
//! let traffic = Traffic::parse(&["edge:size=20,window=10s,for=1m"], &rules)?;
//! let report = simulate(&rules, &traffic, Options::default(), &mut ())?;
//! assert_eq!(report.strategies[0].worst().count, 20);
//! # Ok::<(), sluicegate::Error>(())
//! ```
//!
//! Nothing here does I/O. An [`Observer`] sees every decision, may make a run wait for real time, and may end it.

mod compare;
mod fleet;
mod json;
mod lane;
mod observer;
mod options;
pub mod plot;
mod random;
mod replay;
mod report;
mod simulation;
mod tally;
mod traffic;
mod units;

pub use compare::{ALGORITHMS, compare};
pub use observer::{Observer, Record};
pub use options::{Options, START_US};
pub use replay::Replay;
pub use report::{
    Bin, BorrowingReport, DeniedKey, ExcessReport, Fairness, LimitReport, Report, Requests, StrategyReport,
    WaitReport, Worst,
};
pub use simulation::simulate;
pub use traffic::{Call, CallDuration, Traffic, WORDS};
pub use units::{duration_us, rate};
