//! State that a forked child must not share with its parent.

use std::sync::OnceLock;

/// A value of which every process that descends from the creator gets its own.
///
/// A child inherits the sockets of its parent, and two processes on one socket read each other's answers.
/// It also inherits locks as they were, perhaps held by a thread that does not exist in the child; so the
/// parent's value is only looked at, never locked, and the child's value hangs from it behind a `OnceLock`.
pub(super) struct PerProcess<T> {
    pid: u32,
    value: T,
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(super) fn new(value: T) -> Self {
        Self { pid: std::process::id(), value, child: OnceLock::new() }
    }

    /// This process's value; `renew` makes the child's from the parent's.
    pub(super) fn get(&self, renew: impl Fn(&T) -> T) -> &T {
        let pid = std::process::id();
        let mut process = self;
        while process.pid != pid {
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
        let parent = PerProcess { pid: 0, value: 1, child: OnceLock::new() };
        assert_eq!(*parent.get(|value| value + 1), 2);
        assert_eq!(*parent.get(|_| 9), 2);
        assert_eq!(*PerProcess::new(7).get(|_| 9), 7);
    }
}
