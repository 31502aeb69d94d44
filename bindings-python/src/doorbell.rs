//! How the limiter's thread wakes an event loop: by a pipe that the loop watches. No thread but the loop's
//! touches Python then.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyNotImplementedError;
use pyo3::intern;
use pyo3::prelude::*;

/// More bytes than there ever are in the pipe: it is rung once per burst.
const RINGS: usize = 64;

/// Rung from any thread when there are answers to fetch.
pub(crate) struct Doorbell {
    reader: PipeReader,
    writer: PipeWriter,
    /// For loops that cannot watch a pipe.
    caller: Mutex<Option<Arc<Caller>>>,
    /// A forked child has the same pipe, and in its copy of the loop the same set of watched files.
    pid: u32,
}

/// A loop, and what it is to call.
struct Caller {
    event_loop: Py<PyAny>,
    handler: Py<PyAny>,
}

impl Doorbell {
    pub(crate) fn new() -> PyResult<Self> {
        let (reader, writer) = pipe()?;
        Ok(Self { reader, writer, caller: Mutex::default(), pid: process::id() })
    }

    /// Has a loop call the handler after each ring.
    pub(crate) fn watch(&self, event_loop: &Bound<'_, PyAny>, handler: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = event_loop.py();
        if let Some(pipe) = self.descriptor() {
            match event_loop.call_method1(intern!(py, "add_reader"), (pipe, handler)) {
                Err(error) if error.is_instance_of::<PyNotImplementedError>(py) => (),
                watched => return watched.map(drop),
            }
        }
        let caller = Caller { event_loop: event_loop.clone().unbind(), handler: handler.clone().unbind() };
        *self.caller() = Some(Arc::new(caller));
        // It may have been rung before.
        event_loop.call_method1(intern!(py, "call_soon"), (handler,)).map(drop)
    }

    pub(crate) fn unwatch(&self, event_loop: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.caller().take().is_none()
            && self.is_mine()
            && let Some(pipe) = self.descriptor()
        {
            event_loop.call_method1(intern!(event_loop.py(), "remove_reader"), (pipe,))?;
        }
        Ok(())
    }

    pub(crate) fn ring(&self) {
        // The lock is not held while Python is waited for: the loop's thread takes them the other way round.
        let caller = self.caller().clone();
        match caller {
            Some(caller) => caller.call(),
            // The pipe is never full and this end of it never closed before the other.
            None => drop((&self.writer).write(&[1])),
        }
    }

    /// To be called by the handler, before it fetches the answers: what comes later rings again. Answers
    /// whether it rang for this process.
    pub(crate) fn silence(&self) -> PyResult<bool> {
        if !self.is_mine() {
            return Ok(false);
        }
        if self.caller().is_none() {
            // However many rings it were, one look is enough.
            let _rings = (&self.reader).read(&mut [0; RINGS])?;
        }
        Ok(true)
    }

    fn is_mine(&self) -> bool {
        process::id() == self.pid
    }

    fn caller(&self) -> MutexGuard<'_, Option<Arc<Caller>>> {
        self.caller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(unix)]
    fn descriptor(&self) -> Option<i32> {
        Some(std::os::fd::AsRawFd::as_raw_fd(&self.reader))
    }

    #[cfg(not(unix))]
    fn descriptor(&self) -> Option<i32> {
        None
    }
}

impl Caller {
    /// Nobody is there to be told when the interpreter has ended or the loop is closed.
    fn call(&self) {
        let _ = Python::try_attach(|py| {
            self.event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (&self.handler,)).map(drop)
        });
    }
}
