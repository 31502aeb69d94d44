//! A search for the topology: which server is asked when, and which answer is taken. Does no I/O.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{Cmd, Value};

use super::discovery::{Discovery, Topology};
use super::learned::{LearnedTopology, Node};
use crate::error::Result;
use crate::net::address::Address;
use crate::redis::errors;
use crate::redis::settings::login::Role;
use crate::redis::wire::role::{is_primary, role};

/// How long one seed is waited for before the next one is asked as well.
const HEDGE: Duration = Duration::from_millis(50);

/// A command for a server. It is handed back with the answer.
#[derive(Debug)]
pub(in crate::redis) struct Query {
    pub(in crate::redis) server: Address,
    pub(in crate::redis) role: Role,
    pub(in crate::redis) command: Cmd,
    /// Later answers are of no use.
    pub(in crate::redis) by: Instant,
    /// What the answer is about; `None`: the topology.
    claim: Option<Claim>,
}

/// A topology that a Sentinel has described, which is yet to be confirmed.
#[derive(Debug)]
enum Claim {
    /// The Sentinel itself names the primary anew, as its description is from amid a failover.
    Primary(Topology),
    /// The server that the Sentinel names says that it is a primary.
    Role(Topology, Address),
}

/// What the driver of a search does next.
pub(in crate::redis) enum SearchStep {
    Send(Query),
    /// Waits for an answer, until this time at the latest.
    Wait(Instant),
    /// Stops: the topology has been learned, or the error says why not.
    End(Result<()>),
}

/// Asks one seed after the other, and takes the first good answer of any.
pub(in crate::redis) struct Search<N> {
    learned: Arc<LearnedTopology<N>>,
    /// Those that have not been asked.
    seeds: VecDeque<Address>,
    confirmations: VecDeque<Query>,
    /// How many queries have no answer yet.
    awaited: usize,
    /// When the next seed is asked although others have not answered.
    hedge_at: Instant,
    by: Instant,
    /// A good answer, or the last failure.
    outcome: Result<Topology>,
}

impl<N: Node> Search<N> {
    pub(in crate::redis) fn new(learned: &Arc<LearnedTopology<N>>, now: Instant) -> Self {
        let timeout = learned.connector.timeout();
        Self {
            learned: Arc::clone(learned),
            seeds: learned.seeds_to_ask().into(),
            confirmations: VecDeque::new(),
            awaited: 0,
            hedge_at: now,
            by: now + timeout,
            outcome: Err(errors::undiscoverable(timeout)),
        }
    }

    /// Tells the driver what to do. It is asked again after each step and after each answer.
    pub(in crate::redis) fn next(&mut self, now: Instant) -> SearchStep {
        if self.outcome.is_ok() || now >= self.by {
            return SearchStep::End(self.end(now));
        }
        if let Some(query) = self.next_query(now) {
            self.awaited += 1;
            return SearchStep::Send(query);
        }
        match self.awaited {
            0 => SearchStep::End(self.end(now)),
            _ if self.seeds.is_empty() => SearchStep::Wait(self.by),
            _ => SearchStep::Wait(self.by.min(self.hedge_at)),
        }
    }

    fn next_query(&mut self, now: Instant) -> Option<Query> {
        if let Some(query) = self.confirmations.pop_front() {
            return Some(query);
        }
        if self.awaited > 0 && now < self.hedge_at {
            return None;
        }
        let server = self.seeds.pop_front()?;
        self.hedge_at = now + HEDGE;
        let (command, role) = self.learned.discovery.query();
        Some(Query { server, role, command, by: self.by, claim: None })
    }

    /// Takes the answer to a query, or why there is none.
    pub(in crate::redis) fn answered(&mut self, query: Query, answer: Result<Value>) {
        self.awaited -= 1;
        let outcome = match query.claim {
            Some(Claim::Role(topology, sentinel)) => confirmed(topology, &sentinel, answer).map(Some),
            Some(Claim::Primary(topology)) => self.named(topology, query.server, answer),
            None => self.described(query.server, answer),
        };
        if let Some(outcome) = outcome.transpose() {
            self.outcome = outcome;
        }
    }

