//! How often this process tries to connect to a server that does not let it, however many limiters and threads it has.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use super::errors::CallError;
use super::login::Role;
use crate::address::Address;
use crate::fork::PerProcess;
use crate::lock::Mutex;

/// How long a failure is remembered. A longer pause between attempts has no effect.
const KEPT: Duration = Duration::from_secs(60);

/// A server, what it is asked for, and the settings that it is connected to with: another password may be right.
type Name = (Address, Role, u64);

/// The attempts that failed last, each with its beginning.
type Failures = HashMap<Name, (Instant, CallError)>;

static FAILURES: OnceBox<PerProcess<Mutex<Failures>>> = OnceBox::new();

fn failures() -> &'static Mutex<Failures> {
    FAILURES.get_or_init(|| Box::new(PerProcess::new(Mutex::default()))).get(|_| Mutex::default())
}

/// An attempt to connect.
pub(super) struct Attempt {
    name: Name,
    began: Instant,
}

impl Attempt {
    /// Begins an attempt; if the last one failed and began less than `pause` ago, answers with its error instead.
    pub(super) fn begin(name: Name, pause: Duration, now: Instant) -> Result<Self, CallError> {
        if let Some((began, failure)) = failures().lock().get_mut(&name) {
            if now.saturating_duration_since(*began) < pause {
                return Err(failure.clone());
            }
            *began = now;
        }
        Ok(Self { name, began: now })
    }

    pub(super) fn succeeded(self) {
        failures().lock().remove(&self.name);
    }

    pub(super) fn failed(self, failure: CallError) {
        let mut failures = failures().lock();
        failures.retain(|_, (began, _)| self.began.saturating_duration_since(*began) < KEPT);
        failures.insert(self.name, (self.began, failure));
    }
}
