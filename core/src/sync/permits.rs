//! How many of something may be under way in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fork::PerProcess;

/// A bound on what may hang, and then keeps its thread. A forked child has all permits: nothing is under way there.
#[derive(Debug)]
pub(crate) struct Permits {
    most: usize,
    under_way: PerProcess<Arc<AtomicUsize>>,
}

impl Permits {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, under_way: PerProcess::new(Arc::default()) }
    }

    /// One of them, unless all are taken.
    pub(crate) fn take(&self) -> Option<Permit> {
        let under_way = self.under_way.get(|_| Arc::default());
        let more = |under_way| (under_way < self.most).then_some(under_way + 1);
        let taken = under_way.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Permit(Arc::clone(under_way)))
    }
}

/// Given back when it is dropped.
pub(crate) struct Permit(Arc<AtomicUsize>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
