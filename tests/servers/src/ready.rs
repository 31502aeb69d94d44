//! Waiting for a condition: often asked, never slept through.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::{Error, Result};

const INTERVAL: Duration = Duration::from_millis(10);

/// Asks `condition` until it is `Some`, an error, or `deadline` has passed; `what` names it in the error.
pub(crate) fn wait_until<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = condition()? {
            return Ok(value);
        }
        if start.elapsed() > deadline {
            return Err(Error::new(format!("timed out after {deadline:?} waiting for: {what}")));
        }
        sleep(INTERVAL);
    }
}
