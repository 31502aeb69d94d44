//! How this process tries to connect to a server, however many limiters and threads it has: one attempt at a time until
//! one succeeds, and after one that does not, the next only after a pause.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use super::deadline::Deadline;
use super::errors::CallError;
use super::login::Role;
use crate::address::Address;
use crate::fork::PerProcess;
use crate::lock::Mutex;

/// A server, what it is asked for, and the settings that it is connected to with: another password may be right.
type Name = (Address, Role, u64);

/// What is known of the last attempt.
enum Last {
    UnderWay,
    /// The server takes connections: until then, as many at once as anybody likes.
    Succeeded(Instant),
    /// Until then, there is no other attempt, and this is the outcome.
    Failed(Instant, CallError),
    /// It was given up before the server said anything. Until then, there is no other attempt.
    GivenUp(Instant),
}

impl Last {
    fn until(&self) -> Option<Instant> {
        match self {
            Self::UnderWay => None,
            Self::Succeeded(until) | Self::Failed(until, _) | Self::GivenUp(until) => Some(*until),
        }
    }
}

/// It lives as long as the process, so it holds nothing that leak checkers cannot follow: they find no way into a hash
/// table, nor through the pointer of an error of the system.
#[derive(Default)]
struct Attempts {
    last: Mutex<BTreeMap<Name, Last>>,
    ended: Condvar,
}

static ATTEMPTS: OnceBox<PerProcess<Attempts>> = OnceBox::new();

fn attempts() -> &'static Attempts {
    ATTEMPTS.get_or_init(|| Box::new(PerProcess::new(Attempts::default()))).get(|_| Attempts::default())
}

/// An attempt to connect. One that is dropped was given up.
pub(super) struct Attempt {
    name: Name,
    began: Instant,
    pause: Duration,
    /// Whether others wait for its end.
    alone: bool,
}

impl Attempt {
    /// Begins an attempt as soon as there may be one; if the last one failed and began less than `pause` ago, answers
    /// with its error instead.
    pub(super) fn begin(
        name: Name,
        pause: Duration,
        deadline: Deadline<'_>,
    ) -> io::Result<Result<Self, CallError>> {
        let Attempts { last: lock, ended } = attempts();
        let mut last = lock.lock();
        loop {
            let began = Instant::now();
            let valid = last.get(&name).filter(|last| last.until().is_none_or(|until| began < until));
            let wait = match valid {
                None => {
                    last.retain(|_, last| last.until().is_none_or(|until| began < until));
                    last.insert(name.clone(), Last::UnderWay);
                    return Ok(Ok(Self { name, began, pause, alone: true }));
                }
                Some(Last::Succeeded(_)) => return Ok(Ok(Self { name, began, pause, alone: false })),
                Some(Last::Failed(_, failure)) => return Ok(Err(failure.clone())),
                Some(Last::GivenUp(until)) => until.saturating_duration_since(began),
                Some(Last::UnderWay) => Duration::MAX,
            };
            let waited = ended.wait_timeout(last, wait.min(deadline.next()?));
            last = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn succeeded(mut self) {
        self.end(Last::Succeeded(Instant::now() + self.pause));
    }

    pub(super) fn failed(mut self, failure: CallError) {
        let failure = CallError { error: failure.error.kept(), ..failure };
        self.end(Last::Failed(self.began + self.pause, failure));
    }

    fn end(&mut self, outcome: Last) {
        let Attempts { last, ended } = attempts();
        last.lock().insert(self.name.clone(), outcome);
        self.alone = false;
        ended.notify_all();
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.alone {
            self.end(Last::GivenUp(self.began + self.pause));
        }
    }
}
