//! Events of limiters, such as that a circuit breaker has opened, for the programs that listen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi_derive::napi;
use sluicegate::bridge::{LogLine, log_to};

use crate::wake::{Wake, WakeFunction};

/// More events than this do not wait to be read; further ones are dropped.
const MOST: usize = 1000;

/// Those who listen: one for each environment of Node.
static LISTENERS: Mutex<Vec<Weak<Listener>>> = Mutex::new(Vec::new());

struct Listener {
    wake: Wake,
    unread: Mutex<VecDeque<LogLine>>,
}

/// The events that have not been read yet. While there is one, warnings are not written to standard error.
#[napi]
pub struct NativeEvents(Arc<Listener>);

/// One event.
#[napi(object)]
pub struct NativeEvent {
    pub warning: bool,
    pub name: String,
    pub message: String,
}

#[napi]
impl NativeEvents {
    /// `wake` is called when there is something to read.
    #[napi(constructor, catch_unwind)]
    pub fn new(wake: WakeFunction) -> Self {
        let listener = Arc::new(Listener { wake: Wake::new(wake), unread: Mutex::default() });
        let mut listeners = locked(&LISTENERS);
        listeners.push(Arc::downgrade(&listener));
        log_to(Some(Box::new(tell)));
        Self(listener)
    }

    /// The events since the last call.
    #[napi(catch_unwind)]
    pub fn take(&self) -> Vec<NativeEvent> {
        let lines = std::mem::take(&mut *locked(&self.0.unread));
        let event =
            |line: LogLine| NativeEvent { warning: line.is_warning, name: line.event, message: line.message };
        lines.into_iter().map(event).collect()
    }

    /// Listens no longer.
    #[napi(catch_unwind)]
    pub fn end(&self) {
        forget(&self.0);
    }
}

impl Drop for NativeEvents {
    fn drop(&mut self) {
        forget(&self.0);
    }
}

fn forget(listener: &Arc<Listener>) {
    let mut listeners = locked(&LISTENERS);
    listeners.retain(|other| other.upgrade().is_some_and(|other| !Arc::ptr_eq(&other, listener)));
    if listeners.is_empty() {
        log_to(None);
    }
}

fn tell(line: &LogLine) {
    let listeners: Vec<_> = locked(&LISTENERS).iter().filter_map(Weak::upgrade).collect();
    for listener in listeners {
        let mut unread = locked(&listener.unread);
        if unread.len() < MOST {
            unread.push_back(line.clone());
        }
        drop(unread);
        listener.wake.call();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
