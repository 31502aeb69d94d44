//! The lock of a shard.

use std::hint::spin_loop;
use std::thread::sleep;
use std::time::Duration;

use spin::mutex::{SpinMutex, SpinMutexGuard};

/// How often a thread that waits looks before it takes a nap: some microseconds, in which a decision is over
/// many times unless its thread was preempted.
const LOOKS: usize = 200;
/// The first nap. Naps rather than yields: a thread of real-time priority that yields would never let one of
/// lower priority go on, which may be the one that holds the lock.
const NAP: Duration = Duration::from_micros(20);
/// Each nap is twice as long as the one before, up to this: of many who wait for a thread that was preempted,
/// those who look would keep the processors from it.
const LONGEST_NAP: Duration = Duration::from_millis(1);

/// A lock on cache lines of its own, for what takes some tens of nanoseconds. It adds about five; a mutex of the
/// standard library would add ten, since it has to find out, when it is released, whether anybody sleeps. Here,
/// a waiting thread looks again by itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Lock<T>(SpinMutex<T>);

impl<T> Lock<T> {
    #[inline(always)]
    pub(crate) fn lock(&self) -> SpinMutexGuard<'_, T> {
        self.try_lock().unwrap_or_else(|| self.wait())
    }

    #[inline(always)]
    pub(super) fn try_lock(&self) -> Option<SpinMutexGuard<'_, T>> {
        self.0.try_lock()
    }

    #[cold]
    fn wait(&self) -> SpinMutexGuard<'_, T> {
        for _ in 0..LOOKS {
            spin_loop();
            if let Some(guard) = self.look() {
                return guard;
            }
        }
        let mut nap = NAP;
        loop {
            sleep(nap);
            nap = LONGEST_NAP.min(nap * 2);
            if let Some(guard) = self.look() {
                return guard;
            }
        }
    }

    /// To look does not disturb the one who holds it; to try would.
    fn look(&self) -> Option<SpinMutexGuard<'_, T>> {
        if self.0.is_locked() { None } else { self.try_lock() }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_it() {
        let count = Lock::<u64>::default();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10_000 {
                        let mut count = count.lock();
                        let next = *count + 1;
                        spin_loop();
                        *count = next;
                    }
                });
            }
        });
        assert_eq!(*count.lock(), 80_000);
    }

    #[test]
    fn who_has_gone_to_sleep_gets_it_too() {
        let lock = Lock::<u64>::default();
        thread::scope(|scope| {
            let mut held = lock.lock();
            let waiting = scope.spawn(|| *lock.lock());
            sleep(LONGEST_NAP * 20);
            assert!(lock.try_lock().is_none());
            *held = 1;
            drop(held);
            assert_eq!(waiting.join().unwrap(), 1);
        });
    }
}
