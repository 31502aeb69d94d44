//! Which server to ask: fixed by the URL, or learned from the Cluster or the Sentinels. Does no I/O.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::discovery::Discovery;
use super::learned::{DiscoveryNeed, LearnedTopology, Node};
use crate::error::{Error, Result};
use crate::redis::connecting::connector::Connector;
use crate::redis::errors::{self, Unanswered};
use crate::redis::settings::url::Servers;
use crate::redis::wire::command::{Redirect, RedisCommand};

/// How often a call follows a redirection, as often as it takes for a slot to be moved twice.
const MAX_HOPS: usize = 5;

/// How long to wait for keys that are being moved to another server.
const PAUSE_BETWEEN_TRIES: Duration = Duration::from_millis(10);

pub(in crate::redis) enum Router<N> {
    Fixed(Arc<N>),
    LearnedTopology(Arc<LearnedTopology<N>>),
}

/// Where a call goes next that no server has executed.
pub(in crate::redis) enum NextHop<N> {
    To {
        node: Arc<N>,
        asking: bool,
    },
    /// To the same server, after a pause.
    Later(Duration),
    /// To the owner of its slot, once that is found anew.
    Rediscover,
    /// Nowhere.
    Fail(Error),
}

impl<N: Node> Router<N> {
    pub(in crate::redis) fn new(connector: &Arc<Connector>) -> Self {
        let (discovery, seeds) = match &connector.url.servers {
            Servers::One(address) => return Self::Fixed(Arc::new(N::new(connector, address.clone()))),
            Servers::Cluster(seeds) => (Discovery::Cluster, seeds.clone()),
            Servers::Sentinel(seeds, service) => (Discovery::Sentinel(service.clone()), seeds.clone()),
        };
        Self::LearnedTopology(Arc::new(LearnedTopology::new(connector, discovery, seeds)))
    }

    #[inline]
    fn learned(&self) -> Option<&LearnedTopology<N>> {
        if let Self::LearnedTopology(learned) = self { Some(learned) } else { None }
    }

    /// The servers that are known.
    pub(in crate::redis) fn nodes(&self) -> Vec<Arc<N>> {
        match self {
            Self::Fixed(node) => vec![Arc::clone(node)],
            Self::LearnedTopology(learned) => learned.nodes(),
        }
    }

    /// Whether to ask for the topology before a call.
    pub(in crate::redis) fn due(&self, now: Instant) -> DiscoveryNeed {
        self.learned().map_or(DiscoveryNeed::No, |learned| learned.due(now))
    }

    /// A call has waited for `PAUSE` for a connection to this server. Whether to ask who is in charge.
    pub(in crate::redis) fn is_refresh_due(&self, node: &N, now: Instant) -> bool {
        self.mark_slow(node);
        self.is_known() && matches!(self.due(now), DiscoveryNeed::Meanwhile | DiscoveryNeed::First)
    }

    /// This server is slow, or away: another one may be in charge. Sentinels are asked all the while, and a Sentinel that is
    /// behind is to be believed only if a server says that it is no primary.
    pub(in crate::redis) fn mark_slow(&self, node: &N) {
        if self.learned().is_some_and(|learned| matches!(learned.discovery, Discovery::Cluster)) {
            self.mark_stale(node);
        }
    }

    /// Whether the server is in charge of nothing any more.
    pub(in crate::redis) fn is_gone(&self, node: &Arc<N>) -> bool {
        self.learned().is_some_and(|learned| learned.is_gone(node))
    }

    /// Whether there is a server to ask.
    pub(in crate::redis) fn is_known(&self) -> bool {
        self.learned().is_none_or(LearnedTopology::is_known)
    }

    /// A call ended because topology discovery failed.
    pub(in crate::redis) fn undiscovered(&self, error: &Error, now: Instant) {
        if let Some(learned) = self.learned() {
            learned.breaker.unanswered(&Unanswered::because(error.message()), now);
        }
    }

    /// The server that owns the slot of a request. A single one is not asked which slot that is.
    pub(in crate::redis) fn owner(&self, request: &RedisCommand) -> Result<Arc<N>> {
        match self {
            Self::Fixed(node) => Ok(Arc::clone(node)),
            Self::LearnedTopology(learned) => {
                let slot = request.slot();
                learned.owner(slot).ok_or_else(|| errors::unowned(slot))
            }
        }
    }

    /// A call to this server failed in a way that says that another one may be in charge.
    pub(in crate::redis) fn mark_stale(&self, node: &N) {
        if let Some(learned) = self.learned() {
            learned.mark_stale(node.address());
        }
    }

    /// Where a request goes next that `from` has not executed, of a call with so much time left. `hops` counts how often
    /// the call was sent elsewhere.
    pub(in crate::redis) fn next(
        &self,
        hops: &mut usize,
        from: &Arc<N>,
        redirect: Redirect,
        request: &RedisCommand,
        left: Duration,
    ) -> NextHop<N> {
        *hops += usize::from(!matches!(redirect, Redirect::TryAgain(_)));
        let is_lost = *hops > MAX_HOPS;
        if matches!(redirect, Redirect::Moved(_) | Redirect::NotOwner(_)) && !is_lost {
            self.mark_stale(from);
        }
        let asking = matches!(redirect, Redirect::Ask(_));
        match (redirect, self.learned()) {
            // As long as the call has time for an answer: some slots take long to move.
            (Redirect::TryAgain(took), _) if left > PAUSE_BETWEEN_TRIES + took.max(PAUSE_BETWEEN_TRIES) => {
                NextHop::Later(PAUSE_BETWEEN_TRIES)
            }
            (Redirect::TryAgain(_), _) => NextHop::Fail(errors::slot_moving(request.slot(), from.address())),
            (Redirect::Moved(to) | Redirect::Ask(to), Some(learned)) if !is_lost => {
                NextHop::To { node: learned.node(&to), asking }
            }
            (Redirect::Moved(_) | Redirect::Ask(_), _) => NextHop::Fail(errors::lost(request.slot())),
            (Redirect::NotOwner(_), Some(_)) if *hops == 1 => NextHop::Rediscover,
            // Behind a name or a virtual address, a new connection may lead to the new primary.
            (Redirect::NotOwner(_), None) if *hops == 1 => NextHop::To { node: Arc::clone(from), asking },
            (Redirect::Unsent(..), _) if !is_lost => {
                let node = self.owner(request).unwrap_or_else(|_| Arc::clone(from));
                NextHop::To { node, asking }
            }
            (Redirect::NotOwner(failure) | Redirect::Unsent(failure, _), _) => NextHop::Fail(failure.error),
        }
    }
}
