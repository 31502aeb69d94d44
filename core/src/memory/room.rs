//! How many states are kept, of all shards together.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Shards take room in pieces of this, so that few of them meet.
const PIECE: usize = 64;

/// Room for states, shared by the shards.
#[derive(Debug)]
pub(super) struct Room {
    max: usize,
    taken: AtomicUsize,
    /// States that were forgotten before their reset, and how many of them were logged.
    evicted: AtomicU64,
    logged: AtomicU64,
}

impl Room {
    pub(super) fn new(max: usize) -> Self {
        Self { max, taken: AtomicUsize::new(0), evicted: AtomicU64::new(0), logged: AtomicU64::new(0) }
    }

    /// Takes room for some more states; none if there is none left.
    #[inline]
    pub(super) fn take(&self) -> usize {
        // Pieces become smaller towards the end, since what others took and do not need is of use to nobody.
        let left = |taken| self.max.saturating_sub(taken);
        let piece = |taken| left(taken).div_ceil(PIECE).min(PIECE);
        let taken = self.taken.fetch_update(Relaxed, Relaxed, |taken| Some(taken + piece(taken)));
        taken.map_or(0, piece)
    }

    /// Gives back what is not needed for `len` states, but for a piece; returns what is kept.
    #[inline]
    pub(super) fn trim(&self, allowance: usize, len: usize) -> usize {
        let kept = allowance.min(len + PIECE);
        self.taken.fetch_sub(allowance - kept, Relaxed);
        kept
    }

    /// Counts a state that was forgotten before its reset.
    pub(super) fn note_eviction(&self) {
        self.evicted.fetch_add(1, Relaxed);
    }

    /// How many states were forgotten before their reset.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    /// Logs evictions: the first, and whenever they are twice as many. Not to be called with a lock
    /// held, since the logger may call the limiter.
    #[inline]
    pub(super) fn tell(&self) {
        let (evicted, logged) = (self.evicted(), self.logged.load(Relaxed));
        let is_news = evicted > 0 && evicted >= logged * 2;
        if is_news && self.logged.compare_exchange(logged, evicted, Relaxed, Relaxed).is_ok() {
            log::warn!(
                "memory://: {evicted} states were forgotten before their reset: max_keys is {} (raise it, or count \
                 on a server)",
                self.max
            );
        }
    }
}
