//! What threads leave for one that takes it all at once.

use std::mem::swap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::lock::Mutex;

/// It is mostly empty, and asked often: that takes no lock.
pub(crate) struct Inbox<T> {
    items: Mutex<Vec<T>>,
    /// Whether there are items. Changed only under the lock.
    is_filled: AtomicBool,
}

impl<T> Default for Inbox<T> {
    fn default() -> Self {
        Self { items: Mutex::default(), is_filled: AtomicBool::new(false) }
    }
}

impl<T> Inbox<T> {
    /// Whether there is nothing. In one order with all that is sequentially consistent: who adds something and then
    /// finds nobody about to look is seen by who says that it is not, and then looks.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_filled.load(Ordering::SeqCst)
    }

    /// Adds one.
    pub(crate) fn push(&self, item: T) {
        let mut items = self.items.lock();
        items.push(item);
        self.is_filled.store(true, Ordering::SeqCst);
    }

    /// Adds items. Answers whether they are the first.
    pub(crate) fn put(&self, added: Vec<T>) -> bool {
        if added.is_empty() {
            return false;
        }
        let mut items = self.items.lock();
        let are_first = items.is_empty();
        if are_first {
            *items = added;
        } else {
            items.extend(added);
        }
        self.is_filled.store(true, Ordering::SeqCst);
        are_first
    }

    pub(crate) fn take(&self) -> Vec<T> {
        let mut taken = Vec::new();
        self.take_into(&mut taken);
        taken
    }

    /// Takes what there is, and leaves the memory of an empty `taken` for what will be.
    pub(crate) fn take_into(&self, taken: &mut Vec<T>) {
        if !self.is_empty() {
            let mut items = self.items.lock();
            swap(&mut *items, taken);
            self.is_filled.store(false, Ordering::Release);
        }
    }
}
