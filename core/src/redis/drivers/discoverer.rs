//! Asks seeds, nodes or Sentinels for the topology, on threads that no caller waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use ::redis::Value;

use super::connection::Connection;
use crate::error::Result;
use crate::net::address::Address;
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::deadline::Deadline;
use crate::redis::connecting::stream::Resend;
use crate::redis::settings::login::Role;
use crate::redis::topology::learned::{LearnedTopology, Node};
use crate::redis::topology::search::{Query, Search, SearchStep};
use crate::sync::lock::Mutex;

/// Keeps the connections over which the topology is asked for.
#[derive(Default)]
pub(in crate::redis) struct Discoverer {
    idle: Mutex<HashMap<(Address, Role), Connection>>,
}

impl Discoverer {
    /// Asks for the topology and teaches it to `learned`.
    pub(in crate::redis) fn discover<N: Node>(
        self: &Arc<Self>,
        learned: &Arc<LearnedTopology<N>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let (sender, answers) = channel();
        let mut search = Search::new(learned, Instant::now());
        loop {
            match search.next(Instant::now()) {
                SearchStep::Send(query) => {
                    if !self.send(&learned.connector, query, &sender) {
                        search.unsent();
                    }
                }
                SearchStep::Wait(by) => match (Deadline { by, cancelled: Some(cancelled) }).next() {
                    Ok(wait) => {
                        if let Ok((query, answer)) = answers.recv_timeout(wait) {
                            search.answered(query, answer);
                        }
                    }
                    Err(_) if cancelled() => return search.end(Instant::now()),
                    Err(_) => {}
                },
                SearchStep::End(result) => {
                    // Of servers that are neither seeds nor owners any more.
                    self.idle.lock().retain(|(server, _), _| learned.may_ask(server));
                    return result;
                }
            }
        }
    }

    /// Starts a thread that asks a server and sends back the answer. Answers whether it could.
    fn send(
        self: &Arc<Self>,
        connector: &Arc<Connector>,
        query: Query,
        sender: &Sender<(Query, Result<Value>)>,
    ) -> bool {
        let (this, kept, sender) = (Arc::clone(self), Arc::clone(connector), sender.clone());
        let started = connector.background.spawn(move |cancelled| {
            let answer = this.query(&kept, &query, Deadline { by: query.by, cancelled: Some(cancelled) });
            // Another answer may have been faster.
            let _ = sender.send((query, answer));
        });
        started.is_ok()
    }

    /// Asks a server, by the connection of last time if there is one.
    fn query(&self, connector: &Arc<Connector>, query: &Query, deadline: Deadline<'_>) -> Result<Value> {
        let name = (query.server.clone(), query.role);
        let kept = self.idle.lock().remove(&name);
        let ask = |mut connection: Connection| {
            connection.session.has_topology = true;
            let value = connection.query(query.command.clone(), deadline)?;
            self.idle.lock().insert(name.clone(), connection);
            Ok(value)
        };
        if let Some(Ok(value)) = kept.map(ask) {
            return Ok(value);
        }
        let opened = Connection::open(connector, &query.server, query.role, deadline, Resend::Never);
        opened.and_then(ask).map_err(|failure| failure.error)
    }

    pub(in crate::redis) fn close(&self) {
        self.idle.lock().clear();
    }

    /// The same for what a forked child inherited, unless a thread holds the lock that does not exist there.
    pub(in crate::redis) fn abandon(&self) {
        if let Ok(mut idle) = self.idle.try_lock() {
            idle.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use super::super::multiplexer::Peer;
    use super::*;
    use crate::options::ConnectOptions;
    use crate::redis::settings::url::Backend;
    use crate::redis::tests::fake_server::node_led_by;
    use crate::redis::topology::discovery::Discovery;

    #[test]
    fn connections_to_former_nodes_are_closed() {
        let owner = Arc::new(AtomicU16::new(0));
        let nodes = [(); 5].map(|()| node_led_by(&owner));
        let Ok(Backend::Redis(url)) = Backend::parse(&format!("redis-cluster://{}", nodes[0])) else {
            unreachable!()
        };
        let connector = Arc::new(Connector::new(&url, &ConnectOptions::default()).unwrap());
        let seed = Address::Tcp("127.0.0.1".to_owned(), nodes[0].port());
        let learned = LearnedTopology::<Peer>::new(&connector, Discovery::Cluster, vec![seed]);
        let (learned, discoverer) = (Arc::new(learned), Arc::new(Discoverer::default()));
        for node in nodes {
            owner.store(node.port(), Ordering::SeqCst);
            // Both the seed and the last owner are asked.
            for _ in 0..3 {
                discoverer.discover(&learned, &|| false).unwrap();
            }
        }
        // To the seed and to the owner.
        assert!(discoverer.idle.lock().len() <= 2);
    }
}
