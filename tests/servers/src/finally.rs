//! What is to happen however a test ends.

/// Does something at the end of its scope, also when a test fails. Threads of a `thread::scope` that go on until they are
/// told to stop are told so by this: the scope waits for them before the failure is seen.
#[must_use = "it happens where this is dropped"]
pub struct Finally<F: Fn()>(F);

/// Does this where the value is dropped.
pub fn finally<F: Fn()>(action: F) -> Finally<F> {
    Finally(action)
}

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_test_that_fails_beside_a_thread_ends() {
        let over = AtomicBool::new(false);
        let failing = || {
            thread::scope(|scope| {
                let _stop = finally(|| over.store(true, Ordering::Relaxed));
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        thread::yield_now();
                    }
                });
                assert!(over.load(Ordering::Relaxed), "it fails");
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(failing)).is_err());
    }
}
