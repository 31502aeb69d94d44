//! How the limiter's thread wakes an event loop: by a pipe that the loop watches. No thread of this module
//! ever touches Python.

use std::io::{PipeReader, PipeWriter, Read, Result, Write, pipe};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

/// More bytes than there ever are in the pipe: it is rung once per burst.
const RINGS: usize = 64;

/// Rung from any thread when there are answers to fetch.
pub(crate) struct Doorbell {
    /// `None` once it is closed. A thread that waits for a ring keeps the pipe open until there is one.
    pipe: Mutex<Option<Arc<(PipeReader, PipeWriter)>>>,
    /// A forked child has the same pipe, and in its copy of the loop the same set of watched files. In it, the lock may be
    /// in the hands of a thread that does not exist there.
    pid: u32,
}

impl Doorbell {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { pipe: Mutex::new(Some(Arc::new(pipe()?))), pid: process::id() })
    }

    /// The pipe is never full, and that end of it never closed before this one.
    pub(crate) fn ring(&self) {
        if let Some(pipe) = self.pipe() {
            let _ = (&pipe.1).write(&[1]);
        }
    }

    /// Waits for a ring. To be called before the answers are fetched: what comes later rings again.
    pub(crate) fn silence(&self) -> Result<()> {
        // However many rings it were, one look is enough.
        self.pipe().map_or(Ok(()), |pipe| (&pipe.0).read(&mut [0; RINGS]).map(drop))
    }

    /// Closes the pipe, which nobody watches any more.
    pub(crate) fn close(&self) {
        if self.is_mine() {
            self.pipe.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// Whether this is the process that it rings in.
    pub(crate) fn is_mine(&self) -> bool {
        process::id() == self.pid
    }

    /// The file to watch.
    #[cfg(unix)]
    pub(crate) fn descriptor(&self) -> Option<i32> {
        self.pipe().map(|pipe| std::os::fd::AsRawFd::as_raw_fd(&pipe.0))
    }

    #[cfg(not(unix))]
    pub(crate) fn descriptor(&self) -> Option<i32> {
        None
    }

    fn pipe(&self) -> Option<Arc<(PipeReader, PipeWriter)>> {
        if !self.is_mine() {
            return None;
        }
        self.pipe.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
