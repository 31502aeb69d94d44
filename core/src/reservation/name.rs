//! Random names, so that a call may be sent again and is known by its name.

use std::sync::atomic::{AtomicU64, Ordering};

use once_cell::race::OnceBox;

use crate::algorithm::HoldId;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::fork::PerProcess;

/// Half of a name is random for a process; the other half counts, from a random number on.
#[derive(Debug)]
struct IdGenerator {
    process: [u8; 8],
    next: AtomicU64,
}

impl IdGenerator {
    fn new() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            let what =
                format!("cannot get random numbers from the system for the id of a reservation: {error}");
            Error::new(ErrorKind::InvalidArgument, what)
        })?;
        let [process, next] = [&bytes[..8], &bytes[8..]].map(|half| half.try_into().unwrap_or_default());
        Ok(Self { process, next: AtomicU64::new(u64::from_le_bytes(next)) })
    }
}

/// A name that no other process, nor another call of this one, has given.
#[inline]
pub(crate) fn fresh() -> Result<HoldId> {
    static NAMES: OnceBox<PerProcess<IdGenerator>> = OnceBox::new();
    let names = NAMES.get_or_try_init(|| IdGenerator::new().map(|names| Box::new(PerProcess::new(names))))?;
    // A forked child must not go on where its parent was.
    let names = names.get(|parent| IdGenerator::new().unwrap_or_else(|_| parent.jumped()));
    let mut name = [0; 16];
    name[..8].copy_from_slice(&names.process);
    name[8..].copy_from_slice(&names.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    Ok(name)
}

impl IdGenerator {
    /// Others by the number of the process, for a system that has no more random numbers.
    fn jumped(&self) -> Self {
        let apart = u64::from(std::process::id()) << 32;
        Self { process: self.process, next: AtomicU64::new(self.next.load(Ordering::Relaxed) ^ apart) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let names: std::collections::HashSet<_> = (0..1000).map(|_| fresh().unwrap()).collect();
        assert_eq!(names.len(), 1000);
    }
}
