//! State that a forked child must not share with its parent.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// How many forks lie between the first process of this family and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Differs between a process and its forked children, and costs a load: asking the kernel for the
/// process id with every call would cost more than an embedded decision.
pub(crate) fn generation() -> u32 {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    GENERATION.load(Ordering::Relaxed)
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "nothing safe tells a process that it was forked")]
fn watch() {
    extern "C" fn forked() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler only adds to an atomic, which a child may do right after the fork. Without
    // memory for the handler the call fails, and a fork goes unnoticed.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
}

#[cfg(not(unix))]
fn watch() {}

/// A value of which every process that descends from the creator gets its own.
///
/// A child inherits the sockets of its parent, and two processes on one socket read each other's answers.
/// It also inherits locks as they were, perhaps held by a thread that does not exist in the child; so the
/// parent's value is only looked at, never locked, and the child's value hangs from it behind a `OnceLock`.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    generation: u32,
    value: T,
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { generation: generation(), value, child: OnceLock::new() }
    }

    /// This process's value; `renew` makes the child's from the parent's.
    pub(crate) fn get(&self, renew: impl Fn(&T) -> T) -> &T {
        let generation = generation();
        let mut process = self;
        while process.generation != generation {
            process = process.child.get_or_init(|| Box::new(Self::new(renew(&process.value))));
        }
        &process.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_one_value_of_its_own() {
        let parent = PerProcess { generation: u32::MAX, value: 1, child: OnceLock::new() };
        assert_eq!(*parent.get(|value| value + 1), 2);
        assert_eq!(*parent.get(|_| 9), 2);
        assert_eq!(*PerProcess::new(7).get(|_| 9), 7);
    }
}
