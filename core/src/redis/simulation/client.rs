//! The host of the driver: carries out its orders, pumps its connections, keeps its time, and makes the calls.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use super::super::errors::{self, ConnectionError};
use super::ledger::Invariant;
use super::plan::{MS, Scenario, Setup, Time};
use super::protocol::{Key, command_of};
use super::wire::Wire;
use super::world::{Event, Shared, instant, time_of};
use crate::options::ConnectOptions;
use crate::redis::connecting::connector::Connector;
use crate::redis::drivers::multiplexer::{ConnectionId, Multiplexer, Need, Order, Peer, Work};
use crate::redis::settings::login::Role;
use crate::redis::settings::url::Backend;
use crate::redis::topology::learned::Node;
use crate::redis::topology::search::Search;
use crate::redis::wire::channel::Channel;
use crate::redis::wire::command::CallDeadline;
use crate::redis::wire::session::{Id, Session};

/// Who has the driver's end of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Opening(usize),
    Multiplexer(ConnectionId),
    Nobody,
}

/// A connection that is being opened.
struct Opening {
    peer: Arc<Peer>,
    begun: Time,
    /// Once it is made.
    channel: Option<Channel<Wire>>,
    is_over: bool,
}

/// Takes note of calls that are to be polled.
struct Bell {
    call: usize,
    rung: Arc<Mutex<Vec<usize>>>,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner).push(self.call);
    }
}

pub(super) struct Client {
    pub(super) world: Shared,
    pub(super) connector: Arc<Connector>,
    pub(super) multiplexer: Multiplexer<Wire>,
    openings: Vec<Opening>,
    /// Of each connection.
    owners: Vec<Owner>,
    /// The name of each call, until it is answered.
    ids: Vec<Option<Id>>,
    rung: Arc<Mutex<Vec<usize>>>,
    /// The connections that were to be closed.
    closing: HashSet<usize>,
    timer: Option<Time>,
    /// Those that are over are empty.
    pub(super) searches: Vec<Option<Search<Peer>>>,
    pub(super) last_answer_was_good: bool,
}

impl Client {
    pub(super) fn new(world: &Shared) -> Self {
        let connector = Arc::new(connector(&world.get().plan));
        Self {
            world: world.clone(),
            multiplexer: Multiplexer::new(Arc::clone(&connector)),
            connector,
            openings: Vec::new(),
            owners: Vec::new(),
            ids: Vec::new(),
            rung: Arc::default(),
            closing: HashSet::new(),
            timer: None,
            searches: Vec::new(),
            last_answer_was_good: false,
        }
    }

    pub(super) fn now(&self) -> Time {
        self.world.get().now
    }

    pub(super) fn after(&self, delay: Time, event: Event) {
        self.world.get().after(delay, event);
    }

    pub(super) fn chance(&self, percentage: u64) -> bool {
        self.world.get().random.percent(percentage)
    }

