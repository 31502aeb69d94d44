//! Until when a caller waits for a socket.

use std::io;
use std::time::{Duration, Instant};

/// How often a wait that may be cancelled looks whether it was: each time costs processor time while a server is silent.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);

/// Until when to wait, and what ends a wait before.
#[derive(Clone, Copy)]
pub(in crate::redis) struct Deadline<'a> {
    pub(in crate::redis) by: Instant,
    pub(in crate::redis) cancelled: Option<&'a dyn Fn() -> bool>,
}

#[cfg(test)]
impl Deadline<'static> {
    pub(in crate::redis) fn until(by: Instant) -> Self {
        Self { by, cancelled: None }
    }
}

impl Deadline<'_> {
    /// How long the next wait may be.
    pub(in crate::redis) fn next(&self) -> io::Result<Duration> {
        let left = self.left()?;
        match self.cancelled {
            Some(cancelled) if cancelled() => Err(io::Error::new(io::ErrorKind::Interrupted, "cancelled")),
            Some(_) => Ok(left.min(CANCEL_INTERVAL)),
            None => Ok(left),
        }
    }

    /// The time that is left; an error when there is none.
    pub(in crate::redis) fn left(&self) -> io::Result<Duration> {
        let left = self.by.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}
