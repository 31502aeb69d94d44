//! Lists that nearly always have one entry.

use std::ops::{Deref, DerefMut};
use std::slice;

use smallvec::SmallVec;

/// A list that nearly always has one entry, which then needs no memory of its own.
pub(crate) type SmallList<T> = SmallVec<[T; 1]>;

/// Collects entries, of which there is nearly always one: that one takes no loop.
#[inline(always)]
pub(crate) fn gather<T>(mut entries: impl ExactSizeIterator<Item = T>) -> SmallList<T> {
    match entries.len() {
        0 => SmallList::new(),
        1 => entries.next().map_or_else(SmallList::new, |entry| SmallList::from_buf([entry])),
        _ => entries.collect(),
    }
}

/// A list whose first entry needs no memory of its own. Unlike a `SmallVec`, one of entries that borrow may be taken for
/// one of entries that borrow for a shorter time.
#[derive(Debug)]
pub(crate) enum List<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> List<T> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self::Many(Vec::new())
    }

    #[inline]
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self::Many(Vec::with_capacity(capacity))
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: T) {
        match self {
            Self::Many(entries) if entries.capacity() > 0 => entries.push(entry),
            Self::Many(_) => *self = Self::One(entry),
            Self::One(_) => {
                if let Self::One(first) = std::mem::replace(self, Self::new()) {
                    *self = Self::Many(vec![first, entry]);
                }
            }
        }
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(entry) => slice::from_ref(entry),
            Self::Many(entries) => entries,
        }
    }
}

impl<T> DerefMut for List<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(entry) => slice::from_mut(entry),
            Self::Many(entries) => entries,
        }
    }
}

impl<T> FromIterator<T> for List<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut list = Self::new();
        entries.into_iter().for_each(|entry| list.push(entry));
        list
    }
}
