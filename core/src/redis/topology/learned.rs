//! Which servers own which slots, as the Cluster or the Sentinels last said. Does no I/O.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::discovery::{Discovery, Range, Topology};
use super::primaries_log::PrimariesLog;
use crate::error::{Error, Result};
use crate::net::address::Address;
use crate::redis::connecting::breaker::{Breaker, Refusal};
use crate::redis::connecting::connector::Connector;

/// How long to live with a map that is known to be out of date, so that an outage of one node does not make
/// every call ask the others. A connection that takes as long to be opened is reason to ask them.
pub(in crate::redis) const PAUSE: Duration = Duration::from_millis(100);

/// How often Sentinels are asked again although nothing failed: the old primary of a failover takes calls for
/// seconds after another one is in charge.
const REFRESH: Duration = Duration::from_millis(400);

/// How old what Sentinels said may be for a call to go on with it.
const MAX_AGE: Duration = Duration::from_millis(800);

/// How long Sentinels have to name another server with a lower epoch. They tell each other of failovers every 2 s.
const RESET: Duration = Duration::from_secs(5);

/// How long a call waits for Sentinels while a server is known.
pub(in crate::redis) const TOPOLOGY_WAIT: Duration = Duration::from_millis(100);

/// The connections to one server.
pub(in crate::redis) trait Node {
    /// Opens nothing.
    fn new(connector: &Arc<Connector>, address: Address) -> Self;
    fn address(&self) -> &Address;
}

/// Whether to ask for the topology before a call is sent.
#[derive(Debug)]
pub(in crate::redis) enum DiscoveryNeed {
    No,
    /// Yes, while the call goes on with what is known.
    Meanwhile,
    /// Yes, and the call waits for the answer.
    First,
    /// The call ends: nothing is known, and nobody has answered for a while. A probe asks all the same.
    Refused(Refusal),
}

/// A map of slots to servers that follows the Cluster, or the service of the Sentinels.
pub(in crate::redis) struct LearnedTopology<N> {
    pub(in crate::redis) connector: Arc<Connector>,
    pub(in crate::redis) discovery: Discovery,
    seeds: Vec<Address>,
    /// For calls while nothing is known. What is known has a breaker for each server.
    pub(in crate::redis) breaker: Breaker,
    map: RwLock<Map<N>>,
    stale: AtomicBool,
    log: PrimariesLog,
}

struct Map<N> {
    nodes: HashMap<Address, Arc<N>>,
    /// First slot, last slot, owner; in order.
    ranges: Vec<(u16, u16, Arc<N>)>,
    epoch: Option<u64>,
    /// The node that failed last: the least promising one to ask.
    suspect: Option<Address>,
    asked_at: Option<Instant>,
    /// Whether a search for the topology is.
    under_way: bool,
    learnt_at: Option<Instant>,
    /// How often the topology was asked for.
    rounds: usize,
    /// How many answers in a row were of an earlier epoch, and since when.
    outdated: (usize, Option<Instant>),
}

impl<N: Node> LearnedTopology<N> {
    pub(in crate::redis) fn new(
        connector: &Arc<Connector>,
        discovery: Discovery,
        seeds: Vec<Address>,
    ) -> Self {
        let map = Map {
            nodes: HashMap::new(),
            ranges: Vec::new(),
            epoch: None,
            suspect: None,
            asked_at: None,
            under_way: false,
            learnt_at: None,
            rounds: 0,
            outdated: (0, None),
        };
        let (connector, breaker) = (Arc::clone(connector), connector.breaker());
        let (map, stale, log) = (RwLock::new(map), AtomicBool::new(true), PrimariesLog::default());
        Self { connector, discovery, seeds, breaker, map, stale, log }
    }

    pub(in crate::redis) fn owner(&self, slot: u16) -> Option<Arc<N>> {
        let map = self.read();
        let next = map.ranges.partition_point(|(first, _, _)| *first <= slot);
        let (_, last, owner) = map.ranges.get(next.checked_sub(1)?)?;
        (slot <= *last).then(|| Arc::clone(owner))
    }

    /// The servers that own something.
    pub(in crate::redis) fn nodes(&self) -> Vec<Arc<N>> {
        self.read().nodes.values().map(Arc::clone).collect()
    }

    /// Whether the server owns nothing any more.
    pub(in crate::redis) fn is_gone(&self, node: &Arc<N>) -> bool {
        self.read().nodes.get(node.address()).is_none_or(|known| !Arc::ptr_eq(known, node))
    }

    /// Whether anything was learned yet.
    pub(in crate::redis) fn is_known(&self) -> bool {
        !self.read().ranges.is_empty()
    }

