//! Topology discovery of the simulation: sends the queries of a search to the models of servers.

use std::sync::Arc;

use ::redis::{Parser, Value};

use super::super::errors;
use super::client::Client;
use super::ledger::Invariant;
use super::plan::Setup;
use super::protocol::{self, ServerCommand};
use super::world::{Event, instant, time_of};
use crate::error::{Error, ErrorKind, Result};
use crate::net::address::Address;
use crate::redis::drivers::multiplexer::Peer;
use crate::redis::settings::login::Role;
use crate::redis::topology::learned::{LearnedTopology, Node};
use crate::redis::topology::search::{Query, Search, SearchStep};
use crate::redis::wire::command::RedisCommand;

impl Client {
    pub(super) fn discover(&mut self, learned: &Arc<LearnedTopology<Peer>>) {
        let search = Search::new(learned, instant(self.now()));
        self.searches.push(Some(search));
        self.after(0, Event::Search(self.searches.len() - 1));
    }

    /// Does what a search asks for, unless it is over.
    pub(super) fn search(&mut self, id: usize) {
        let (now, known) = (instant(self.now()), self.known_server());
        while let Some(search) = &mut self.searches[id] {
            match search.next(now) {
                SearchStep::Send(query) => self.send_query(id, query),
                SearchStep::Wait(until) => {
                    return self.world.get().schedule(time_of(until), Event::Search(id));
                }
                SearchStep::End(result) => {
                    self.check_confirmed(known);
                    self.end_search(id, result);
                }
            }
        }
    }

    fn send_query(&self, id: usize, query: Query) {
        let mut world = self.world.get();
        let delay = world.latency() * 2;
        if query.role == Role::Data || world.plan.is_calm || !world.random.percent(5) {
            world.after(delay, Event::QueryAnswered(id, Box::new(query)));
        }
    }

    pub(super) fn query_answered(&mut self, id: usize, query: Query) {
        let answer = self.answer(&query);
        if let (Some(search), Some(answer)) = (&mut self.searches[id], answer) {
            search.answered(query, answer);
            self.search(id);
        }
    }

    /// What a server or a Sentinel answers; nothing if it is silent.
    fn answer(&self, query: &Query) -> Option<Result<Value>> {
        let packed = query.command.get_packed_command();
        let Ok(Some((command, _))) = protocol::request(&packed) else { panic!("{packed:?}") };
        let text = if command == ServerCommand::SentinelMaster {
            let host = query.server.to_string();
            let sentinel = host.as_bytes().get(1).copied().map_or(0, |digit| usize::from(digit - b'0'));
            Ok(self.world.get().deployment.sentinel(sentinel))
        } else {
            self.reach(&query.server)?.map(|server| self.world.get().describe(server, &command))
        };
        Some(text.and_then(|text| parse(&text)))
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

    /// Checks that a server which a Sentinel has just named is a primary.
    fn check_confirmed(&self, before: Option<usize>) {
        let known = self.known_server();
        let world = &mut *self.world.get();
        if let (Setup::Sentinel, Some(server)) = (world.plan.setup, known)
            && known != before
            && !world.deployment.servers[server].is_primary
        {
            world.ledger.violate(Invariant::Unconfirmed, format!("server {server}"));
        }
    }

    /// The server of calls without a key, if the driver knows one.
    fn known_server(&self) -> Option<usize> {
        let owner = self.multiplexer.router.owner(&RedisCommand::ping()).ok()?;
        Some(self.server(owner.address()))
    }

    fn end_search(&mut self, id: usize, result: Result<()>) {
        self.searches[id] = None;
        let mut world = self.world.get();
        if result.is_ok() {
            // Until the driver has taken that up, either server is right.
            world.ledger.known_primary = None;
        }
        let delay = world.random.below(100);
        world.after(delay, Event::Discovered(result));
    }

    pub(super) fn discovered(&mut self, result: Result<()>) {
        if self.world.get().plan.setup == Setup::Sentinel
            && let Some(server) = self.known_server()
        {
            let mut world = self.world.get();
            world.ledger.known_primary = Some((server, world.step));
        }
        self.act(|multiplexer, now| multiplexer.discovered(result, now));
    }
}

fn parse(text: &str) -> Result<Value> {
    let value = Parser::new().parse_value(text.as_bytes());
    let answered = value.and_then(|value| value.extract_error());
    answered.map_err(|err| Error::new(ErrorKind::Server, err.to_string()))
}
