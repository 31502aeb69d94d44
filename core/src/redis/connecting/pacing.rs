//! How this process tries to connect to a server, however many limiters and threads it has: one attempt at a time until
//! one succeeds, and after one that does not, the next only after a pause.

use std::collections::BTreeMap;
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use super::connector::Connector;
use super::deadline::Deadline;
use super::stream::SPACING;
use crate::net::address::Address;
use crate::redis::errors::{self, CallError};
use crate::redis::settings::login::Role;
use crate::sync::fork::PerProcess;
use crate::sync::lock::Mutex;

/// A server, what it is asked for, and the settings that it is connected to with: another password may be right.
type Name = (Address, Role, u64);

/// How much later than the one with the most time the others try, after an attempt that was given up.
const HEAD_START: Duration = Duration::from_millis(20);

/// What is known of the last attempt.
enum Last {
    UnderWay,
    /// The server takes connections: until then, as many at once as anybody likes.
    Succeeded(Instant),
    /// Until then, there is no other attempt, and this is the outcome.
    Failed(Instant, CallError),
    /// It was given up before the server said anything. Until then, there is no other attempt; the next is that of who can wait
    /// the longest for it, whose deadline this is.
    GivenUp(Instant, Instant),
}

impl Last {
    fn until(&self) -> Option<Instant> {
        match self {
            Self::UnderWay => None,
            Self::Succeeded(until) | Self::Failed(until, _) => Some(*until),
            Self::GivenUp(until, _) => Some(*until + HEAD_START),
        }
    }
}

/// It lives as long as the process, so it holds nothing that leak checkers cannot follow: they find no way into a hash
/// table, nor through the pointer of an error of the system.
#[derive(Default)]
struct Pacing {
    last: Mutex<BTreeMap<Name, Last>>,
    ended: Condvar,
}

static PACING: OnceBox<PerProcess<Pacing>> = OnceBox::new();

fn pacing() -> &'static Pacing {
    PACING.get_or_init(|| Box::new(PerProcess::new(Pacing::default()))).get(|_| Pacing::default())
}

/// An attempt to connect. One that is dropped was given up.
pub(in crate::redis) struct Attempt {
    name: Name,
    began: Instant,
    pause: Duration,
    /// Whether others wait for its end.
    alone: bool,
}

impl Attempt {
    /// Begins an attempt as soon as there may be one. If the last one failed and began a moment ago, a call gets its error
    /// instead; a probe, for which nobody waits, waits for its turn.
    pub(in crate::redis) fn begin(
        connector: &Connector,
        address: &Address,
        role: Role,
        is_probe: bool,
        deadline: Deadline<'_>,
    ) -> Result<Self, CallError> {
        let (name, pause) =
            ((address.clone(), role, connector.identity), connector.options.breaker_probe.min(SPACING));
        let start = Instant::now();
        let Pacing { last: lock, ended } = pacing();
        let mut last = lock.lock();
        let mut has_waited = false;
        loop {
            let began = Instant::now();
            let next = match last.get_mut(&name) {
                Some(Last::UnderWay) => {
                    has_waited = true;
                    None
                }
                Some(Last::Succeeded(until)) if began < *until => {
                    return Ok(Self { name, began, pause, alone: false });
                }
                // However long it took, its end is what was waited for.
                Some(Last::Failed(until, failure)) if has_waited || (began < *until && !is_probe) => {
                    return Err(failure.clone());
                }
                Some(Last::GivenUp(until, longest)) => {
                    *longest = deadline.by.max(*longest);
                    Some(if deadline.by < *longest { *until + HEAD_START } else { *until })
                }
                Some(Last::Succeeded(until) | Last::Failed(until, _)) => Some(*until),
                None => Some(began),
            };
            if next.is_some_and(|next| next <= began) {
                last.retain(|_, last| last.until().is_none_or(|until| began < until));
                last.insert(name.clone(), Last::UnderWay);
                return Ok(Self { name, began, pause, alone: true });
            }
            let wait = next.map_or(Duration::MAX, |next| next.saturating_duration_since(began));
            let left = deadline.next();
            let left = left.map_err(|err| errors::opening(&err.into(), address, role, start.elapsed()))?;
            let waited = ended.wait_timeout(last, wait.min(left));
            last = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(in crate::redis) fn succeeded(mut self) {
        self.end(Last::Succeeded(Instant::now() + self.pause));
    }

    pub(in crate::redis) fn failed(mut self, failure: CallError) {
        let failure = CallError { error: failure.error.kept(), ..failure };
        self.end(Last::Failed(self.began + self.pause, failure));
    }

    fn end(&mut self, outcome: Last) {
        let Pacing { last, ended } = pacing();
        let mut last = last.lock();
        let is_outdated = match (&outcome, last.get(&self.name)) {
            // Another attempt was begun alone since, or has ended.
            (Last::Failed(..), Some(Last::UnderWay)) => !self.alone,
            (Last::GivenUp(..), known) => !matches!(known, Some(Last::UnderWay)),
            _ => false,
        };
        if !is_outdated {
            last.insert(self.name.clone(), outcome);
        }
        self.alone = false;
        drop(last);
        ended.notify_all();
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.alone {
            let until = self.began + self.pause;
            self.end(Last::GivenUp(until, until));
        }
    }
}
