//! What stands beside the state of one key: its block, and a limit of its own.
//!
//! The twin of the files in `standing` of the crate `sluicegate-lua`.

use super::{Micros, ceil};
use crate::clock::LATEST;
use crate::rules;

/// Until when a limit holds that does not expire.
const EVER: Micros = LATEST;

/// The block of a key and its own limit, each with its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Standing {
    /// Until when the key is blocked; 0: it never was.
    blocked_until: Micros,
    /// When the last block ended, or will, that began with a denial.
    ended_at: Micros,
    /// How long that one was to last; 0: there was none.
    last_block: Micros,
    /// 0: there is none.
    limit: u64,
    limit_until: Micros,
}

/// How keys of a rule are blocked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Blocking {
    /// How long the first block lasts that begins with a denial; 0: none does.
    pub(crate) first_block: Micros,
    /// By how much longer the next one lasts.
    pub(crate) growth: f64,
    pub(crate) longest_block: Micros,
}

/// What is changed by hand.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandingChange {
    /// Blocks a key for so many microseconds from now.
    Block(u64),
    /// Ends its block.
    Unblock,
    /// Stores a limit of its own, for so many microseconds or for ever.
    SetLimit(u64, Option<u64>),
    /// Forgets that.
    ClearLimit,
}

impl StandingChange {
    /// The name of the method.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block(_) => "block",
            Self::Unblock => "unblock",
            Self::SetLimit(..) => "set_limit",
            Self::ClearLimit => "clear_limit",
        }
    }
}

impl From<&rules::Block> for Blocking {
    fn from(block: &rules::Block) -> Self {
        Self {
            first_block: block.length_us.unwrap_or(0) as Micros,
            growth: block.factor,
            longest_block: block.max_us as Micros,
        }
    }
}

impl Standing {
    /// Until when the key is blocked.
    pub(crate) fn blocked_until(&self, now: Micros) -> Option<Micros> {
        (self.blocked_until > now).then_some(self.blocked_until)
    }

    /// The key's own limit.
    pub(crate) fn limit(&self, now: Micros) -> Option<u64> {
        (self.limit > 0 && self.limit_until > now).then_some(self.limit)
    }

    /// Begins the block of a key that was denied: longer than the last one if that ended not long ago.
    pub(crate) fn begin_block(&mut self, blocking: &Blocking, now: Micros) {
        let &Blocking { first_block, growth, longest_block } = blocking;
        let mut length = first_block;
        if growth > 1.0 && self.last_block > 0 && now < self.ended_at + longest_block {
            length = length.max(ceil(self.last_block as f64 * growth).min(longest_block));
        }
        self.last_block = length;
        self.ended_at = now + length;
        self.blocked_until = self.ended_at;
    }

    /// Whether a change by hand took effect.
    pub(crate) fn change(&mut self, change: StandingChange, now: Micros) -> bool {
        match change {
            StandingChange::Block(us) => self.blocked_until = now + us as Micros,
            StandingChange::Unblock => {
                let was_blocked = self.blocked_until(now).is_some();
                (self.blocked_until, self.ended_at) = (0, self.ended_at.min(now));
                return was_blocked;
            }
            StandingChange::SetLimit(limit, expires_in) => {
                self.limit = limit;
                self.limit_until = expires_in.map_or(EVER, |us| now + us as Micros);
            }
            StandingChange::ClearLimit => {
                let had_limit = self.limit(now).is_some();
                (self.limit, self.limit_until) = (0, 0);
                return had_limit;
            }
        }
        true
    }

    /// Forgets what a reset is to forget: the block, and that there was one.
    pub(crate) fn forget(&mut self) {
        *self = Self { limit: self.limit, limit_until: self.limit_until, ..Self::default() };
    }

    /// Until when a part of it matters.
    pub(crate) fn kept_until(&self, blocking: &Blocking) -> Micros {
        let is_remembered = blocking.growth > 1.0 && self.last_block > 0;
        let remembered_until = if is_remembered { self.ended_at + blocking.longest_block } else { 0 };
        let limit_until = if self.limit > 0 { self.limit_until } else { 0 };
        self.blocked_until.max(remembered_until).max(limit_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKING: Blocking = Blocking { first_block: 10, growth: 1.5, longest_block: 40 };

    #[test]
    fn blocks_grow_until_they_are_forgotten() {
        let mut standing = Standing::default();
        let mut now = 0;
        for length in [10, 15, 23, 35, 40, 40] {
            standing.begin_block(&BLOCKING, now);
            assert_eq!(standing.blocked_until(now), Some(now + length));
            now += length;
            assert_eq!(standing.blocked_until(now), None);
        }
        now += BLOCKING.longest_block;
        assert_eq!(standing.kept_until(&BLOCKING), now);
        standing.begin_block(&BLOCKING, now);
        assert_eq!(standing.blocked_until(now), Some(now + 10));
    }

    #[test]
    fn a_block_that_is_ended_by_hand_is_remembered_from_then() {
        let mut standing = Standing::default();
        standing.begin_block(&BLOCKING, 0);
        assert!(standing.change(StandingChange::Unblock, 3) && !standing.change(StandingChange::Unblock, 3));
        assert_eq!(standing.kept_until(&BLOCKING), 43);
        standing.begin_block(&BLOCKING, 42);
        assert_eq!(standing.blocked_until(42), Some(57));
        standing.forget();
        assert_eq!(standing, Standing::default());
    }

    #[test]
    fn a_stored_limit_expires() {
        let mut standing = Standing::default();
        assert!(standing.change(StandingChange::SetLimit(7, Some(5)), 10));
        assert_eq!((standing.limit(14), standing.limit(15)), (Some(7), None));
        assert!(standing.change(StandingChange::SetLimit(8, None), 10));
        standing.forget();
        assert_eq!(standing.limit(LATEST - 1), Some(8));
        assert!(standing.change(StandingChange::ClearLimit, 11));
        assert!(!standing.change(StandingChange::ClearLimit, 11));
    }
}
