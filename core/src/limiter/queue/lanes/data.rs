//! What the lanes consist of.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::thread::Thread;

use hashbrown::HashMap;

use crate::plan::{Forecast, SmallList};

/// A number that grows with every arrival.
pub(in crate::limiter::queue) type Arrival = u64;

/// Microseconds since the limiter was made, and what a manual clock was advanced by.
pub(crate) type Moment = u64;

/// A moment that never comes.
pub(in crate::limiter::queue) const NEVER: Moment = Moment::MAX;

/// What a waiter asks of one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// The state, hashed.
    pub(crate) lane: u64,
    /// `None` where the limit is not that of the rule.
    pub(crate) cost: Option<f64>,
}

#[derive(Debug, Default)]
pub(in crate::limiter::queue) struct Lanes {
    pub(super) lanes: HashMap<u64, Lane>,
    pub(super) waiters: HashMap<Arrival, Entry>,
    pub(super) last: Arrival,
    /// Who is to be woken when the lock is released.
    pub(super) calls: Vec<Wake>,
}

#[derive(Debug, Default)]
pub(super) struct Lane {
    /// How many waiters have a claim in it.
    pub(super) members: usize,
    /// Who holds up those behind, and until when it sleeps.
    pub(super) blockers: BTreeMap<Arrival, Moment>,
    pub(super) held: BTreeSet<Arrival>,
    /// Those held that have a deadline.
    pub(super) by_deadline: BTreeSet<(Moment, Arrival)>,
    /// How often something was given back.
    pub(super) frees: u64,
    pub(super) memory: Option<Memory>,
}

/// The denial of a waiter.
#[derive(Debug)]
pub(in crate::limiter::queue) struct Denial {
    /// In microseconds.
    pub(in crate::limiter::queue) wait: u64,
    /// That of each state, in the order of the claims; may be left empty.
    pub(in crate::limiter::queue) waits: SmallList<u64>,
    /// When to ask again.
    pub(in crate::limiter::queue) pause: u64,
    /// Whether there may be room sooner.
    pub(in crate::limiter::queue) is_estimate: bool,
}

/// How a waiter is woken.
#[derive(Debug)]
pub(in crate::limiter::queue) enum Wake {
    Thread(Thread),
    Task(Waker),
}

impl Wake {
    pub(in crate::limiter::queue) fn wake(self) {
        match self {
            Self::Thread(thread) => thread.unpark(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) claims: SmallList<Claim>,
    /// The longest wait that each state has returned to this waiter, in microseconds.
    pub(super) longest: SmallList<u64>,
    /// What [`Lanes::frees`] said when it last asked.
    pub(super) frees: u64,
    pub(super) phase: Phase,
    pub(super) deadline: Moment,
    /// Whether it has neither asked nor slept.
    pub(super) is_new: bool,
    /// Whether something has changed for it since it last looked.
    pub(super) is_called: bool,
    pub(super) wake: Option<Wake>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Others come first.
    Held,
    /// It is its turn.
    Asking,
    /// It was denied.
    Asleep { asked: Moment, until: Moment },
}

/// What a waiter is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::limiter::queue) enum Next {
    Ask,
    /// To sleep until then, or until it is called.
    Sleep {
        until: Moment,
        is_held: bool,
    },
    /// Its turn does not come in time: not before that moment, if it is known.
    TooLate {
        opens: Option<Moment>,
    },
}

/// What the last one that was admitted learned of the states it asked for.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) at: Moment,
    pub(super) lanes: SmallList<u64>,
    /// As [`Lanes::frees`] said when it asked.
    pub(super) frees: u64,
    pub(super) forecast: Forecast,
}
