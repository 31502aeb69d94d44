//! What stands beside the state of one key: its block, and a limit of its own.
//!
//! The twin of the files in `key_record` of the crate `sluicegate-lua`.

use super::numbers::ceil;
use crate::rules;
use crate::time::clock::{LATEST, Micros};

/// Until when a limit holds that does not expire.
const EVER: Micros = LATEST;

/// The last block of a key, which may be over, and its own limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyRecord {
    /// Until when the key is blocked, or was; 0: it never was.
    blocked_until: Micros,
    /// How long that was to last.
    length: Micros,
    /// How long the last block was to last that began with a denial; 0: there was none.
    grown: Micros,
    /// 0: there is none.
    limit: u64,
    limit_until: Micros,
    /// How long that was to hold.
    limit_length: Micros,
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

/// A span of time as a caller stated it: perhaps none that makes sense.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(u64);

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, dead_code, reason = "for bindings"))]
impl Span {
    /// So many seconds.
    pub fn from_seconds(seconds: f64) -> Self {
        Self(seconds.to_bits())
    }

    /// So many microseconds.
    pub fn from_micros(us: u64) -> Self {
        Self::from_seconds(us as f64 / 1e6)
    }

    pub(crate) fn seconds(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// To the nearest microsecond; what is no span at all is none.
    pub(crate) fn micros(self) -> u64 {
        (self.seconds() * 1e6).round() as u64
    }
}

/// What is changed by hand.
#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRecordChange {
    /// Blocks a key for so long from now.
    Block(Span),
    /// Ends its block.
    Unblock,
    /// Stores a limit of its own, for so long or for ever.
    SetLimit(u64, Option<Span>),
    /// Forgets that.
    ClearLimit,
}

#[cfg_attr(not(feature = "bridge"), allow(unreachable_pub, reason = "for bindings"))]
impl KeyRecordChange {
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

#[cfg(feature = "bridge")]
impl KeyRecordChange {
    /// Every call that says no more than its name, and answers whether it took effect; the others always do.
    pub const PLAIN: [Self; 2] = [Self::Unblock, Self::ClearLimit];

    /// Whether the method answers whether it took effect.
    pub fn is_answered(self) -> bool {
        Self::PLAIN.contains(&self)
    }
}

impl KeyRecordChange {
    /// Whether it is about blocks; else it is about stored limits.
    pub(crate) fn is_block(self) -> bool {
        matches!(self, Self::Block(_) | Self::Unblock)
    }

    /// The limit that it stores.
    pub(crate) fn limit(self) -> Option<u64> {
        if let Self::SetLimit(limit, _) = self { Some(limit) } else { None }
    }

