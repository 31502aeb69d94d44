//! Which server to ask: fixed by the URL, or learnt from the Cluster or the Sentinels. Does no I/O.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use super::address::Address;
use super::connector::{Connector, Role};
use super::discovery::{Discovery, Range};
use super::url::Servers;

/// How long to live with a map that is known to be out of date, so that an outage of one node does not make
/// every call ask the others.
const PAUSE: Duration = Duration::from_millis(100);

/// The connections to one server.
pub(super) trait Node {
    /// Opens nothing.
    fn new(connector: &Arc<Connector>, address: Address, role: Role) -> Self;
    fn address(&self) -> &Address;
    /// Idle connections end at once, those in use when their call ends.
    fn close(&self);
}

pub(super) enum Router<N> {
    Fixed(Arc<N>),
    Learnt(Learnt<N>),
}

impl<N: Node> Router<N> {
    pub(super) fn new(connector: &Arc<Connector>) -> Self {
        let node = |address: &Address, role| Arc::new(N::new(connector, address.clone(), role));
        let (discovery, advisers) = match &connector.servers {
            Servers::One(address) => return Self::Fixed(node(address, Role::Data)),
            Servers::Cluster(seeds) => {
                (Discovery::Cluster, seeds.iter().map(|seed| node(seed, Role::Data)).collect())
            }
            Servers::Sentinel(sentinels, service) => {
                let sentinels = sentinels.iter().map(|sentinel| node(sentinel, Role::Sentinel)).collect();
                (Discovery::Sentinel(service.clone()), sentinels)
            }
        };
        Self::Learnt(Learnt {
            connector: Arc::clone(connector),
            discovery,
            advisers,
            map: RwLock::new(Map {
                nodes: HashMap::new(),
                ranges: Vec::new(),
                suspect: None,
                asked_at: None,
            }),
            stale: AtomicBool::new(true),
        })
    }

    pub(super) fn close(&self) {
        match self {
            Self::Fixed(node) => node.close(),
            Self::Learnt(learnt) => learnt.close(),
        }
    }

    /// Visits the servers without waiting for a lock, which in a forked child may never be freed.
    pub(super) fn each_try(&self, visit: impl Fn(&N)) {
        match self {
            Self::Fixed(node) => visit(node),
            Self::Learnt(learnt) => {
                learnt.advisers.iter().for_each(|node| visit(node));
                if let Ok(map) = learnt.map.try_read() {
                    map.nodes.values().for_each(|node| visit(node));
                }
            }
        }
    }
}

/// A map of slots to servers that follows the Cluster, or the service of the Sentinels.
pub(super) struct Learnt<N> {
    connector: Arc<Connector>,
    pub(super) discovery: Discovery,
    advisers: Vec<Arc<N>>,
    map: RwLock<Map<N>>,
    stale: AtomicBool,
}

struct Map<N> {
    nodes: HashMap<Address, Arc<N>>,
    /// First slot, last slot, owner; in order.
    ranges: Vec<(u16, u16, Arc<N>)>,
    /// The node that failed last: the least promising one to ask.
    suspect: Option<Address>,
    asked_at: Option<Instant>,
}

impl<N: Node> Learnt<N> {
    pub(super) fn owner(&self, slot: u16) -> Option<Arc<N>> {
        let map = self.read();
        let next = map.ranges.partition_point(|(first, _, _)| *first <= slot);
        let (_, last, owner) = map.ranges.get(next.checked_sub(1)?)?;
        (slot <= *last).then(|| Arc::clone(owner))
    }

    /// Whether anything was learnt yet.
    pub(super) fn is_known(&self) -> bool {
        !self.read().ranges.is_empty()
    }

    /// Whether it is time to ask.
    pub(super) fn is_due(&self) -> bool {
        self.stale.load(Ordering::Acquire) && {
            let map = self.read();
            map.ranges.is_empty() || map.asked_at.is_none_or(|at| at.elapsed() >= PAUSE)
        }
    }

    /// A call to this server failed or was sent elsewhere: ask again before the next call.
    pub(super) fn doubt(&self, address: &Address) {
        self.write().suspect = Some(address.clone());
        self.stale.store(true, Ordering::Release);
    }

    /// Whom to ask, the most promising first.
    pub(super) fn advisers(&self) -> Vec<Arc<N>> {
        let mut map = self.write();
        map.asked_at = Some(Instant::now());
        let known = match self.discovery {
            Discovery::Cluster => map.nodes.values().cloned().collect(),
            Discovery::Sentinel(_) => Vec::new(),
        };
        let mut advisers: Vec<Arc<N>> = known;
        for adviser in &self.advisers {
            if !advisers.iter().any(|known| known.address() == adviser.address()) {
                advisers.push(Arc::clone(adviser));
            }
        }
        advisers.sort_by_key(|adviser| Some(adviser.address()) == map.suspect.as_ref());
        advisers
    }

    /// The connections to a server that an answer or a redirection named.
    pub(super) fn node(&self, address: &Address) -> Arc<N> {
        if let Some(node) = self.read().nodes.get(address) {
            return Arc::clone(node);
        }
        Arc::clone(self.write().nodes.entry(address.clone()).or_insert_with(|| self.connect(address)))
    }

    /// Takes over what was learnt; servers that own nothing any more are forgotten.
    pub(super) fn learn(&self, ranges: Vec<Range>) {
        let mut map = self.write();
        let mut nodes: HashMap<Address, Arc<N>> = HashMap::new();
        let mut owned = Vec::with_capacity(ranges.len());
        for Range { first, last, owner } in ranges {
            let known = map.nodes.get(&owner).cloned();
            let node =
                nodes.entry(owner).or_insert_with_key(|owner| known.unwrap_or_else(|| self.connect(owner)));
            owned.push((first, last, Arc::clone(node)));
        }
        map.nodes = nodes;
        map.ranges = owned;
        self.stale.store(false, Ordering::Release);
    }

    fn connect(&self, address: &Address) -> Arc<N> {
        let seed = self.advisers.iter().find(|adviser| adviser.address() == address);
        match (seed, &self.discovery) {
            (Some(seed), Discovery::Cluster) => Arc::clone(seed),
            _ => Arc::new(N::new(&self.connector, address.clone(), Role::Data)),
        }
    }

    fn close(&self) {
        let map = self.read();
        map.nodes.values().chain(&self.advisers).for_each(|node| node.close());
    }

    fn read(&self) -> RwLockReadGuard<'_, Map<N>> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map<N>> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }
}
