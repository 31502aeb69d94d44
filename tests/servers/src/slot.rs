//! The place of a process that can be killed, paused and started again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::process::Process;
use crate::{Error, Result};

/// A process or none, steered through a shared reference from any thread.
#[derive(Debug, Default)]
pub(crate) struct Slot(Mutex<Option<Process>>);

impl Slot {
    pub(crate) fn pid(&self) -> Option<u32> {
        self.lock().as_ref().map(Process::pid)
    }

    /// Whether there is a process and it is not paused.
    pub(crate) fn is_running(&self) -> bool {
        self.lock().as_ref().is_some_and(|process| !process.is_paused())
    }

    pub(crate) fn fill(&self, process: Process) {
        *self.lock() = Some(process);
    }

    /// Ends the process, if there is one.
    pub(crate) fn kill(&self) {
        *self.lock() = None;
    }

    pub(crate) fn set_paused(&self, paused: bool) -> Result<()> {
        match &mut *self.lock() {
            Some(process) => process.set_paused(paused),
            None => Err(Error::new("a server that was killed can be neither paused nor resumed")),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