    /// How long it holds, and the name of that; `None`: it states no time.
    pub(crate) fn span(self) -> Option<(&'static str, Span)> {
        match self {
            Self::Block(span) => Some(("duration", span)),
            Self::SetLimit(_, expires_in) => Some(("expires_in", expires_in?)),
            Self::Unblock | Self::ClearLimit => None,
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

impl KeyRecord {
    /// Until when the key is blocked.
    pub(crate) fn blocked_until(&self, now: Micros) -> Option<Micros> {
        (self.blocked_until > now).then_some(self.blocked_until)
    }

    /// The key's own limit.
    pub(crate) fn limit(&self, now: Micros) -> Option<u64> {
        (self.limit > 0 && self.limit_until > now).then_some(self.limit)
    }

    /// Whether its limit ends by time.
    pub(crate) fn limit_ends(&self) -> bool {
        self.limit_until < EVER
    }

    /// After a step of the clock back, a block is one that begins now, and a limit one that is stored now.
    pub(crate) fn heal(&mut self, now: Micros) {
        self.blocked_until = self.blocked_until.min(now + self.length);
        if self.limit_until < EVER {
            self.limit_until = self.limit_until.min(now + self.limit_length);
        }
    }

    /// Begins the block of a key that was denied: longer than the last one if that ended not long ago.
    pub(crate) fn begin_block(&mut self, blocking: &Blocking, now: Micros) {
        let &Blocking { first_block, growth, longest_block } = blocking;
        let mut length = first_block;
        if self.is_remembered(blocking, now) {
            length = length.max(ceil(self.grown as f64 * growth).min(longest_block));
        }
        (self.blocked_until, self.length, self.grown) = (now + length, length, length);
    }

    /// Whether the next block is longer than that one.
    fn is_remembered(&self, blocking: &Blocking, now: Micros) -> bool {
        blocking.growth > 1.0 && self.grown > 0 && now < self.blocked_until + blocking.longest_block
    }

    /// Whether a change by hand took effect.
    pub(crate) fn change(&mut self, change: KeyRecordChange, blocking: &Blocking, now: Micros) -> bool {
        match change {
            KeyRecordChange::Block(span) => {
                self.grown = if self.is_remembered(blocking, now) { self.grown } else { 0 };
                self.length = span.micros() as Micros;
                self.blocked_until = now + self.length;
            }
            KeyRecordChange::Unblock => {
                let was_blocked = self.blocked_until(now).is_some();
                self.blocked_until = self.blocked_until.min(now);
                return was_blocked;
            }
            KeyRecordChange::SetLimit(limit, expires_in) => {
                self.limit = limit;
                self.limit_length = expires_in.map_or(0, |span| span.micros() as Micros);
                self.limit_until = expires_in.map_or(EVER, |_| now + self.limit_length);
            }
            KeyRecordChange::ClearLimit => {
                let had_limit = self.limit(now).is_some();
                (self.limit, self.limit_until, self.limit_length) = (0, 0, 0);
                return had_limit;
            }
        }
        true
    }

    /// Forgets what a reset is to forget: the block, and that there was one; the limit too, unless the rule takes it.
    pub(crate) fn forget(&mut self, keeps_limit: bool) {
        let Self { limit, limit_until, limit_length, .. } = if keeps_limit { *self } else { Self::default() };
        *self = Self { limit, limit_until, limit_length, ..Self::default() };
    }

    /// Until when a part of it matters.
    pub(crate) fn kept_until(&self, blocking: &Blocking) -> Micros {
        let remembers = blocking.growth > 1.0 && self.grown > 0;
        let remembered_until = if remembers { self.blocked_until + blocking.longest_block } else { 0 };
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
        let mut key_record = KeyRecord::default();
        let mut now = 0;
        for length in [10, 15, 23, 35, 40, 40] {
            key_record.begin_block(&BLOCKING, now);
            assert_eq!(key_record.blocked_until(now), Some(now + length));
            now += length;
            assert_eq!(key_record.blocked_until(now), None);
        }
        now += BLOCKING.longest_block;
        assert_eq!(key_record.kept_until(&BLOCKING), now);
        key_record.begin_block(&BLOCKING, now);
        assert_eq!(key_record.blocked_until(now), Some(now + 10));
    }

    #[test]
    fn a_block_that_is_ended_by_hand_is_remembered_from_then() {
        let mut key_record = KeyRecord::default();
        key_record.begin_block(&BLOCKING, 0);
        assert!(
            key_record.change(KeyRecordChange::Unblock, &BLOCKING, 3)
                && !key_record.change(KeyRecordChange::Unblock, &BLOCKING, 3)
        );
        assert_eq!(key_record.kept_until(&BLOCKING), 43);
        key_record.begin_block(&BLOCKING, 42);
        assert_eq!(key_record.blocked_until(42), Some(57));
        key_record.forget(true);
        assert_eq!(key_record, KeyRecord::default());
    }

    #[test]
    fn a_block_by_hand_does_not_grow() {
        let mut key_record = KeyRecord::default();
        key_record.begin_block(&BLOCKING, 0);
        assert!(key_record.change(KeyRecordChange::Block(Span::from_micros(100)), &BLOCKING, 5));
        key_record.begin_block(&BLOCKING, 105);
        assert_eq!(key_record.blocked_until(105), Some(120));
    }

    #[test]
    fn a_clock_that_steps_back_makes_no_block_longer() {
        let mut key_record = KeyRecord::default();
        key_record.begin_block(&BLOCKING, 1_000);
        key_record.heal(7);
        assert_eq!(key_record.blocked_until(7), Some(17));
    }

    #[test]
    fn a_clock_that_steps_back_makes_no_stored_limit_last_longer() {
        let mut key_record = KeyRecord::default();
        assert!(key_record.change(
            KeyRecordChange::SetLimit(7, Some(Span::from_micros(5))),
            &BLOCKING,
            1_000
        ));
        key_record.heal(10);
        assert_eq!((key_record.limit(14), key_record.limit(15)), (Some(7), None));
        assert!(key_record.change(KeyRecordChange::SetLimit(8, None), &BLOCKING, 1_000));
        key_record.heal(10);
        assert_eq!(key_record.limit(LATEST - 1), Some(8));
    }

    #[test]
    fn a_stored_limit_expires() {
        let mut key_record = KeyRecord::default();
        assert!(key_record.change(KeyRecordChange::SetLimit(7, Some(Span::from_micros(5))), &BLOCKING, 10));
        assert_eq!((key_record.limit(14), key_record.limit(15)), (Some(7), None));
        assert!(key_record.change(KeyRecordChange::SetLimit(8, None), &BLOCKING, 10));
        key_record.forget(true);
        assert_eq!(key_record.limit(LATEST - 1), Some(8));
        assert!(key_record.change(KeyRecordChange::ClearLimit, &BLOCKING, 11));
        assert!(!key_record.change(KeyRecordChange::ClearLimit, &BLOCKING, 11));
    }
}
