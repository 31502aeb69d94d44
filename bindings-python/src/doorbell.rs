//! How the limiter's thread wakes an event loop: by a pipe that the loop watches. No thread of this module
//! ever touches Python.

use std::io::{PipeReader, PipeWriter, Read, Result, Write, pipe};
use std::process;

/// More bytes than there ever are in the pipe: it is rung once per burst.
const RINGS: usize = 64;

/// Rung from any thread when there are answers to fetch.
pub(crate) struct Doorbell {
    reader: PipeReader,
    writer: PipeWriter,
    /// A forked child has the same pipe, and in its copy of the loop the same set of watched files.
    pid: u32,
}

impl Doorbell {
    pub(crate) fn new() -> Result<Self> {
        let (reader, writer) = pipe()?;
        Ok(Self { reader, writer, pid: process::id() })
    }

    /// The pipe is never full, and this end of it never closed before the other.
    pub(crate) fn ring(&self) {
        let _ = (&self.writer).write(&[1]);
    }

    /// Waits for a ring. To be called before the answers are fetched: what comes later rings again.
    pub(crate) fn silence(&self) -> Result<()> {
        // However many rings it were, one look is enough.
        (&self.reader).read(&mut [0; RINGS]).map(drop)
    }

    /// Whether this is the process that it rings in.
    pub(crate) fn is_mine(&self) -> bool {
        process::id() == self.pid
    }

    #[cfg(unix)]
    pub(crate) fn descriptor(&self) -> Option<i32> {
        Some(std::os::fd::AsRawFd::as_raw_fd(&self.reader))
    }

    #[cfg(not(unix))]
    pub(crate) fn descriptor(&self) -> Option<i32> {
        None
    }
}
