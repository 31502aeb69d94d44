//! Runs one history from its seed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::client::Client;
use super::ledger::Invariant;
use super::plan::{CallKind, Fault, MS, PlannedCall, Time};
use super::world::{Event, Shared, World};

/// More events than a history of a driver that comes to rest.
const MOST_EVENTS: u64 = 50_000;

/// How soon after the servers are well calls succeed, beyond the timeouts of what was under way.
const RECOVERY: Time = 1200 * MS;

/// What is wrong with a history.
pub(super) struct Violation {
    pub(super) seed: u64,
    pub(super) check: Invariant,
    pub(super) text: String,
}

/// Runs the history of a seed; the error says what is wrong with it.
pub(super) fn run(seed: u64) -> Result<(), Violation> {
    history(seed, false).map(drop).map_err(|(violation, _)| violation)
}

/// Runs the history of a seed and answers all that happened.
pub(super) fn trace(seed: u64) -> Vec<String> {
    match history(seed, true) {
        Ok(trace) | Err((_, trace)) => trace,
    }
}

fn history(seed: u64, traced: bool) -> Result<Vec<String>, (Violation, Vec<String>)> {
    let shared = Shared::new(World::new(seed, traced));
    let mut history = History { client: Client::new(&shared), shared: shared.clone() };
    if catch_unwind(AssertUnwindSafe(|| history.play())).is_err() {
        history.violate(Invariant::Panicked, "see above");
    }
    let (violation, trace) = {
        let mut world = shared.get();
        (world.ledger.violation.take(), world.trace())
    };
    match violation {
        Some((check, text)) => Err((Violation { seed, check, text }, trace)),
        None => Ok(trace),
    }
}

struct History {
    client: Client,
    shared: Shared,
}

impl History {
    fn play(&mut self) {
        let end = {
            let plan = &self.shared.get().plan;
            let calls = plan.calls.iter().map(|call| call.at + call.timeout).max().unwrap_or(0);
            let faults = plan.faults.iter().map(|(at, _)| *at).max().unwrap_or(0);
            calls.max(faults) + plan.goes_on + plan.lateness + 1
        };
        self.run_until(end);
        let is_closed = {
            let world = &mut *self.shared.get();
            world.ledger.finish(&world.plan);
            world.forget_all();
            world.ledger.breaker.is_closing
        };
        if is_closed {
            self.come_to_an_end();
        } else {
            self.recover();
        }
    }

    fn is_wrong(&self) -> bool {
        self.shared.get().ledger.violation.is_some()
    }

    fn violate(&self, check: Invariant, text: impl Into<String>) {
        self.shared.get().ledger.violate(check, text);
    }

    fn run_until(&mut self, end: Time) {
        while !self.is_wrong() {
            let next = self.shared.get().next_event(end);
            let Some(event) = next else { break };
            if self.shared.get().step > MOST_EVENTS {
                return self.violate(Invariant::Restless, format!("{event:?}"));
            }
            self.happen(event);
            self.shared.get().check_remembered();
        }
        let mut world = self.shared.get();
        world.now = world.now.max(end);
    }

    fn happen(&mut self, event: Event) {
        let client = &mut self.client;
        match event {
            Event::Submit(call) => client.submit(call),
            Event::Abandon(call) => client.abandon(call),
            Event::Fault(fault) => {
                let fault = self.shared.get().plan.faults[fault].1;
                match fault {
                    Fault::Close => client.close(),
                    fault => self.shared.get().strike(fault),
                }
            }
            Event::AtServer(connection) => self.shared.get().serve(connection),
            Event::AtClient(connection) => {
                let mut world = self.shared.get();
                let delay = world.random.below(50);
                world.after(delay, Event::Pump(connection));
            }
            Event::Wake(server) => self.shared.get().wake(server),
            Event::Demote(server) => self.shared.get().demote(server),
            Event::Hear(who) => self.shared.get().hear(who),
            Event::Connect(opening) => client.connect(opening),
            Event::GiveUp(opening) => client.give_up(opening),
            Event::Pump(connection) => client.pump(connection),
            Event::Flush(connection) => client.send(connection, false),
            Event::Writable(connection) => client.send(connection, true),
            Event::Remove(connection) => client.remove(connection),
            Event::Timer => client.expire(),
            Event::Search(search) => client.search(search),
            Event::QueryAnswered(search, query) => client.query_answered(search, *query),
            Event::Discovered(result) => client.discovered(result),
        }
    }

    /// A call that is made after all that was planned.
    fn later_call(&mut self) -> usize {
        let mut world = self.shared.get();
        let timeout = world.plan.connect_timeout + world.plan.response_timeout;
        // Of a key that no server minds.
        let family = 35 * (1 + world.plan.calls.len());
        let planned = PlannedCall {
            at: world.now,
            kind: CallKind::Peek,
            family,
            tag: 0,
            timeout,
            abandoned_at: None,
            is_in_crowd: false,
        };
        world.plan.calls.push(planned);
        world.ledger.add(planned)
    }

    /// Once the servers are well, calls succeed again, and nothing is left of what was.
    fn recover(&mut self) {
        self.shared.get().heal();
        let (begun, limit, settled) = {
            let world = self.shared.get();
            let timeouts = world.plan.connect_timeout + world.plan.response_timeout;
            (world.now, timeouts + RECOVERY, timeouts + RECOVERY)
        };
        self.client.last_answer_was_good = false;
        while !self.client.last_answer_was_good && !self.is_wrong() {
            let now = self.client.now();
            if now > begun + limit {
                return self
                    .violate(Invariant::Recovery, format!("no call succeeds {limit} us after all is well"));
            }
            let call = self.later_call();
            self.client.submit(call);
            self.run_until(now + 20 * MS);
        }
        let now = self.client.now();
        self.run_until(now + settled);
        if !self.is_wrong() {
            let call = self.later_call();
            if let Err(what) = self.client.left(call) {
                self.violate(Invariant::Leak, what);
            }
        }
    }

    /// Nothing is left of a closed limiter once its calls have ended.
    fn come_to_an_end(&mut self) {
        let now = self.client.now();
        self.run_until(now + 3000 * MS);
        if !self.is_wrong() && !self.client.multiplexer.is_done() {
            self.violate(Invariant::Leak, "connections of a closed limiter");
        }
    }
}
