//! Spins for a short time before a call blocks.
//!
//! To fall asleep and be woken takes about as long as a server nearby takes to answer, and about as much of the
//! processor as looking for the answer all the while. So a call looks for a short time before it sleeps, as
//! adaptive mutexes do before they block and Linux before it halts a processor
//! (<https://docs.kernel.org/virt/guest-halt-polling.html>). Between two looks any other thread that needs the processor
//! has it, the server above all. Few threads may spin, and only while it pays.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use once_cell::race::OnceNonZeroUsize;

use crate::sync::fork::generation;

/// The longest time to spin, unless others take the processor longer: what it costs to be wrong.
pub(crate) const LONGEST: Duration = Duration::from_micros(50);

/// The most calls in a row that sleep at once after answers came late.
const LONGEST_BACKOFF: u32 = 1024;

/// Decides for the calls to one server whether they spin before they block.
///
/// After each answer that comes late, twice as many calls sleep at once. Threads that count at the same time may lose a
/// count, which does no harm.
#[derive(Default)]
pub(crate) struct Spin {
    /// How many calls were to sleep after the last late answer.
    backoff: AtomicU32,
    /// How many of them are still to come.
    left: AtomicU32,
}

impl Spin {
    /// Spins until `look`, which gets the time of each look, finds an answer, or it is time to block.
    pub(crate) fn poll(&self, mut look: impl FnMut(Instant) -> bool) {
        if !self.is_due() {
            return;
        }
        let Some(_permit) = SpinPermit::take() else { return };
        let mut now = Instant::now();
        let end = now + LONGEST;
        loop {
            let (found, late) = (look(now), now >= end);
            if found || late {
                return self.learn(late);
            }
            thread::yield_now();
            now = Instant::now();
        }
    }

    /// Whether a call may spin; counts those that may not.
    fn is_due(&self) -> bool {
        let left = self.left.load(Ordering::Relaxed);
        if left > 0 {
            self.left.store(left - 1, Ordering::Relaxed);
        }
        left == 0
    }

    fn learn(&self, late: bool) {
        if late {
            let backoff = (self.backoff.load(Ordering::Relaxed) * 2).clamp(1, LONGEST_BACKOFF);
            self.backoff.store(backoff, Ordering::Relaxed);
            self.left.store(backoff, Ordering::Relaxed);
        } else if self.backoff.load(Ordering::Relaxed) > 0 {
            // Only then: what nobody writes to, all processors can keep in their caches.
            self.backoff.store(0, Ordering::Relaxed);
            self.left.store(0, Ordering::Relaxed);
        }
    }
}

/// How many threads of this process spin, below the generation of the process: a forked child inherits
/// the number, but not the threads.
static SPINNING: AtomicU64 = AtomicU64::new(0);

/// The right to spin, which few threads have at a time.
struct SpinPermit;

impl SpinPermit {
    fn take() -> Option<Self> {
        let taken = |spinning| one_more(spinning, generation(), most_spinning());
        SPINNING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).ok().map(|_| Self)
    }
}

impl Drop for SpinPermit {
    fn drop(&mut self) {
        SPINNING.fetch_sub(1, Ordering::Relaxed);
    }
}

fn one_more(spinning: u64, generation: u32, most: u64) -> Option<u64> {
    let ours = spinning >> 32 == u64::from(generation);
    let count = if ours { spinning & u64::from(u32::MAX) } else { 0 };
    (count < most).then_some(u64::from(generation) << 32 | (count + 1))
}

/// Half of the processors that this process may use; with one, the server could not answer meanwhile.
fn most_spinning() -> u64 {
    static PROCESSORS: OnceNonZeroUsize = OnceNonZeroUsize::new();
    let counted = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    PROCESSORS.get_or_init(counted).get() as u64 / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many calls sleep at once after the next answer that comes late.
    fn slept(spin: &Spin) -> usize {
        spin.learn(true);
        std::iter::from_fn(|| (!spin.is_due()).then_some(())).count()
    }

    #[test]
    fn answers_that_come_late_are_slept_for_ever_longer() {
        let spin = Spin::default();
        assert!(spin.is_due());
        let lengths: Vec<_> = (0..13).map(|_| slept(&spin)).collect();
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024]);
    }

    #[test]
    fn an_answer_in_time_ends_the_sleeping() {
        let spin = Spin::default();
        slept(&spin);
        slept(&spin);
        spin.learn(true);
        spin.learn(false);
        assert!(spin.is_due());
        assert_eq!(slept(&spin), 1);
    }

    #[test]
    fn few_threads_spin_at_a_time() {
        assert_eq!(one_more(0, 0, 2), Some(1));
        assert_eq!(one_more(1, 0, 2), Some(2));
        assert_eq!(one_more(2, 0, 2), None);
        assert_eq!(one_more(0, 0, 0), None, "one processor");
    }

    #[test]
    fn a_forked_child_counts_its_own_threads() {
        let parent = one_more(one_more(0, 6, 2).unwrap(), 6, 2).unwrap();
        assert_eq!(one_more(parent, 6, 2), None);
        let child = one_more(parent, 7, 2).unwrap();
        assert_eq!(child, (7 << 32) + 1);
        assert_eq!(one_more(child, 7, 2), Some((7 << 32) + 2));
    }
}
