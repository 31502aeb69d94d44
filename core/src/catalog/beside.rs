//! What stands beside the counts of a rule's limits: reservations, blocks, and limits of single keys.

use std::hash::{BuildHasher, RandomState};

use crate::algorithm::{Blocking, Micros};
use crate::rules::{Rule, Scope};

/// Identifies a limit: a hash of the names of its rule and its state, whose seed is the limiter's. So
/// a limit keeps its number while rules come and go, and what the in-memory engine counted under it is still its own,
/// though nothing is kept of limits that are gone. (Of 10,000 rules two have the same number in one of 300 billion
/// limiters.)
pub(crate) type LimitNumber = u64;

/// The bits in which the numbers of one rule are the same: with them the in-memory engine chooses the shard, so that what
/// it keeps for one key of a rule lies in one, behind one lock.
const OF_RULE: LimitNumber = 0xffff << SHARD_SHIFT;
/// The lowest of them.
pub(crate) const SHARD_SHIFT: u32 = 40;

/// The number of a rule's limit, by the seed of the limiter.
pub(super) fn number(numbers: &RandomState, rule: &str, suffix: &str) -> LimitNumber {
    numbers.hash_one((rule, suffix)) & !OF_RULE | numbers.hash_one(rule) & OF_RULE
}

/// How a rule holds what is reserved: apart for the key and for the resource.
#[derive(Debug)]
pub(crate) struct Holds {
    pub(crate) lease: Micros,
    /// Where there is a limit of that scope: its number, as those of limits.
    numbers: [Option<LimitNumber>; 2],
}

/// Scopes, as places in [`Holds::numbers`], with the last part of the name of what is held.
const HOLDING: [(Scope, &str); 2] = [(Scope::Key, "h"), (Scope::Resource, "h.r")];

impl Holds {
    pub(super) fn new(rule: &Rule, number: impl Fn(&str) -> LimitNumber) -> Option<Self> {
        let has = |scope| rule.limits.iter().any(|limit| limit.scope == scope);
        let numbers = HOLDING.map(|(scope, suffix)| has(scope).then(|| number(suffix)));
        Some(Self { lease: rule.lease_us? as Micros, numbers })
    }

    /// The number of what is held for a key, of a rule that limits one.
    #[inline]
    pub(crate) fn of_key(&self) -> Option<LimitNumber> {
        self.numbers[0]
    }

    /// The scopes of the rule, each with the number and the suffix of what is held in it.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = (Scope, LimitNumber, &'static str)> {
        let all = HOLDING.into_iter().zip(self.numbers);
        all.filter_map(|((scope, suffix), number)| Some((scope, number?, suffix)))
    }
}

/// What may stand beside the state of each key of a rule.
#[derive(Debug)]
pub(crate) struct KeyRecordPolicy {
    /// As those of limits.
    pub(crate) number: LimitNumber,
    /// How keys are blocked; `None`: they are not.
    pub(crate) blocking: Option<Blocking>,
    /// Whether a key may have a limit of its own.
    pub(crate) overrides: bool,
}

impl KeyRecordPolicy {
    /// The last part of its name.
    pub(crate) const SUFFIX: &str = "st";

    pub(super) fn new(rule: &Rule, number: impl Fn(&str) -> LimitNumber) -> Option<Self> {
        let blocking = rule.block.as_ref().map(Blocking::from);
        let overrides = rule.overrides;
        (blocking.is_some() || overrides).then(|| Self { number: number(Self::SUFFIX), blocking, overrides })
    }
}