    pub(in crate::redis) fn due(&self, now: Instant) -> DiscoveryNeed {
        self.log.overdue(now);
        let stale = self.stale.load(Ordering::Acquire);
        if !stale && matches!(self.discovery, Discovery::Cluster) {
            return DiscoveryNeed::No;
        }
        let map = self.read();
        if map.ranges.is_empty() {
            let admitted = self.seeds.first().map_or(Ok(()), |seed| self.breaker.admit(seed, now));
            return match admitted {
                Err(refusal) if !refusal.awaits_probe => DiscoveryNeed::Refused(refusal),
                // The search is the probe.
                Ok(()) | Err(_) => DiscoveryNeed::First,
            };
        }
        let since = |at: Option<Instant>| at.map_or(Duration::MAX, |at| now.saturating_duration_since(at));
        let (asked, age) = (since(map.asked_at), since(map.learnt_at));
        let is_sentinel = matches!(self.discovery, Discovery::Sentinel(_));
        match map.under_way {
            true if is_sentinel && age >= MAX_AGE && asked < TOPOLOGY_WAIT => DiscoveryNeed::First,
            true => DiscoveryNeed::No,
            false if asked < PAUSE => DiscoveryNeed::No,
            false if is_sentinel && age >= MAX_AGE => DiscoveryNeed::First,
            false if stale || is_sentinel && age >= REFRESH => DiscoveryNeed::Meanwhile,
            false => DiscoveryNeed::No,
        }
    }

    /// A call to this server failed or was sent elsewhere: ask again before the next call.
    pub(in crate::redis) fn mark_stale(&self, address: &Address) {
        // Calls that are refused come often, and in great numbers.
        if self.stale.load(Ordering::Acquire) && self.read().suspect.as_ref() == Some(address) {
            return;
        }
        self.write().suspect = Some(address.clone());
        self.stale.store(true, Ordering::Release);
    }

    /// Whether to begin a search: not while one is under way.
    pub(in crate::redis) fn begin(&self, now: Instant) -> bool {
        let mut map = self.write();
        let begins = !std::mem::replace(&mut map.under_way, true);
        if begins {
            map.asked_at = Some(now);
        }
        begins
    }

    /// Whom to ask, the most promising first: the nodes that are known, then the seeds that are none, which may belong to
    /// another Cluster by now. Both take turns: the first nodes may all be down, and one Sentinel may be behind.
    pub(super) fn seeds_to_ask(&self) -> Vec<Address> {
        let mut map = self.write();
        map.rounds = map.rounds.wrapping_add(1);
        let mut order: Vec<Address> = match self.discovery {
            Discovery::Cluster => map.nodes.keys().cloned().collect(),
            Discovery::Sentinel(_) => Vec::new(),
        };
        // A map has another order in every process, and what happens is to follow from what happened.
        order.sort_unstable();
        let mut seeds: Vec<Address> = Vec::new();
        for seed in &self.seeds {
            if !order.contains(seed) && !seeds.contains(seed) {
                seeds.push(seed.clone());
            }
        }
        for group in [&mut order, &mut seeds] {
            let turn = map.rounds % group.len().max(1);
            group.rotate_left(turn);
        }
        order.append(&mut seeds);
        order.sort_by_key(|seed| Some(seed) == map.suspect.as_ref());
        order
    }

    /// A search has ended, and with it the breaker's probe. The next search may begin before: a probe that is admitted while
    /// one is about to end would start none, and keep the breaker open.
    pub(in crate::redis) fn searched(&self, result: &Result<()>) {
        self.write().under_way = false;
        if self.is_known() {
            self.breaker.probed(None);
            return self.breaker.answered();
        }
        let failure = result.clone().err().unwrap_or_else(Error::closed);
        self.breaker.probed(Some(&failure.into()));
    }

    /// Whether the server may be asked for the topology.
    pub(in crate::redis) fn may_ask(&self, address: &Address) -> bool {
        self.seeds.contains(address) || self.read().nodes.contains_key(address)
    }

    /// The connections to a server that an answer or a redirection named.
    pub(in crate::redis) fn node(&self, address: &Address) -> Arc<N> {
        if let Some(node) = self.read().nodes.get(address) {
            return Arc::clone(node);
        }
        Arc::clone(self.write().nodes.entry(address.clone()).or_insert_with(|| self.connect(address)))
    }

    /// Whether the owners are those that are known already, so that they need not confirm that they are primaries.
    pub(in crate::redis) fn knows(&self, topology: &Topology) -> bool {
        let map = self.read();
        let known = map.ranges.iter().map(|(first, last, node)| (*first, *last, node.address()));
        !self.stale.load(Ordering::Acquire)
            && known.eq(topology.ranges.iter().map(|range| (range.first, range.last, &range.owner)))
    }

