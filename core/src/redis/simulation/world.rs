//! What surrounds the driver: virtual time, what is going to happen, servers, network, and the book of all calls.

use std::cell::{RefCell, RefMut};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt::Debug;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::ledger::Ledger;
use super::network::Connection;
use super::plan::{Scenario, Time};
use super::random::Random;
use super::remembered::Watching;
use super::servers::Deployment;
use crate::error::Result;
use crate::redis::topology::search::Query;

/// Seeds from here on are of histories with crowds: of several calls that are alike.
pub(super) const CROWDED: u64 = 1_000_000_000;

/// Seeds from here on are of histories in which servers watch keys.
pub(super) const TRACKED: u64 = 2 * CROWDED;

/// When every history begins.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

pub(super) fn instant(time: Time) -> Instant {
    *BEGINNING + Duration::from_micros(time)
}

pub(super) fn time_of(instant: Instant) -> Time {
    u64::try_from(instant.saturating_duration_since(*BEGINNING).as_nanos().div_ceil(1000))
        .unwrap_or(Time::MAX)
}

#[derive(Debug)]
pub(super) enum Event {
    Submit(usize),
    Abandon(usize),
    Fault(usize),
    /// Bytes arrive at one end of a connection.
    AtServer(usize),
    AtClient(usize),
    /// A server goes on after a hang.
    Wake(usize),
    /// A server learns that it is a replica.
    Demote(usize),
    /// A Sentinel or a node of the Cluster learns of a change.
    Hear(usize),
    /// A connection is made, or is not made in time.
    Connect(usize),
    GiveUp(usize),
    /// The driver takes up what has come on a connection, if anything has.
    Pump(usize),
    /// The driver sends what the connection has to send.
    Flush(usize),
    /// A connection of which the driver waits for that may take more.
    Writable(usize),
    /// The driver has stopped watching a connection.
    Remove(usize),
    Timer,
    /// Topology discovery: a search goes on, the answer to one of its queries comes, it is over.
    Search(usize),
    QueryAnswered(usize, Box<Query>),
    Discovered(Result<()>),
}

struct Scheduled(Time, u64, Event);

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap answers the greatest first.
        (other.0, other.1).cmp(&(self.0, self.1))
    }
}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Scheduled {}

pub(super) struct World {
    pub(super) now: Time,
    /// Counts what has happened: finer than time.
    pub(super) step: u64,
    pub(super) plan: Scenario,
    pub(super) random: Random,
    pub(super) connections: Vec<Connection>,
    pub(super) stalled_until: Time,
    pub(super) deployment: Deployment,
    pub(super) ledger: Ledger,
    pub(super) watching: Watching,
    events: BinaryHeap<Scheduled>,
    scheduled: u64,
    trace: Option<Vec<String>>,
}

impl World {
    pub(super) fn new(seed: u64, traced: bool) -> Self {
        let mut random = Random::new(seed);
        let mut plan = Scenario::draw(&mut random);
        if seed >= TRACKED {
            plan.add_watched(&mut random);
        } else if seed >= CROWDED {
            plan.add_crowds(&mut random);
        }
        let mut world = Self {
            now: 0,
            step: 0,
            random,
            connections: Vec::new(),
            stalled_until: 0,
            deployment: Deployment::new(&plan),
            ledger: Ledger::new(&plan),
            watching: Watching::default(),
            events: BinaryHeap::new(),
            scheduled: 0,
            trace: traced.then(Vec::new),
            plan,
        };
        world.note(|world| format!("{:?}", world.plan));
        for call in 0..world.plan.calls.len() {
            let planned = world.plan.calls[call];
            world.schedule(planned.at, Event::Submit(call));
            if let Some(at) = planned.abandoned_at {
                world.schedule(at, Event::Abandon(call));
            }
        }
        for fault in 0..world.plan.faults.len() {
            world.schedule(world.plan.faults[fault].0, Event::Fault(fault));
        }
        world
    }

    pub(super) fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.push(Scheduled(at.max(self.now), self.scheduled, event));
    }

    pub(super) fn after(&mut self, delay: Time, event: Event) {
        self.schedule(self.now + delay, event);
    }

    /// What happens next, if anything does before `end`.
    pub(super) fn next_event(&mut self, end: Time) -> Option<Event> {
        if self.events.peek()?.0 > end {
            return None;
        }
        let Scheduled(at, _, event) = self.events.pop()?;
        self.now = at;
        self.step += 1;
        Some(event)
    }

    /// The time that something takes to another machine.
    pub(super) fn latency(&mut self) -> Time {
        let usual = self.plan.latency;
        let late = !self.plan.is_calm && self.random.percent(3);
        usual + self.random.below(usual + 1) + if late { self.random.below(60_000) } else { 0 }
    }

    pub(super) fn note(&mut self, text: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let line = format!("{:>10} {:>5} {}", self.now, self.step, text(self));
            self.trace.iter_mut().for_each(|trace| trace.push(line.clone()));
        }
    }

    pub(super) fn note_event(&mut self, event: impl Debug) {
        self.note(|_| format!("{event:?}"));
    }

    pub(super) fn trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }
}

/// The world as the driver and its connections share it.
#[derive(Clone)]
pub(super) struct Shared(Rc<RefCell<World>>);

impl Shared {
    pub(super) fn new(world: World) -> Self {
        Self(Rc::new(RefCell::new(world)))
    }

    pub(super) fn get(&self) -> RefMut<'_, World> {
        self.0.borrow_mut()
    }
}