    /// Does something with the driver, then whatever that asks for.
    pub(super) fn act<T>(&mut self, action: impl FnOnce(&mut Multiplexer<Wire>, Instant) -> T) -> T {
        let now = instant(self.now());
        let result = action(&mut self.multiplexer, now);
        let Work { orders, woken, .. } = self.multiplexer.take_work().unwrap_or_default();
        woken.into_iter().for_each(Waker::wake);
        let rung = std::mem::take(&mut *self.rung.lock().unwrap_or_else(PoisonError::into_inner));
        rung.into_iter().for_each(|call| self.poll(call));
        orders.into_iter().for_each(|order| self.carry_out(order));
        self.set_timer();
        result
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Open(peer) => self.open(peer),
            Order::Discover(learned) => self.discover(&learned),
            Order::Serve(id, Need::Flush) if !self.chance(40) => self.within(100, id, Event::Flush),
            Order::Serve(id, Need::Flush | Need::Send) => self.flush(id),
            Order::Serve(id, Need::Read) => self.within(10, id, Event::Pump),
            Order::Serve(id, Need::Watch) => self.watch(id),
            Order::Serve(id, Need::Close) => {
                if let Some(connection) = self.connection(id) {
                    if !self.closing.insert(connection) {
                        let what = format!("connection {connection}");
                        self.world.get().ledger.violate(Invariant::ClosedTwice, what);
                    }
                    self.after(20, Event::Remove(connection));
                }
            }
        }
    }

    fn connection(&self, id: ConnectionId) -> Option<usize> {
        self.multiplexer.stream(id).map(|wire| wire.connection)
    }

    /// Has something happen to the connection within so many microseconds.
    fn within(&self, limit: Time, id: ConnectionId, event: fn(usize) -> Event) {
        if let Some(connection) = self.connection(id) {
            let mut world = self.world.get();
            let delay = world.random.below(limit);
            world.after(delay, event(connection));
        }
    }

    fn flush(&mut self, id: ConnectionId) {
        self.act(|multiplexer, now| multiplexer.flush(id, now));
    }

    fn watch(&self, id: ConnectionId) {
        if self.multiplexer.wants_write(id) {
            self.within(4 * MS, id, Event::Writable);
        }
    }

    pub(super) fn send(&mut self, connection: usize, is_watched: bool) {
        let Owner::Multiplexer(id) = self.owners[connection] else { return };
        self.flush(id);
        if is_watched {
            self.watch(id);
        }
    }

    fn set_timer(&mut self) {
        let Some(deadline) = self.multiplexer.deadline().map(time_of) else { return };
        let mut world = self.world.get();
        let lateness = world.plan.lateness;
        if self.timer.is_none_or(|timer| deadline + lateness < timer) {
            let at = (deadline + world.random.below(lateness + 1)).max(world.now);
            world.schedule(at, Event::Timer);
            self.timer = Some(at);
        }
    }

    pub(super) fn expire(&mut self) {
        if self.timer == Some(self.now()) {
            self.timer = None;
            self.act(|multiplexer, now| multiplexer.expire(now));
        }
    }

    pub(super) fn submit(&mut self, call: usize) {
        let (request, deadline) = {
            let mut world = self.world.get();
            let registration = world.remember(call);
            world.note_event(format_args!("submit {call}"));
            let now = world.now;
            world.ledger.submitted(call, now);
            let planned = world.ledger.planned(call);
            let key = Key { tag: planned.tag, family: planned.family };
            let by = instant(now + planned.timeout);
            let timeout = by.duration_since(instant(now));
            let request = command_of(key, planned.kind, registration);
            (request, CallDeadline { by, timeout })
        };
        self.ids.resize(self.ids.len().max(call + 1), None);
        let (ids, rung) = (&mut self.ids, &self.rung);
        let now = instant(self.world.get().now);
        ids[call] = Some(self.multiplexer.submit(request, deadline, now));
        rung.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        self.act(|_, _| ());
    }

    fn poll(&mut self, call: usize) {
        let Some(id) = self.ids[call] else { return };
        let waker = Waker::from(Arc::new(Bell { call, rung: Arc::clone(&self.rung) }));
        if let (Poll::Ready(result), _) = self.multiplexer.poll(id, &Context::from_waker(&waker)) {
            self.ids[call] = None;
            self.last_answer_was_good = result.is_ok();
            let world = &mut *self.world.get();
            world.note(|_| format!("call {call} is answered: {result:?}"));
            let attempt = world.ledger.calls[call].attempt;
            let opened_at = attempt.map_or(0, |attempt| world.connections[attempt.connection].opened_at);
            world.ledger.answered(call, &result, opened_at, &world.plan, (world.now, world.step));
            world.keep(call, result.is_ok());
        }
    }

    pub(super) fn abandon(&mut self, call: usize) {
        let Some(id) = self.ids.get_mut(call).and_then(Option::take) else { return };
        {
            let world = &mut *self.world.get();
            world.note_event(format_args!("abandon {call}"));
            world.ledger.abandoned(call, world.step);
            world.keep(call, false);
        }
        drop(self.act(|multiplexer, _| multiplexer.abandon(id)));
    }

    pub(super) fn close(&mut self) {
        self.world.get().ledger.breaker.is_closing = true;
        self.act(|multiplexer, now| multiplexer.close(now));
    }

    fn open(&mut self, peer: Arc<Peer>) {
        let opening = self.openings.len();
        let world = &mut *self.world.get();
        world.note_event(format_args!("open {}", peer.address()));
        if let Err(what) = world.ledger.breaker.opening(world.now, &world.plan) {
            world.ledger.violate(Invariant::Breaker, what);
        }
        self.openings.push(Opening { peer, begun: world.now, channel: None, is_over: false });
        let delay = world.latency();
        world.after(delay, Event::Connect(opening));
        world.after(world.plan.connect_timeout, Event::GiveUp(opening));
    }

    /// The server behind an address.
    pub(super) fn server(&self, address: &crate::net::address::Address) -> usize {
        let text = address.to_string();
        let name = text.split(':').next().unwrap_or_default();
        name.strip_prefix('h').and_then(|id| id.parse().ok()).unwrap_or(self.world.get().deployment.primary)
    }

    pub(super) fn connect(&mut self, id: usize) {
        if self.openings[id].is_over {
            return;
        }
        let address = self.openings[id].peer.address().clone();
        let server = self.server(&address);
        let (now, down_until, unreachable_until) = {
            let world = self.world.get();
            let server = &world.deployment.servers[server];
            (world.now, server.down_until, server.unreachable_until)
        };
        if now < unreachable_until {
            return;
        }
        if now < down_until {
            return self.not_opened(
                id,
                &ConnectionError::from(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)),
            );
        }
        let wire = Wire::open(&self.world, server);
        let session = Session::open(&self.connector, &address, Role::Data, instant(now));
        self.owners.resize(wire.connection + 1, Owner::Nobody);
        self.owners[wire.connection] = Owner::Opening(id);
        let connection = wire.connection;
        self.openings[id].channel = Some(Channel::new(wire, None, session));
        self.after(self.connector.options.response_timeout.as_micros() as Time, Event::GiveUp(id));
        self.pump(connection);
    }

    pub(super) fn give_up(&mut self, opening: usize) {
        if !self.openings[opening].is_over {
            self.not_opened(opening, &ConnectionError::Silent);
        }
    }

    fn not_opened(&mut self, opening: usize, fault: &ConnectionError) {
        let waited = Duration::from_micros(self.now() - self.openings[opening].begun);
        let Opening { peer, channel, is_over, .. } = &mut self.openings[opening];
        *is_over = true;
        drop(channel.take());
        let peer = Arc::clone(peer);
        let failure = errors::opening(fault, peer.address(), Role::Data, waited);
        self.act(|multiplexer, now| multiplexer.opened(&peer, Err(failure), now));
    }

    pub(super) fn pump(&mut self, connection: usize) {
        match self.owners[connection] {
            Owner::Opening(opening) => self.pump_opening(opening, connection),
            // Hosts report a connection only when there is something to read.
            Owner::Multiplexer(_) if !self.world.get().has_come(connection) => {}
            Owner::Multiplexer(id) => {
                let forgets = self.act(|multiplexer, now| {
                    multiplexer.pump(id, now);
                    multiplexer.forgets(id)
                });
                if forgets {
                    self.world.get().ledger.violate(Invariant::Forgotten, format!("connection {connection}"));
                }
            }
            Owner::Nobody => {}
        }
    }

    fn pump_opening(&mut self, id: usize, connection: usize) {
        let now = instant(self.now());
        let Some(channel) = &mut self.openings[id].channel else { return };
        channel.advance(now);
        let session = &mut channel.session;
        if session.is_opening() {
            return self.after(4 * MS, Event::Pump(connection));
        }
        if let Some(fault) = session.fault().cloned() {
            return self.not_opened(id, &fault);
        }
        let world = self.world.get();
        session.limit_batches(world.plan.window, world.plan.busy);
        drop(world);
        self.openings[id].is_over = true;
        let (peer, channel) = (Arc::clone(&self.openings[id].peer), self.openings[id].channel.take());
        let Some(channel) = channel else { return };
        self.owners[connection] = Owner::Nobody;
        self.world.get().ledger.breaker.opened();
        if let Some(id) = self.act(|multiplexer, now| multiplexer.opened(&peer, Ok(channel), now)) {
            self.owners[connection] = Owner::Multiplexer(id);
            self.within(50, id, Event::Pump);
        }
    }

    pub(super) fn remove(&mut self, connection: usize) {
        if let Owner::Multiplexer(id) = self.owners[connection]
            && self.multiplexer.is_over(id)
        {
            self.owners[connection] = Owner::Nobody;
            self.act(|multiplexer, now| multiplexer.orphan(id, &errors::no_runtime(), now));
        }
    }

    /// What is left when everything is over.
    pub(super) fn left(&mut self, call: usize) -> Result<(), String> {
        self.submit(call);
        if self.ids[call].is_some() && !self.multiplexer.is_alone() {
            return Err("calls that have ended".to_owned());
        }
        let ids = self.multiplexer.connections();
        let world = self.world.get();
        let connections = ids.iter().filter_map(|id| self.connection(*id));
        let mut servers: Vec<usize> = connections.map(|id| world.connections[id].server).collect();
        if world.plan.setup != Setup::Cluster && servers.len() > 1 {
            return Err(format!("connections to servers {servers:?}"));
        }
        servers.sort_unstable();
        match servers.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("several connections to server {}", pair[0])),
            None => Ok(()),
        }
    }
}

fn connector(plan: &Scenario) -> Connector {
    let servers = match plan.setup {
        Setup::One => "redis://vip:1/2?",
        Setup::Cluster => "redis-cluster://h0:1,h1:1,h2:1?",
        Setup::Sentinel => "redis-sentinel://s0:1,s1:1,s2:1/service?",
    };
    let login = if plan.login { "://user:secret@" } else { "://" };
    let protocol = if plan.resp3 { "protocol=resp3" } else { "protocol=resp2" };
    let url = servers.replace("://", login) + protocol;
    let Ok(Backend::Redis(url)) = Backend::parse(&url) else { panic!("{url} is not a URL") };
    let options = ConnectOptions {
        connect_timeout: Duration::from_micros(plan.connect_timeout),
        response_timeout: Duration::from_micros(plan.response_timeout),
        breaker_failures: plan.breaker_failures,
        breaker_probe: Duration::from_micros(plan.breaker_probe),
        replicas: plan.replicas,
        ..ConnectOptions::default()
    };
    let connector = Connector::new(&url, &options).unwrap();
    if plan.watched.is_empty() { connector } else { connector.tracking_keys() }
}