    /// Takes over what was learned; servers that own nothing any more are closed and forgotten. A Sentinel that
    /// missed the last failover changes nothing while the primary that is known answers. If more such answers come in a row
    /// than there are Sentinels, and for long enough, they are believed: the Sentinels were reset, and count failovers from 0
    /// again.
    pub(in crate::redis) fn learn(&self, topology: Topology, now: Instant) {
        let mut map = self.write();
        if !self.stale.load(Ordering::Acquire) && topology.epoch < map.epoch {
            let (answers, since) = (map.outdated.0 + 1, *map.outdated.1.get_or_insert(now));
            map.outdated.0 = answers;
            if answers <= self.seeds.len() || now < since + RESET {
                return;
            }
        }
        map.outdated = (0, None);
        let mut nodes: HashMap<Address, Arc<N>> = HashMap::new();
        let mut owned = Vec::with_capacity(topology.ranges.len());
        for Range { first, last, owner } in topology.ranges {
            let known = map.nodes.get(&owner).cloned();
            let node =
                nodes.entry(owner).or_insert_with_key(|owner| known.unwrap_or_else(|| self.connect(owner)));
            owned.push((first, last, Arc::clone(node)));
        }
        let primaries = owned.iter().map(|(_, _, node)| node.address().to_string()).collect();
        map.nodes = nodes;
        map.ranges = owned;
        map.epoch = topology.epoch;
        map.learnt_at = Some(now);
        self.stale.store(false, Ordering::Release);
        drop(map);
        self.log.learned(primaries, now);
    }

    fn connect(&self, address: &Address) -> Arc<N> {
        Arc::new(N::new(&self.connector, address.clone()))
    }

    fn read(&self) -> RwLockReadGuard<'_, Map<N>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map<N>> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::options::ConnectOptions;
    use crate::redis::drivers::multiplexer::Peer;
    use crate::redis::settings::url::Backend;

    fn learned(url: &str, discovery: Discovery, seeds: usize) -> LearnedTopology<Peer> {
        let Ok(Backend::Redis(url)) = Backend::parse(url) else { unreachable!() };
        let connector = Arc::new(Connector::new(&url, &ConnectOptions::default()).unwrap());
        LearnedTopology::new(&connector, discovery, (0..seeds).map(|seed| server(seed as u16)).collect())
    }

    fn server(port: u16) -> Address {
        Address::Tcp("server".to_owned(), port)
    }

    /// All slots belong to one server.
    fn owned_by(port: u16, epoch: Option<u64>) -> Topology {
        Topology { ranges: vec![Range { first: 0, last: 16383, owner: server(port) }], epoch }
    }

    #[test]
    fn a_service_that_is_set_up_anew_is_followed() {
        let learned =
            learned("redis-sentinel://server/service", Discovery::Sentinel("service".to_owned()), 3);
        let owner = || learned.owner(0).unwrap().address().clone();
        let start = Instant::now();
        learned.learn(owned_by(1, Some(4)), start);
        // One Sentinel that is behind is asked in turn with others that are not.
        for round in 1..20 {
            learned.learn(owned_by(2, Some(3)), start + REFRESH * 2 * round);
            learned.learn(owned_by(1, Some(4)), start + REFRESH * (2 * round + 1));
        }
        assert_eq!(owner(), server(1));
        let reset = start + Duration::from_secs(60);
        for round in 0..12 {
            learned.learn(owned_by(3, Some(0)), reset + REFRESH * round);
            assert_eq!(owner(), server(1));
        }
        learned.learn(owned_by(3, Some(0)), reset + RESET);
        assert_eq!(owner(), server(3));
    }

    #[test]
    fn the_nodes_of_a_cluster_are_asked_in_turn_before_foreign_seeds() {
        const NODES: u16 = 5;
        let learned = learned("redis-cluster://server", Discovery::Cluster, 2);
        let ranges = (0..NODES).map(|node| Range { first: node, last: node, owner: server(100 + node) });
        learned.learn(Topology { ranges: ranges.collect(), epoch: None }, Instant::now());
        let asked: Vec<_> = (0..NODES).map(|_| learned.seeds_to_ask()).collect();
        let first: HashSet<_> = asked.iter().map(|order| &order[0]).collect();
        assert_eq!(first.len(), usize::from(NODES), "{asked:?}");
        for order in &asked {
            assert!(order[usize::from(NODES)..].iter().all(|seed| learned.seeds.contains(seed)), "{order:?}");
        }
    }
}