    /// The topology in the answer of a seed.
    fn described(&mut self, seed: Address, answer: Result<Value>) -> Result<Option<Topology>> {
        let discovery = &self.learned.discovery;
        let undiscovered = |reason: String| errors::undiscovered(&seed, &reason);
        let answer = answer.map_err(|error| discovery.refused(&error).map_or(error, undiscovered))?;
        let topology = discovery.answer(&answer, &seed).map_err(undiscovered)?;
        if let Some(command) = discovery.question_amid_failover(&answer) {
            let claim = Some(Claim::Primary(topology));
            self.confirmations.push_back(Query {
                server: seed,
                role: Role::Sentinel,
                command,
                by: self.by,
                claim,
            });
            return Ok(None);
        }
        Ok(self.believed(topology, seed))
    }

    /// The topology with the primary that a Sentinel names amid a failover.
    fn named(
        &mut self,
        topology: Topology,
        seed: Address,
        answer: Result<Value>,
    ) -> Result<Option<Topology>> {
        let topology =
            topology.with_primary(&answer?).map_err(|reason| errors::undiscovered(&seed, &reason))?;
        Ok(self.believed(topology, seed))
    }

    /// The topology, if it need not be confirmed. A Sentinel may be behind: unless it says what is known, the server that it
    /// names has to say that it is a primary.
    fn believed(&mut self, topology: Topology, seed: Address) -> Option<Topology> {
        let discovery = &self.learned.discovery;
        match topology.ranges.first().map(|range| range.owner.clone()) {
            Some(server) if matches!(discovery, Discovery::Sentinel(_)) && !self.learned.knows(&topology) => {
                let (command, claim) = (role(), Some(Claim::Role(topology, seed)));
                self.confirmations.push_back(Query { server, role: Role::Data, command, by: self.by, claim });
                None
            }
            _ => Some(topology),
        }
    }

    /// A query could not be sent: the search ends with those that were.
    pub(in crate::redis) fn unsent(&mut self) {
        self.awaited -= 1;
        self.seeds.clear();
    }

    /// Ends the search with what has been found so far.
    pub(in crate::redis) fn end(&self, now: Instant) -> Result<()> {
        self.outcome.clone().map(|topology| self.learned.learn(topology, now))
    }
}

