//! The answer to a check.

use std::time::Duration;

use crate::rules::{MAX_MICROS, RuleId};

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A Redis server: the decision holds for every process that shares it.
    Server,
    /// The in-memory engine.
    Memory,
    /// Nobody: no server could, and what the rule or the limiter says for that case was done.
    Fallback,
    /// This process, which remembers a denial of the server (see [`remember_denials`](crate::Builder::remember_denials)).
    Cache,
    /// This process, of units that it has borrowed of the server.
    Lease,
    /// The near server, of units that the region in charge of the key has lent.
    Allotment,
    /// The near server, by the part of this region, since the region in charge of the key cannot be reached.
    Share,
}

/// Who decided, and where what was charged is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) source: Source,
    /// Whether as many replicas as are asked for have it.
    pub(crate) is_replicated: bool,
}

impl From<Source> for Origin {
    fn from(source: Source) -> Self {
        Self { source, is_replicated: false }
    }
}

impl Source {
    /// `"server"`, `"memory"`, `"fallback"`, `"cache"`, `"lease"`, `"allotment"` or `"share"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Memory => "memory",
            Self::Fallback => "fallback",
            Self::Cache => "cache",
            Self::Lease => "lease",
            Self::Allotment => "allotment",
            Self::Share => "share",
        }
    }
}

/// The result of a check: whether the cost is admitted, what is left, and when to retry.
///
/// A denial is a decision too, never an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
    pub allowed: bool,
    /// The rule that decided: when denied, the one that makes the caller wait the longest. Empty when no
    /// rule applied to a request; then everything is admitted, and `limit` and `remaining` are 2^53 - 1.
    pub rule: RuleId,
    /// The most that the deciding limit admits at once from a key never seen, in units of cost.
    pub limit: u64,
    /// The time in which `limit` is admitted anew, over and over; zero for `decay`, which has no window.
    pub window: Duration,
    /// The most cost that would still be admitted now.
    pub remaining: u64,
    /// The shortest wait after which the same cost would be admitted if nobody else came.
    /// Zero when it fits, [`Duration::MAX`] when it never can.
    pub retry_after: Duration,
    /// Time until the key is as if never seen.
    pub reset_after: Duration,
    /// Whether the key is blocked: by an earlier denial, by this one, or by hand.
    pub blocked: bool,
    /// True when a rule in shadow would have denied.
    pub shadow_denied: bool,
    /// Whether nothing but rules in shadow decided.
    pub shadow: bool,
    /// Who decided.
    pub source: Source,
    /// Whether as many replicas as [`replicas`](crate::Builder::replicas) asks for have what was charged: where these are
    /// all, no failover loses it. Always false where none are asked for.
    pub replicated: bool,
    /// One decision per item of a `check_all`, in order; empty otherwise.
    pub parts: Vec<Decision>,
}

impl Decision {
    /// Whether any rule applied. Only a request can find that none does.
    pub fn rule_applied(&self) -> bool {
        !self.rule.is_empty()
    }

    /// A decision to be filled in, for bindings that keep decisions in a form of their own.
    #[cfg(feature = "bridge")]
    pub fn blank() -> Self {
        Self::unruled(Source::Memory)
    }

    /// The answer to a request to which no rule applies. Its figures are the largest a rule could have,
    /// which every language holds exactly.
    pub(crate) fn unruled(source: Source) -> Self {
        Self {
            allowed: true,
            rule: RuleId::default(),
            limit: MAX_MICROS - 1,
            window: Duration::ZERO,
            remaining: MAX_MICROS - 1,
            retry_after: Duration::ZERO,
            reset_after: Duration::ZERO,
            blocked: false,
            shadow_denied: false,
            shadow: false,
            source,
            replicated: false,
            parts: Vec::new(),
        }
    }
}
