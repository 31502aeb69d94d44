//! The status of the rules in force.

use std::time::SystemTime;

/// The rules in force: which, since when, and what was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RulesStatus {
    /// Where the rules come from, without passwords. `fixed` for rules that never change.
    pub source: String,
    /// Identifies the rules in force; see [`Rules::version`](crate::Rules::version).
    pub version: String,
    /// How many rules are in force.
    pub rules: usize,
    /// When the rules in force were loaded.
    pub loaded_at: SystemTime,
    /// How often rules took effect, those of the start included.
    pub updates: u64,
    /// How many updates were refused since the start.
    pub refusals: u64,
    /// What is refused at present; its last good version, if there is one, is in force instead.
    pub refused: Vec<Refusal>,
    /// Whether the source could be read the last time. Changes go unnoticed as long as it cannot.
    pub reachable: bool,
    /// Whether the rules are the copy of the cache, as the source could not be read yet.
    pub cached: bool,
    /// What last went wrong, even if it is well again.
    pub last_error: Option<String>,
}

/// A unit of a source that is not in force as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The name of the rule, or of the source where that is updated as a whole.
    pub unit: String,
    /// Why.
    pub reason: String,
}
