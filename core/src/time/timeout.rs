//! The bounds of timeouts, those of calls and those of connections.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// The least time of anything that is tried at all.
pub(crate) const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// Refuses a time that is too short or too long; the error names the option.
pub(crate) fn validate_time(name: &str, value: Duration) -> Result<()> {
    if !(SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(&value) {
        let what = format!("{name} must be from 1 millisecond to {} seconds", LONGEST_TIMEOUT.as_secs());
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    Ok(())
}
