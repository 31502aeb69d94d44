//! A multiplexer shared by tasks or threads, and the host that serves it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};
use std::task::Waker;
use std::time::Instant;

use crate::metrics::ServerMetrics;
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::stream::{Resend, Stream};
use crate::redis::drivers::connection::{BUSY, Connection};
use crate::redis::drivers::discoverer::Discoverer;
use crate::redis::drivers::multiplexer::{ConnectionId, Multiplexer, Need, Order, Peer, Work};
use crate::redis::topology::learned::{LearnedTopology, Node};
use crate::redis::wire::channel::ReadProgress;
use crate::sync::lock::Mutex;

/// Who watches the connections: the event loop of Tokio, a foreign one, or the threads that wait for answers.
pub(crate) trait Host: Send + Sync {
    /// Begins to keep the time.
    fn begin(&self, _hub: &Arc<Hub>) {}
    /// Begins to watch a connection, and to pump it whenever it is ready.
    fn watch(&self, hub: &Arc<Hub>, connection: ConnectionId);
    fn serve(&self, hub: &Arc<Hub>, connection: ConnectionId, need: Need);
    /// So many calls keep a server at work, so that further ones may wait for each other to go together.
    fn busy(&self) -> usize {
        BUSY
    }
    /// Carries out soon what was ordered by another thread, after which the loop looks at nothing by itself.
    fn wake(&self) {}
    /// The deadline has come nearer, or the limiter is closed: no more calls come.
    fn hurry(&self);
}

pub(crate) struct Hub {
    pub(in crate::redis) connector: Arc<Connector>,
    discoverer: Arc<Discoverer>,
    multiplexer: Mutex<Multiplexer<Stream>>,
    pub(in crate::redis) host: Arc<dyn Host>,
}

impl Hub {
    pub(in crate::redis) fn new(connector: Arc<Connector>, host: Arc<dyn Host>) -> Arc<Self> {
        let multiplexer = Mutex::new(Multiplexer::new(Arc::clone(&connector)));
        let hub = Arc::new(Self { connector, discoverer: Arc::default(), multiplexer, host });
        hub.host.begin(&hub);
        hub
    }

    /// Does something with the multiplexer, then whatever that asks for. Three times a check.
    #[inline(always)]
    pub(in crate::redis) fn act<T>(
        self: &Arc<Self>,
        action: impl FnOnce(&mut Multiplexer<Stream>) -> T,
    ) -> T {
        let mut multiplexer = self.lock();
        let before = multiplexer.deadline();
        let result = action(&mut multiplexer);
        let work = multiplexer.take_work();
        let deadline = multiplexer.deadline();
        drop(multiplexer);
        if deadline.is_some_and(|deadline| before.is_none_or(|before| deadline < before)) {
            self.host.hurry();
        }
        if let Some(Work { orders, woken, followed }) = work {
            for order in orders {
                self.carry_out(order);
            }
            woken.into_iter().for_each(wake);
            followed.into_iter().for_each(|(then, result)| then(result));
        }
        result
    }

    /// The same for what a thread of its own has to report.
    fn report<T>(self: &Arc<Self>, report: impl FnOnce(&mut Multiplexer<Stream>) -> T) -> T {
        let result = self.act(report);
        self.host.wake();
        result
    }

    fn carry_out(self: &Arc<Self>, order: Order) {
        match order {
            Order::Open(peer) => self.open(peer),
            Order::Discover(learned) => self.discover(learned),
            Order::Serve(connection, need) => self.host.serve(self, connection, need),
        }
    }

    /// Opens a connection on a thread of its own: names are looked up and certificates verified meanwhile.
    fn open(self: &Arc<Self>, peer: Arc<Peer>) {
        let hub = Arc::clone(self);
        let resend = if peer.breaker.is_open() { Resend::Often } else { Resend::Never };
        Connection::open_in_background(&self.connector, peer.address().clone(), resend, move |opened| {
            let opened = opened.map(|connection| connection.limited(hub.host.busy()));
            let connection = hub.report(|multiplexer| multiplexer.opened(&peer, opened, Instant::now()));
            if let Some(connection) = connection {
                hub.host.watch(&hub, connection);
            }
        });
    }

    fn discover(self: &Arc<Self>, learned: Arc<LearnedTopology<Peer>>) {
        let (hub, discoverer) = (Arc::clone(self), Arc::clone(&self.discoverer));
        self.connector.background.run(
            move |cancelled| discoverer.discover(&learned, cancelled),
            move |result| hub.report(|multiplexer| multiplexer.discovered(result, Instant::now())),
        );
    }

    /// What is counted of each server that is known, by its address.
    pub(crate) fn servers(&self) -> Vec<(String, ServerMetrics)> {
        let nodes = self.lock().router.nodes();
        nodes.iter().map(|node| (node.address().to_string(), node.breaker.metrics())).collect()
    }

    /// Moves bytes on a connection. Answers what is left to do, or `None` if nothing more comes of it.
    pub(in crate::redis) fn pump(self: &Arc<Self>, connection: ConnectionId) -> Option<ReadProgress> {
        self.act(|multiplexer| multiplexer.pump(connection, Instant::now()))
    }

    /// Closes for good. Calls under way are answered.
    pub(in crate::redis) fn close(self: &Arc<Self>) {
        self.act(|multiplexer| multiplexer.close(Instant::now()));
        self.host.hurry();
        self.connector.background.end();
        self.discoverer.close();
        self.host.hurry();
    }

    /// Closes what a forked child inherited, without a word to the servers. Where a thread holds a lock that does not exist
    /// there, the sockets stay open, unused.
    pub(in crate::redis) fn disown(&self) {
        if let Ok(mut multiplexer) = self.multiplexer.try_lock() {
            multiplexer.disown();
        }
        self.discoverer.abandon();
    }

    /// Closes the connections at once.
    #[cfg(feature = "bridge")]
    pub(crate) fn abort(self: &Arc<Self>) {
        self.act(|multiplexer| multiplexer.abort(Instant::now()));
    }

    /// Ends calls whose time is up.
    #[cfg(feature = "bridge")]
    pub(crate) fn expire(self: &Arc<Self>, now: Instant) {
        self.act(|multiplexer| multiplexer.expire(now));
    }

    /// Whether a server is to be heard although nobody waits for an answer.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_relied_on(&self) -> bool {
        self.lock().is_relied_on(Instant::now())
    }

    /// When to call [`expire`](Self::expire), at the latest.
    #[cfg(feature = "bridge")]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.lock().deadline()
    }

    /// Whether a call that nobody waits for is under way.
    pub(crate) fn is_releasing(&self) -> bool {
        self.lock().is_releasing()
    }

    /// Whether there is only one call.
    #[cfg(feature = "bridge")]
    pub(crate) fn is_alone(&self) -> bool {
        self.lock().is_alone()
    }

    #[inline(always)]
    pub(in crate::redis) fn lock(&self) -> MutexGuard<'_, Multiplexer<Stream>> {
        self.multiplexer.lock()
    }
}

/// Whose waker panics keeps nobody else from being woken, and ends no thread or task of the limiter.
fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}
