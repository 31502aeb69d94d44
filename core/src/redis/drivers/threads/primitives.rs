//! What [`readers`](super::readers) is made of. Its tests replace these by others that play every order of steps.

pub(super) use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
pub(super) use std::thread;

pub(super) use crate::sync::lock::Mutex;
