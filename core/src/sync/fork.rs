//! State that a forked child must not share with its parent.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use once_cell::race::OnceBox;

/// Grows with every fork that lies between the first process of this family and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// Differs between a process and its forked children, and costs a load: asking the kernel for the
/// process id with every call would cost more than an in-memory decision.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    // Not a `Once`, in which a child that is forked meanwhile would wait for ever. That forks may be counted
    // twice for it does no harm.
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Acquire) {
        watch();
        WATCHED.store(true, Ordering::Release);
    }
    GENERATION.load(Ordering::Relaxed)
}

#[cfg(unix)]
#[allow(unsafe_code, reason = "no safe API reports a fork")]
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
/// It also inherits locks as they were, perhaps held by a thread that does not exist in the child, and what they guard
/// half changed; so the parent's value is only looked at, never locked or dropped, and the child's value hangs from it in
/// a cell for which threads race: a child may fork while one of its threads makes the value, and nobody would end a wait
/// for that one in the grandchild.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    generation: u32,
    value: ManuallyDrop<T>,
    child: OnceBox<PerProcess<T>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { generation: generation(), value: ManuallyDrop::new(value), child: OnceBox::new() }
    }

    /// This process's value; `renew` makes the child's from the parent's. Threads that come at once may each make
    /// one, of which one is kept.
    #[inline(always)]
    pub(crate) fn get(&self, renew: impl Fn(&T) -> T) -> &T {
        let generation = generation();
        let mut process = self;
        while process.generation != generation {
            process = process.child.get_or_init(|| Box::new(Self::new(renew(&process.value))));
        }
        &process.value
    }
}

impl<T> Drop for PerProcess<T> {
    #[allow(unsafe_code, reason = "a value is dropped or not, by the process")]
    fn drop(&mut self) {
        if self.generation == generation() {
            // SAFETY: nothing comes after the drop.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_child_gets_one_value_of_its_own() {
        let parent = of_parent(1);
        assert_eq!(*parent.get(|value| value + 1), 2);
        assert_eq!(*parent.get(|_| 9), 2);
        assert_eq!(*PerProcess::new(7).get(|_| 9), 7);
    }

    #[test]
    fn a_child_drops_its_own_value_alone() {
        let [parents, childs] = [Arc::new(()), Arc::new(())];
        let value = of_parent(Arc::clone(&parents));
        value.get(|_| Arc::clone(&childs));
        drop(value);
        assert_eq!((Arc::strong_count(&parents), Arc::strong_count(&childs)), (2, 1));
    }

    fn of_parent<T>(value: T) -> PerProcess<T> {
        let mut process = PerProcess::new(value);
        process.generation = u32::MAX;
        process
    }

    #[test]
    fn nobody_waits_for_a_thread_that_makes_the_value() {
        let parent = of_parent(1);
        let ((began, beginning), (end, ending)) = (channel(), channel::<()>());
        let (got, getting) = channel();
        thread::scope(|scope| {
            let parent = &parent;
            let held_up = scope.spawn(move || {
                *parent.get(|_| {
                    began.send(()).unwrap();
                    ending.recv().unwrap();
                    2
                })
            });
            beginning.recv().unwrap();
            scope.spawn(move || got.send(*parent.get(|_| 3)).unwrap());
            let value = getting.recv_timeout(Duration::from_secs(10));
            end.send(()).unwrap();
            assert_eq!((value, held_up.join().unwrap()), (Ok(3), 3));
        });
    }
}
