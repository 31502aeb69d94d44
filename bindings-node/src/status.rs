//! Which rules are in force, as JavaScript receives it.

use std::time::UNIX_EPOCH;

use napi_derive::napi;

/// `RulesStatus`, with the time as a number.
#[napi(object, object_from_js = false)]
pub struct Status {
    /// Where the rules come from.
    pub source: String,
    /// Identifies them.
    pub version: String,
    /// How many there are.
    pub rules: f64,
    /// When they were loaded, in milliseconds since 1970.
    pub loaded_at: f64,
    /// How often rules took effect.
    pub updates: f64,
    /// How many updates were refused.
    pub refusals: f64,
    /// What is refused at present.
    pub refused: Vec<Refusal>,
    /// Whether the source could be read the last time.
    pub reachable: bool,
    /// Whether the rules are the copy of the cache.
    pub cached: bool,
    /// What last went wrong.
    pub last_error: Option<String>,
}

/// A unit of a source that is not in force as it stands there.
#[napi(object, object_from_js = false)]
pub struct Refusal {
    /// The name of the rule, or of the source.
    pub unit: String,
    /// Why.
    pub reason: String,
}

impl From<sluicegate::sources::RulesStatus> for Status {
    fn from(status: sluicegate::sources::RulesStatus) -> Self {
        let loaded_at = status.loaded_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let refused = status.refused.into_iter();
        Self {
            source: status.source,
            version: status.version,
            rules: status.rules as f64,
            loaded_at: loaded_at.as_millis() as f64,
            updates: status.updates as f64,
            refusals: status.refusals as f64,
            refused: refused.map(|it| Refusal { unit: it.unit, reason: it.reason }).collect(),
            reachable: status.reachable,
            cached: status.cached,
            last_error: status.last_error,
        }
    }
}
