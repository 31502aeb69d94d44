//! How many calls wait for room.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::fork::generation;

/// The calls of this process that wait. A forked child begins with none, since its parent's threads are not in it: so the
/// generation of the process stands in the upper half.
#[derive(Debug, Default)]
pub(super) struct Waiting(Arc<AtomicU64>);

impl Waiting {
    pub(super) fn count(&self) -> u64 {
        let found = self.0.load(Ordering::Relaxed);
        if found >> 32 == u64::from(generation()) { found & u64::from(u32::MAX) } else { 0 }
    }

    /// Counts a call until what is returned is dropped.
    pub(super) fn enter(&self) -> WaitingCall {
        let own = u64::from(generation()) << 32;
        let more = |found: u64| Some(if found >> 32 == own >> 32 { found + 1 } else { own + 1 });
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        WaitingCall { waiting: Arc::clone(&self.0), generation: (own >> 32) as u32 }
    }
}

/// A call that waits under a rule, until it is dropped.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    waiting: Arc<AtomicU64>,
    generation: u32,
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        let entered = u64::from(self.generation);
        let fewer = |found: u64| (found >> 32 == entered).then(|| found - 1);
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_waits_until_it_is_dropped() {
        let waiting = Waiting::default();
        let calls = [waiting.enter(), waiting.enter()];
        assert_eq!(waiting.count(), 2);
        drop(calls);
        assert_eq!(waiting.count(), 0);
    }

    #[test]
    fn calls_of_another_process_do_not_wait_here() {
        let waiting = Waiting::default();
        let parent =
            WaitingCall { waiting: Arc::clone(&waiting.0), generation: generation().wrapping_add(1) };
        waiting.0.store((u64::from(parent.generation) << 32) + 1, Ordering::Relaxed);
        assert_eq!(waiting.count(), 0);
        let own = waiting.enter();
        drop(parent);
        assert_eq!(waiting.count(), 1);
        drop(own);
    }
}