/// The topology that a Sentinel described, if the server that it names is a primary.
fn confirmed(topology: Topology, sentinel: &Address, role: Result<Value>) -> Result<Topology> {
    if is_primary(&role?) {
        Ok(topology)
    } else {
        Err(errors::undiscovered(sentinel, "the server it names is not a primary"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::router::Router;
    use super::*;
    use crate::error::{Error, ErrorKind};
    use crate::options::ConnectOptions;
    use crate::redis::connecting::connector::Connector;
    use crate::redis::settings::url::Backend;

    struct Server(Address);

    impl Node for Server {
        fn new(_: &Arc<Connector>, address: Address) -> Self {
            Self(address)
        }

        fn address(&self) -> &Address {
            &self.0
        }
    }

    /// A search by way of three Sentinels, and when it begins.
    fn search() -> (Search<Server>, Instant) {
        let Ok(Backend::Redis(url)) = Backend::parse("redis-sentinel://s0:1,s1:1,s2:1/service") else {
            panic!()
        };
        let connector = Arc::new(Connector::new(&url, &ConnectOptions::default()).unwrap());
        let Router::LearnedTopology(learned) = Router::new(&connector) else { panic!() };
        let start = Instant::now();
        (Search::new(&learned, start), start)
    }

    fn query(search: &mut Search<Server>, now: Instant) -> Query {
        let SearchStep::Send(query) = search.next(now) else { panic!("nothing is sent") };
        query
    }

    fn wait(search: &mut Search<Server>, now: Instant) -> Instant {
        let SearchStep::Wait(until) = search.next(now) else { panic!("nothing is waited for") };
        until
    }

    fn end(search: &mut Search<Server>, now: Instant) -> Result<()> {
        let SearchStep::End(result) = search.next(now) else { panic!("the search goes on") };
        result
    }

    fn list(texts: &[&str]) -> Value {
        Value::Array(texts.iter().map(|text| Value::BulkString(text.as_bytes().to_vec())).collect())
    }

    fn service() -> Result<Value> {
        Ok(list(&["ip", "h", "port", "1"]))
    }

    fn failure(text: &str) -> Result<Value> {
        Err(Error::new(ErrorKind::Connection, text))
    }

    #[test]
    fn each_seed_has_a_hedge_and_all_have_the_timeout_of_a_call() {
        let (mut search, start) = search();
        let by = start + search.learned.connector.timeout();
        let mut servers = Vec::new();
        for round in 0..3 {
            let now = start + HEDGE * round;
            servers.push(query(&mut search, now).server.to_string());
            assert_eq!(wait(&mut search, now), if round == 2 { by } else { now + HEDGE });
        }
        servers.sort();
        assert_eq!(servers, ["s0:1", "s1:1", "s2:1"]);
        let error = end(&mut search, by).unwrap_err();
        assert!(error.message().starts_with("no seed or Sentinel led to a server within"), "{error}");
    }

    #[test]
    fn the_next_seed_is_asked_at_once_when_none_is_awaited_and_the_last_failure_is_reported() {
        let (mut search, start) = search();
        let first = query(&mut search, start);
        search.answered(first, failure("first"));
        let second = query(&mut search, start);
        let third = query(&mut search, start + HEDGE);
        search.answered(third, failure("third"));
        wait(&mut search, start + HEDGE);
        search.answered(second, failure("ERR No such master with that name"));
        let error = end(&mut search, start + HEDGE).unwrap_err();
        assert!(error.message().ends_with("failed: the service \"service\" is not known"), "{error}");
    }

    #[test]
    fn an_answer_that_is_not_understood_says_nothing_about_the_service() {
        for nonsense in [Value::Nil, Value::Okay, list(&[]), list(&["ip", "h", "port", "x"])] {
            let (mut search, now) = search();
            let first = query(&mut search, now);
            search.answered(first, Ok(nonsense));
            let error = search.outcome.unwrap_err();
            assert!(error.message().ends_with("the answer to SENTINEL MASTER was not understood"), "{error}");
        }
    }

    #[test]
    fn a_server_that_a_sentinel_names_confirms_that_it_is_a_primary_unless_it_is_known() {
        let (mut search, now) = search();
        let (first, second) = (query(&mut search, now), query(&mut search, now + HEDGE));
        search.answered(first, service());
        let confirmation = query(&mut search, now + HEDGE);
        assert_eq!((confirmation.server.to_string().as_str(), confirmation.role), ("h:1", Role::Data));
        search.answered(confirmation, Ok(list(&["slave"])));
        search.answered(second, service());
        let confirmation = query(&mut search, now + HEDGE);
        assert!(search.outcome.as_ref().unwrap_err().message().ends_with("is not a primary"));
        search.answered(confirmation, Ok(list(&["master"])));
        end(&mut search, now + HEDGE).unwrap();
        let mut again = Search::new(&search.learned, now);
        let first = query(&mut again, now);
        again.answered(first, service());
        end(&mut again, now).unwrap();
    }

    #[test]
    fn amid_a_failover_a_sentinel_is_asked_for_the_address_too() {
        let (mut search, now) = search();
        let first = query(&mut search, now);
        let (sentinel, flags) = (first.server.clone(), "master,o_down,failover_in_progress");
        search.answered(first, Ok(list(&["ip", "old", "port", "1", "flags", flags, "config-epoch", "7"])));
        let further = query(&mut search, now);
        assert_eq!((&further.server, further.role), (&sentinel, Role::Sentinel));
        search.answered(further, Ok(list(&["new", "2"])));
        let confirmation = query(&mut search, now);
        assert_eq!(confirmation.server.to_string(), "new:2");
        search.answered(confirmation, Ok(list(&["master"])));
        assert_eq!(search.outcome.as_ref().unwrap().epoch, Some(7));
        end(&mut search, now).unwrap();
        let mut again = Search::new(&search.learned, now);
        let first = query(&mut again, now);
        again.answered(first, Ok(list(&["ip", "old", "port", "1", "flags", flags])));
        let further = query(&mut again, now);
        again.answered(further, Ok(Value::Nil));
        assert!(again.outcome.unwrap_err().message().contains("GET-MASTER-ADDR-BY-NAME was not understood"));
    }

    #[test]
    fn a_search_ends_with_the_queries_that_were_sent_when_no_more_can_be() {
        let (mut search, now) = search();
        let first = query(&mut search, now);
        query(&mut search, now + HEDGE);
        search.unsent();
        assert_eq!(wait(&mut search, now + HEDGE * 9), search.by);
        search.answered(first, failure("first"));
        assert_eq!(end(&mut search, now + HEDGE * 9).unwrap_err().message(), "first");
    }
}
