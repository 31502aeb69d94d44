//! Topology discovery of the simulation: seeds, nodes or Sentinels are asked as `redis::discoverer` does on threads.

use std::sync::Arc;

use ::redis::{Parser, Value};

use super::super::command::RedisCommand;
use super::super::discovery::{self, Discovery, Topology};
use super::super::errors;
use super::super::multiplexer::Peer;
use super::super::router::{LearnedTopology, Node, Router};
use super::client::Client;
use super::plan::{MS, Setup, Time};
use super::protocol;
use super::search::Search;
use super::world::{Event, instant};
use crate::address::Address;
use crate::error::{Error, Result};

/// How long one seed, node or Sentinel is waited for before the next one is asked as well.
const HEDGE: Time = 50 * MS;

impl Client {
    fn learned(&self) -> Option<Arc<LearnedTopology<Peer>>> {
        match &self.multiplexer.router {
            Router::LearnedTopology(learned) => Some(Arc::clone(learned)),
            Router::Fixed(_) => None,
        }
    }

    pub(super) fn discover(&mut self) {
        let Some(learned) = self.learned() else { return };
        let seeds = learned.seeds_to_ask(instant(self.now()));
        let topologies = vec![None; seeds.len()];
        let search =
            Search { seeds, asked: 0, awaited: 0, topologies, failure: None, is_over: false, result: None };
        self.searches.push(search);
        let search = self.searches.len() - 1;
        let limit = u64::try_from(self.connector.timeout().as_micros()).unwrap_or(Time::MAX);
        self.after(0, Event::Ask(search, 0));
        self.after(limit, Event::OutOfTime(search));
    }

    pub(super) fn ask(&mut self, id: usize, place: usize) {
        let search = &mut self.searches[id];
        if search.is_over || search.asked != place || place >= search.seeds.len() {
            return;
        }
        search.asked += 1;
        search.awaited += 1;
        let mut world = self.world.get();
        let delay = world.latency() * 2;
        world.after(HEDGE, Event::Ask(id, place + 1));
        if world.plan.setup == Setup::Cluster || world.plan.is_calm || !world.random.percent(5) {
            world.after(delay, Event::SeedAnswered(id, place));
        }
    }

    pub(super) fn seed_answered(&mut self, id: usize, place: usize) {
        let Some(learned) = self.learned().filter(|_| !self.searches[id].is_over) else { return };
        let seed = self.searches[id].seeds[place].clone();
        let question = learned.discovery.question().get_packed_command();
        let Ok(Some((command, _))) = protocol::request(&question) else { panic!("{question:?}") };
        let text = match learned.discovery {
            Discovery::Sentinel(_) => {
                let host = seed.to_string();
                let sentinel = host.as_bytes().get(1).copied().map_or(0, |digit| usize::from(digit - b'0'));
                Some(Ok(self.world.get().deployment.sentinel(sentinel)))
            }
            Discovery::Cluster => self
                .reach(&seed)
                .map(|server| server.map(|server| self.world.get().describe(server, &command))),
        };
        match text {
            None => {}
            Some(Err(error)) => self.refused(id, error),
            Some(Ok(text)) => match understood(&learned.discovery, &text, &seed) {
                Err(error) => self.refused(id, error),
                Ok(topology)
                    if matches!(learned.discovery, Discovery::Cluster) || learned.knows(&topology) =>
                {
                    self.found(id, topology);
                }
                Ok(topology) => {
                    self.searches[id].topologies[place] = Some(topology);
                    let delay = self.world.get().latency() * 2;
                    self.after(delay, Event::Confirmed(id, place));
                }
            },
        }
    }

    /// The server that a Sentinel named says what it is.
    pub(super) fn confirmed(&mut self, id: usize, place: usize) {
        let Some(topology) =
            self.searches[id].topologies[place].take().filter(|_| !self.searches[id].is_over)
        else {
            return;
        };
        let named = topology.ranges[0].owner.clone();
        match self.reach(&named) {
            None => {}
            Some(Err(error)) => self.refused(id, error),
            Some(Ok(server)) => {
                let text = self.world.get().describe(server, &protocol::ServerCommand::Role);
                match parse(&text) {
                    Ok(role) if discovery::is_primary(&role) => self.found(id, topology),
                    _ => {
                        self.refused(id, errors::undiscovered(&named, "the server it names is not a primary"))
                    }
                }
            }
        }
    }

    /// The server at an address: nothing if it does not answer, an error if it is down.
    fn reach(&self, address: &Address) -> Option<Result<usize>> {
        let id = self.server(address);
        let world = self.world.get();
        let server = &world.deployment.servers[id];
        if world.now < server.down_until {
            return Some(Err(errors::undiscovered(address, "it is down")));
        }
        (world.now >= server.hung_until.max(server.unreachable_until)).then_some(Ok(id))
    }

    fn refused(&mut self, id: usize, error: Error) {
        let search = &mut self.searches[id];
        search.awaited -= 1;
        search.failure = Some(error);
        if search.awaited > 0 {
            return;
        }
        if search.asked < search.seeds.len() {
            let next = search.asked;
            return self.after(0, Event::Ask(id, next));
        }
        let failure = search.failure.take();
        let failure = failure.unwrap_or_else(|| errors::undiscoverable(self.connector.timeout()));
        self.end(id, Err(failure));
    }

    pub(super) fn out_of_time(&mut self, id: usize) {
        if !self.searches[id].is_over {
            self.end(id, Err(errors::undiscoverable(self.connector.timeout())));
        }
    }

    fn found(&mut self, id: usize, topology: Topology) {
        if let Some(learned) = self.learned() {
            self.world.get().note_event(&topology);
            // Until the driver has taken that up, either server is right.
            self.world.get().ledger.known_primary = None;
            learned.learn(topology, instant(self.now()));
        }
        self.end(id, Ok(()));
    }

    fn end(&mut self, id: usize, result: Result<()>) {
        if let Some(learned) = self.learned() {
            learned.asked();
        }
        let search = &mut self.searches[id];
        search.is_over = true;
        search.result = Some(result);
        let mut world = self.world.get();
        let delay = world.random.below(100);
        world.after(delay, Event::Discovered);
    }

    pub(super) fn discovered(&mut self) {
        let Some(result) = self.searches.last_mut().and_then(|search| search.result.take()) else { return };
        if self.world.get().plan.setup == Setup::Sentinel
            && let Some(owner) = self.multiplexer.router.owner(&RedisCommand::ping())
        {
            let server = self.server(owner.address());
            let mut world = self.world.get();
            world.ledger.known_primary = Some((server, world.step));
        }
        self.act(|multiplexer, now| multiplexer.discovered(result, now));
    }
}

fn parse(text: &str) -> Result<Value> {
    let value = Parser::new().parse_value(text.as_bytes());
    let answered = value.and_then(|value| value.extract_error());
    answered.map_err(|err| Error::new(crate::error::ErrorKind::Server, err.to_string()))
}

fn understood(discovery: &Discovery, text: &str, seed: &Address) -> Result<Topology> {
    let topology = discovery.answer(&parse(text)?, seed);
    topology.map_err(|reason| errors::undiscovered(seed, &reason))
}
