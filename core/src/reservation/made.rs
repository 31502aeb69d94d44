//! What a caller gets, and says, of a reservation.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smallvec::SmallVec;

use super::ticket::Ticket;
use crate::decision::Decision;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::MAX_MICROS;

/// The answer to a `reserve`: a decision and, when it was granted, what is held.
///
/// What is held counts in full until it is ended by [`commit`](crate::RateLimiter::commit) or
/// [`release`](crate::RateLimiter::release), or its lease ends; then it is charged in full. To drop this value ends
/// nothing, which is said to the log at debug level.
#[must_use = "what is reserved is to be committed or released"]
pub struct Reservation {
    decision: Decision,
    granted: Option<Granted>,
    ended: AtomicBool,
}

/// What an admitted reservation has more than a decision.
pub(crate) struct Granted {
    pub(crate) ticket: Ticket,
    pub(crate) token: u64,
    /// How soon it ends unless it is renewed.
    #[cfg_attr(
        not(any(feature = "bridge", feature = "tower")),
        expect(dead_code, reason = "for who renews by itself")
    )]
    pub(crate) lease: Duration,
}

impl Reservation {
    #[inline]
    pub(crate) fn new(decision: Decision, granted: Option<Granted>) -> Self {
        let ended = AtomicBool::new(granted.is_none());
        Self { decision, granted, ended }
    }

    /// One that holds nothing.
    pub(crate) fn unheld(decision: Decision) -> Self {
        Self::new(decision, None)
    }

    /// What a limiter of any process and language needs to end the reservation; `None` when it was denied. Pass it
    /// on unchanged, only to processes that may end the reservation: it is no secret, and it can be forged.
    pub fn id(&self) -> Option<String> {
        self.granted.as_ref().map(|granted| granted.ticket.text())
    }

    /// A fencing token: larger than that of every earlier reservation of the same key, however they ended; `None`
    /// when the reservation was denied. A resource that refuses a smaller token than it has seen is safe from holders
    /// whose lease has ended without their knowing. (Source: M. Kleppmann, "How to do distributed locking", 2016.)
    pub fn token(&self) -> Option<u64> {
        self.granted.as_ref().map(|granted| granted.token)
    }

    /// How soon the reservation ends unless it is renewed, for who renews it.
    #[cfg(any(feature = "bridge", feature = "tower"))]
    pub(crate) fn lease(&self) -> Option<Duration> {
        self.granted.as_ref().map(|granted| granted.lease)
    }

    /// Whether there is nothing to end, or the caller has ended it.
    #[cfg(feature = "tower")]
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// The decision, for who keeps the id elsewhere.
    #[cfg(feature = "bridge")]
    pub(crate) fn into_decision(mut self) -> Decision {
        *self.ended.get_mut() = true;
        self.decision.clone()
    }

    /// The decision alone.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }
}

impl Deref for Reservation {
    type Target = Decision;

    fn deref(&self) -> &Decision {
        &self.decision
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("decision", &self.decision).field("token", &self.token()).finish()
    }
}

impl Drop for Reservation {
    #[inline]
    fn drop(&mut self) {
        if !*self.ended.get_mut() {
            log::debug!(
                "a reservation under rule \"{}\" was dropped, not ended: it is held until its lease ends",
                self.decision.rule
            );
        }
    }
}

/// A reservation to end or renew: the value that `reserve` answered, or its id.
#[derive(Debug, Clone, Copy)]
pub enum ReservationRef<'a> {
    /// The value itself.
    Made(&'a Reservation),
    /// Its id.
    Id(&'a str),
}

impl<'a> From<&'a Reservation> for ReservationRef<'a> {
    fn from(made: &'a Reservation) -> Self {
        Self::Made(made)
    }
}

impl<'a> From<&'a str> for ReservationRef<'a> {
    fn from(id: &'a str) -> Self {
        Self::Id(id)
    }
}

impl<'a> From<&'a String> for ReservationRef<'a> {
    fn from(id: &'a String) -> Self {
        Self::Id(id)
    }
}

impl<'a> ReservationRef<'a> {
    /// What it states, for a limiter with this prefix; `None` for one that was denied.
    #[inline]
    pub(crate) fn ticket(&self, prefix: &str) -> Result<Option<Cow<'a, Ticket>>> {
        match self {
            Self::Made(made) => Ok(made.granted.as_ref().map(|granted| Cow::Borrowed(&granted.ticket))),
            Self::Id(id) => Ticket::read(id, prefix).map(|ticket| Some(Cow::Owned(ticket))),
        }
    }

    /// Notes that the caller has ended it.
    #[inline]
    pub(crate) fn note_end(&self) {
        if let Self::Made(made) = self {
            made.ended.store(true, Ordering::Relaxed);
        }
    }
}

/// What was really used of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Usage<'a> {
    /// As much as was reserved.
    #[default]
    AsReserved,
    /// This much of a reservation of one item. 0 of any: nothing was used, as a release says.
    Cost(u64),
    /// This much under each of these rules; as much as was reserved under the others.
    Rules(&'a [(&'a str, u64)]),
    /// This much of the items at these places of the call, counted from 0; as much as was reserved of the others.
    Items(&'a [(usize, u64)]),
}

impl Usage<'_> {
    /// The cost of each item.
    #[inline]
    pub(crate) fn costs(&self, ticket: &Ticket) -> Result<SmallVec<[u64; 1]>> {
        let mut costs: SmallVec<[u64; 1]> = ticket.items.iter().map(|item| item.cost).collect();
        match *self {
            Self::AsReserved => {}
            Self::Cost(cost) if cost == 0 || costs.len() == 1 => costs.fill(cost),
            Self::Cost(cost) => {
                return Err(refused(format!(
                    "cost {cost}: the reservation has several items (state the cost of each rule)"
                )));
            }
            Self::Rules(stated) => {
                for (rule, cost) in stated {
                    let absent = || {
                        format!("rule \"{rule}\": it is not in the reservation, which has {}", named(ticket))
                    };
                    replace(ticket, &mut costs, |item| item.rule == *rule, *cost)
                        .ok_or_else(|| refused(absent()))?;
                }
            }
            Self::Items(stated) => {
                for (place, cost) in stated {
                    let absent = || format!("item {place}: it is not in the reservation, counted from 0");
                    replace(ticket, &mut costs, |item| item.places.contains(place), *cost)
                        .ok_or_else(|| refused(absent()))?;
                }
            }
        }
        match ticket.items.iter().zip(&costs).find(|(_, cost)| **cost >= MAX_MICROS) {
            Some((item, cost)) => {
                Err(refused(format!("rule \"{}\": cost {cost}: must be below 2^53", item.rule)))
            }
            None => Ok(costs),
        }
    }
}

/// Gives the items that are meant another cost; `None` if there are none.
fn replace(
    ticket: &Ticket,
    costs: &mut [u64],
    is_meant: impl Fn(&super::TicketItem) -> bool,
    cost: u64,
) -> Option<()> {
    let mut found = None;
    for (item, place) in ticket.items.iter().zip(costs) {
        if is_meant(item) {
            *place = cost;
            found = Some(());
        }
    }
    found
}

fn named(ticket: &Ticket) -> String {
    let names: Vec<_> = ticket.items.iter().map(|item| format!("\"{}\"", item.rule)).collect();
    names.join(", ")
}

fn refused(what: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, what)
}
