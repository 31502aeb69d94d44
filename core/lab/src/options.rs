//! How a run is made.

/// The time at which runs begin by default: 2026-01-01 00:00 UTC, in microseconds since 1970.
pub const START_US: u64 = 1_767_225_600_000_000;

/// How a run is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The backend. Default: `memory://`.
    pub url: String,
    /// What every name in Redis begins with. Default: the limiter's own.
    pub prefix: Option<String>,
    /// Whether time passes by itself, rather than being set. Default: no.
    pub real_time: bool,
    /// When the run begins, in microseconds since 1970. Default: [`START_US`].
    pub start_us: u64,
    /// Fixes what is random. Default: 1.
    pub seed: u64,
    /// Width of a bin in microseconds. Default: a round time, of which the run has about 600.
    pub bin_us: Option<u64>,
    /// How many processes borrow of each rule with `lease`, in virtual time; 0: none does. Default: 10.
    pub processes: u64,
}

impl Default for Options {
    fn default() -> Self {
        let url = "memory://".to_owned();
        Self { url, prefix: None, real_time: false, start_us: START_US, seed: 1, bin_us: None, processes: 10 }
    }
}
