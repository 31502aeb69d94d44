//! The answer to a check.

use std::sync::Arc;
use std::time::Duration;

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A Redis server: the decision holds for every process that shares it.
    Server,
    /// The engine inside this process.
    Embedded,
}

impl Source {
    /// `"server"` or `"embedded"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Embedded => "embedded",
        }
    }
}

/// Whether a cost is admitted, and what the caller may want to tell the one who asked.
///
/// A denial is a decision too, never an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
    pub allowed: bool,
    /// The rule that decided: when denied, the one that makes the caller wait the longest.
    pub rule: Arc<str>,
    /// The most that the deciding limit admits at once from a key never seen, in units of cost.
    pub limit: u64,
    /// The most cost that would still be admitted now.
    pub remaining: u64,
    /// The shortest wait after which the same cost would be admitted if nobody else came.
    /// Zero when it fits, [`Duration::MAX`] when it never can.
    pub retry_after: Duration,
    /// Time until the key is as if never seen.
    pub reset_after: Duration,
    /// True when a rule in shadow would have denied.
    pub shadow_denied: bool,
    /// Who decided.
    pub source: Source,
    /// One decision per item of a `check_all`, in order; empty otherwise.
    pub parts: Vec<Decision>,
}
