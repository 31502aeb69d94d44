//! Asks seeds, nodes or Sentinels for the topology, on threads that no caller waits for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use ::redis::{Cmd, Value};

use super::connection::Connection;
use super::connector::Connector;
use super::deadline::Deadline;
use super::discovery::{self, Discovery, Topology};
use super::errors;
use super::login::Role;
use super::router::{LearnedTopology, Node};
use crate::address::Address;
use crate::error::{Error, Result};
use crate::lock::Mutex;

/// How long one seed is waited for before the next one is asked as well.
const HEDGE: Duration = Duration::from_millis(50);

/// Keeps the connections over which the topology is asked for.
#[derive(Default)]
pub(super) struct Discoverer {
    idle: Mutex<HashMap<(Address, Role), Connection>>,
}

impl Discoverer {
    /// Asks for the topology and teaches it to `learned`.
    pub(super) fn discover<N: Node + Send + Sync + 'static>(
        self: &Arc<Self>,
        learned: &Arc<LearnedTopology<N>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<()> {
        let found = self.first_answer(learned, cancelled);
        let result = found.map(|topology| learned.learn(topology, Instant::now()));
        learned.asked();
        result
    }

    /// Asks one seed after the other, and takes the first good answer of any.
    fn first_answer<N: Node + Send + Sync + 'static>(
        self: &Arc<Self>,
        learned: &Arc<LearnedTopology<N>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Topology> {
        let start = Instant::now();
        let by = start + learned.connector.timeout();
        let (sender, answers) = channel();
        let mut failure = None;
        let mut asked = 0;
        for seed in learned.seeds_to_ask(start) {
            if !self.ask_aside(learned, seed, by, &sender) {
                break;
            }
            asked += 1;
            match first_good(&answers, &mut asked, &mut failure, Instant::now() + HEDGE, cancelled) {
                Some(topology) => return Ok(topology),
                None => continue,
            }
        }
        let last = first_good(&answers, &mut asked, &mut failure, by, cancelled);
        last.ok_or_else(|| failure.unwrap_or_else(|| errors::undiscoverable(learned.connector.timeout())))
    }

    fn ask_aside<N: Node + Send + Sync + 'static>(
        self: &Arc<Self>,
        learned: &Arc<LearnedTopology<N>>,
        seed: Address,
        by: Instant,
        sender: &Sender<Result<Topology>>,
    ) -> bool {
        let (this, learned, sender) = (Arc::clone(self), Arc::clone(learned), sender.clone());
        let background = Arc::clone(&learned.connector.background);
        background.spawn(move |cancelled| {
            let deadline = Deadline { by, cancelled: Some(cancelled) };
            // Another seed may have been faster.
            let _ = sender.send(this.ask(&learned, &seed, deadline));
        })
    }

    fn ask<N: Node>(
        &self,
        learned: &LearnedTopology<N>,
        seed: &Address,
        deadline: Deadline<'_>,
    ) -> Result<Topology> {
        let discovery = &learned.discovery;
        let answer = self
            .query(&learned.connector, seed, discovery.role(), discovery.question(), deadline)
            .map_err(|error| match discovery.refused(&error) {
            Some(reason) => errors::undiscovered(seed, &reason),
            None => error,
        })?;
        let topology =
            discovery.answer(&answer, seed).map_err(|reason| errors::undiscovered(seed, &reason))?;
        if let (Discovery::Sentinel(_), false) = (discovery, learned.knows(&topology)) {
            self.confirm(learned, seed, &topology, deadline)?;
        }
        Ok(topology)
    }

    /// A Sentinel may be behind: the server that it names has to say that it is a primary.
    fn confirm<N: Node>(
        &self,
        learned: &LearnedTopology<N>,
        seed: &Address,
        topology: &Topology,
        deadline: Deadline<'_>,
    ) -> Result<()> {
        for range in &topology.ranges {
            let role =
                self.query(&learned.connector, &range.owner, Role::Data, discovery::role(), deadline)?;
            if !discovery::is_primary(&role) {
                return Err(errors::undiscovered(seed, "the server it names is not a primary"));
            }
        }
        Ok(())
    }

    /// Asks a server, by the connection of last time if there is one.
    fn query(
        &self,
        connector: &Arc<Connector>,
        address: &Address,
        role: Role,
        cmd: Cmd,
        deadline: Deadline<'_>,
    ) -> Result<Value> {
        let name = (address.clone(), role);
        let kept = self.idle.lock().remove(&name);
        if let Some(mut connection) = kept
            && let Ok(value) = connection.query(cmd.clone(), deadline)
        {
            self.idle.lock().insert(name, connection);
            return Ok(value);
        }
        let opened = Connection::open(connector, address, role, deadline);
        let mut connection = opened.map_err(|failure| failure.error)?;
        let value = connection.query(cmd, deadline).map_err(|failure| failure.error)?;
        self.idle.lock().insert(name, connection);
        Ok(value)
    }

    /// Closes the connections.
    pub(super) fn close(&self) {
        self.idle.lock().clear();
    }
}

/// The first good answer that comes in time of those that are still awaited.
fn first_good(
    answers: &Receiver<Result<Topology>>,
    awaited: &mut usize,
    failure: &mut Option<Error>,
    by: Instant,
    cancelled: &dyn Fn() -> bool,
) -> Option<Topology> {
    while *awaited > 0 {
        let wait = Deadline { by, cancelled: Some(cancelled) }.next().ok()?;
        match answers.recv_timeout(wait) {
            Ok(Ok(topology)) => return Some(topology),
            Ok(Err(error)) => {
                *awaited -= 1;
                *failure = Some(error);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}
