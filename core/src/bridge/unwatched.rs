//! Where no socket can be watched all calls go by the runner.

use std::time::Duration;

use super::{Ask, Bridge};

#[allow(clippy::unused_self, clippy::missing_const_for_fn, reason = "the functions of `watch.rs`")]
impl Bridge {
    /// Does nothing.
    pub fn want_socket(&self) {}

    /// There is none.
    pub fn new_socket(&self) -> Option<i32> {
        None
    }

    /// There is none.
    pub fn is_socket_over(&self) -> bool {
        false
    }

    /// Does nothing.
    pub fn end_socket(&self) {}

    /// There is none.
    pub fn is_socket_idle(&self) -> bool {
        false
    }

    /// Does nothing.
    pub fn read_socket(&self) {}

    /// Does nothing.
    pub fn wait_awake(&self) {}

    /// The runner's calls have timers of their own.
    pub fn expire(&self) -> Option<Duration> {
        None
    }

    pub(super) fn submit_direct(&self, asks: Vec<(u64, Ask)>) -> Vec<(u64, Ask)> {
        asks
    }

    pub(super) fn close_direct(&self) {}
}
