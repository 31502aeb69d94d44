//! The answer to a check.

use std::ffi::c_char;

use sluicegate::bridge::RawDecision;

use crate::argument::Output;
use crate::text::fill;

/// A time that never comes, as in `retry_after_us` of a cost that can never fit.
pub const SLUICEGATE_NEVER: u64 = u64::MAX;
const _: () = assert!(SLUICEGATE_NEVER == RawDecision::NEVER);

/// The room for the name of a rule, its NUL included.
pub const SLUICEGATE_RULE_SIZE: usize = 129;

/// Who decided.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// One that this version of the header does not know.
    Other = 0,
    /// A Redis server: the decision holds for every process that shares it.
    Server = 1,
    /// The in-memory engine.
    Memory = 2,
    /// Nobody: no server could, and what the rule or the limiter says for that case was done.
    Fallback = 3,
    /// The near server, of units that the region in charge of the key has lent.
    Allotment = 4,
    /// The near server, by the part of this region, since the region in charge of the key cannot be reached.
    Share = 5,
    /// This process, which remembers a denial of the server.
    Cache = 6,
    /// This process, of units that it has borrowed of the server.
    Lease = 7,
}

/// The result of a check: whether the cost is admitted, what is left, and when to retry. A plain value:
/// copy it, keep it, and free nothing.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Decision {
    /// The most that the deciding limit admits at once from a key never seen, in units of cost.
    pub limit: u64,
    /// The most cost that would still be admitted now.
    pub remaining: u64,
    /// The shortest wait after which the same cost would be admitted if nobody else came: 0 when it
    /// fits, SLUICEGATE_NEVER when it never can. In microseconds.
    pub retry_after_us: u64,
    /// Time until the key is as if never seen, in microseconds.
    pub reset_after_us: u64,
    /// Who decided.
    pub source: Source,
    /// Whether the cost was, or for a peek would be, admitted. Always true for a rule in shadow.
    pub allowed: bool,
    /// True when a rule in shadow would have denied.
    pub shadow_denied: bool,
    /// The rule that decided: when denied, the one that makes the caller wait the longest. Empty when no
    /// rule applied to a request.
    pub rule: [c_char; SLUICEGATE_RULE_SIZE],
    /// Whether any rule applied. Only a request can find that none does; it is admitted, and `limit` and
    /// `remaining` are 2^53 - 1.
    pub rule_applied: bool,
    /// The time in which `limit` is admitted anew, over and over, in microseconds; 0 for "decay", which
    /// has no window.
    pub window_us: u64,
    /// Whether nothing but rules in shadow decided.
    pub shadow: bool,
    /// Whether the key is blocked: by an earlier denial, by this one, or by hand.
    pub blocked: bool,
    /// Whether as many replicas as `replicas` of the options asks for have what was charged: where these are all, no
    /// failover loses it. Always false where none are asked for.
    pub replicated: bool,
    /// Zeros, in place of fields to come.
    pub reserved: [u8; 21],
}

impl Output for Decision {}

impl From<&sluicegate::Decision> for Decision {
    fn from(decision: &sluicegate::Decision) -> Self {
        RawDecision::from(decision).into()
    }
}

impl From<RawDecision<'_>> for Decision {
    fn from(raw: RawDecision<'_>) -> Self {
        let mut rule = [0; SLUICEGATE_RULE_SIZE];
        fill(&mut rule, raw.rule);
        Self {
            limit: raw.limit,
            remaining: raw.remaining,
            retry_after_us: raw.retry_after_us,
            reset_after_us: raw.reset_after_us,
            source: raw.source.into(),
            allowed: raw.allowed,
            shadow_denied: raw.shadow_denied,
            rule,
            rule_applied: !raw.rule.is_empty(),
            window_us: raw.window_us,
            shadow: raw.shadow,
            blocked: raw.blocked,
            replicated: raw.replicated,
            reserved: [0; 21],
        }
    }
}

impl From<sluicegate::Source> for Source {
    fn from(source: sluicegate::Source) -> Self {
        match source {
            sluicegate::Source::Server => Self::Server,
            sluicegate::Source::Memory => Self::Memory,
            sluicegate::Source::Fallback => Self::Fallback,
            sluicegate::Source::Allotment => Self::Allotment,
            sluicegate::Source::Share => Self::Share,
            sluicegate::Source::Cache => Self::Cache,
            sluicegate::Source::Lease => Self::Lease,
            _ => Self::Other,
        }
    }
}
