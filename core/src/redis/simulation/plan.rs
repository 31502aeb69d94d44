//! What a history consists of, drawn from its seed: servers, options, calls, and what goes wrong when.

use super::random::Random;

/// Microseconds of virtual time since the beginning of a history.
pub(super) type Time = u64;

pub(super) const MS: Time = 1000;

/// How many counters there are; each lies in a hash slot of its own.
pub(super) const TAGS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    /// One address; after a failover it leads to another server.
    One,
    /// Three masters, each with a replica.
    Cluster,
    /// A primary, its replica and three Sentinels.
    Sentinel,
}

/// What a call asks for. The number is part of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// Charges a counter; calls of this kind share a script.
    Check,
    /// Looks without charging; the script is that of `Check`, the argument differs.
    Peek,
    /// Charges a counter by a script that no calls share.
    Single,
    /// Charges a counter by a script of two keys.
    Pair,
    /// A command, which removes a key.
    Delete,
}

impl CallKind {
    pub(super) const ALL: [Self; 5] = [Self::Check, Self::Peek, Self::Single, Self::Pair, Self::Delete];

    pub(super) fn charges(self) -> bool {
        matches!(self, Self::Check | Self::Single | Self::Pair)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedCall {
    pub(super) at: Time,
    pub(super) kind: CallKind,
    /// Calls of one family have the same key; no two of a family are of the same kind.
    pub(super) family: usize,
    pub(super) tag: usize,
    pub(super) timeout: Time,
    /// When the caller stops to wait.
    pub(super) abandoned_at: Option<Time>,
    /// Whether others are like it, which are not told apart: of one family and kind.
    pub(super) is_in_crowd: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedScript {
    Loading,
    Busy,
    OutOfMemory,
    ClusterDown,
}

/// Something that happens to servers or connections. Servers are numbered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// A connection ends at any byte, in either direction.
    Cut,
    /// The server does nothing for a time.
    Hang(usize, Time),
    /// The server is down: connections end, new ones are refused.
    Down(usize, Time),
    /// New connections to the server come to nothing for a time.
    Unreachable(usize, Time),
    /// The server answers scripts with an error for a time.
    Refuse(usize, RefusedScript, Time),
    ForgetScripts(usize),
    /// A connection carries what is not the Redis protocol.
    Garbage,
    /// Messages that answer no request.
    Pushes,
    /// No connection takes bytes to send for a time.
    Stall(Time),
    /// Keys of a slot begin to move to another server.
    Migrate(usize, usize),
    /// A third of the keys of a slot has moved.
    Moved(usize),
    /// The slot has a new owner.
    Migrated(usize),
    /// A replica is promoted; the old primary is demoted later, if ever.
    Failover {
        server: usize,
        demoted_after: Time,
        heard_after: Time,
    },
    /// The old primary is in charge again.
    FailBack,
    /// The limiter is closed.
    Close,
    /// Others change the key of a call.
    Change(usize),
    /// Others change all keys of a server.
    Flush(usize),
    /// A server watches more keys than it may.
    Overflow,
    /// From now on a connection carries nothing, and does not end.
    Silence,
}

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) setup: Setup,
    pub(super) resp3: bool,
    pub(super) login: bool,
    pub(super) connect_timeout: Time,
    pub(super) response_timeout: Time,
    pub(super) breaker_failures: u32,
    pub(super) breaker_probe: Time,
    /// For how many replicas answers wait.
    pub(super) replicas: u32,
    pub(super) limit: u64,
    pub(super) latency: Time,
    /// How late timers may be.
    pub(super) lateness: Time,
    /// Bytes on their way that a connection holds.
    pub(super) capacity: usize,
    /// Batches under way, and how many calls they have at least.
    pub(super) window: usize,
    pub(super) busy: usize,
    /// Nothing happens that may make a call fail.
    pub(super) is_calm: bool,
    /// The server of `Setup::One` refuses scripts with keys of several slots.
    pub(super) minds_slots: bool,
    /// Some keys hold damaged state, and some may not be touched.
    pub(super) has_bad_keys: bool,
    pub(super) calls: Vec<PlannedCall>,
    /// Calls whose keys servers are to watch.
    pub(super) watched: Vec<usize>,
    /// How long a history goes on after all that was planned.
    pub(super) goes_on: Time,
    pub(super) faults: Vec<(Time, Fault)>,
}

impl Scenario {
    pub(super) fn draw(random: &mut Random) -> Self {
        let setup = random.one_of(&[Setup::One, Setup::One, Setup::Cluster, Setup::Sentinel]);
        let is_calm = random.percent(25);
        let response_timeout = if is_calm { 500 * MS } else { random.one_of(&[20, 100, 500]) * MS };
        let connect_timeout = if is_calm { 1000 * MS } else { random.one_of(&[30, 200, 1000]) * MS };
        let span = random.one_of(&[1, 20, 200, 1500]) * MS;
        let mut plan = Self {
            setup,
            resp3: random.percent(40),
            login: random.percent(20),
            connect_timeout,
            response_timeout,
            breaker_failures: random.one_of(&[0, 1, 2, 5]),
            breaker_probe: random.one_of(&[10, 100]) * MS,
            // Of a copy: other histories stay what they were.
            replicas: random.clone().one_of(&[0, 0, 0, 0, 1, 2]),
            limit: random.within(1, 8),
            latency: random.one_of(&[20, 300, 2000]),
            lateness: random.one_of(&[0, MS, 5 * MS]),
            capacity: random.one_of(&[40, 400, 100_000, 100_000]),
            window: random.one_of(&[2, 2, 16]),
            busy: random.one_of(&[1, 1, 4]),
            is_calm,
            minds_slots: random.percent(20),
            has_bad_keys: !is_calm && random.percent(20),
            calls: Vec::new(),
            watched: Vec::new(),
            goes_on: 0,
            faults: Vec::new(),
        };
        plan.draw_calls(span, random);
        plan.draw_faults(span, random);
        plan
    }

    fn draw_calls(&mut self, span: Time, random: &mut Random) {
        let whole = self.connect_timeout + self.response_timeout;
        let (short, abandons) =
            if self.is_calm { (0, 0) } else { (random.one_of(&[0, 0, 30]), random.one_of(&[0, 0, 30])) };
        let families = random.within(2, 14) as usize;
        let burst = random.percent(30);
        for family in 0..families {
            let (tag, at) = (random.index(TAGS), if burst { 0 } else { random.below(span) });
            let size = random.one_of(&[1, 1, 1, 2, 3]);
            let first = random.one_of(&[0, 0, 0, 1, 2, 3, 4]);
            for place in 0..size {
                let kind = CallKind::ALL[(first + place) % CallKind::ALL.len()];
                let timeout = if random.percent(short) { random.within(1, 40) * MS } else { whole };
                let abandoned_at = random.percent(abandons).then(|| at + random.below(timeout.min(span)));
                let is_in_crowd = false;
                self.calls.push(PlannedCall { at, kind, family, tag, timeout, abandoned_at, is_in_crowd });
            }
        }
    }

    /// Adds calls that are alike. Which of them a request carries out does not show: so nothing is said of the circuit
    /// breaker.
    pub(super) fn add_crowds(&mut self, random: &mut Random) {
        self.breaker_failures = 0;
        let whole = self.connect_timeout + self.response_timeout;
        let (short, abandons) =
            if self.is_calm { (0, 0) } else { random.one_of(&[(0, 0), (30, 0), (0, 30)]) };
        let first = self.calls.iter().map(|call| call.family + 1).max().unwrap_or(0);
        let span = self.calls.iter().map(|call| call.at + 1).max().unwrap_or(1);
        self.limit = random.one_of(&[self.limit, 4 * self.limit]);
        for family in first..first + random.within(1, 3) as usize {
            let (tag, begin, spread) =
                (random.index(TAGS), random.below(span), random.one_of(&[1, MS, span]));
            let kind = random.one_of(&[CallKind::Check, CallKind::Check, CallKind::Peek]);
            for _ in 0..random.within(2, 12) {
                let at = begin + random.below(spread);
                let timeout = if random.percent(short) { random.within(1, 40) * MS } else { whole };
                let abandoned_at = random.percent(abandons).then(|| at + random.below(timeout.min(span)));
                self.calls.push(PlannedCall {
                    at,
                    kind,
                    family,
                    tag,
                    timeout,
                    abandoned_at,
                    is_in_crowd: true,
                });
            }
        }
    }

    fn draw_faults(&mut self, span: Time, random: &mut Random) {
        let count = random.one_of(&[0, 1, 2, 4]);
        for _ in 0..count {
            let (at, length) = (random.below(span), random.one_of(&[5, 60, 700]) * MS);
            self.draw_fault(at, length, random);
        }
        self.faults.sort_by_key(|(at, _)| *at);
    }

    fn draw_fault(&mut self, at: Time, length: Time, random: &mut Random) {
        let servers = self.servers();
        let server = random.index(servers);
        let fault = match random.below(if self.is_calm { 4 } else { 16 }) {
            0 => Fault::ForgetScripts(server),
            1 => Fault::Pushes,
            2 | 3 if self.setup == Setup::Cluster => return self.draw_migration(at, length, random),
            2 | 3 => Fault::ForgetScripts(server),
            4 | 5 => Fault::Cut,
            6 | 7 => Fault::Hang(server, length),
            8 => Fault::Down(server, length),
            9 => Fault::Unreachable(server, length),
            10 => {
                let refusals = [
                    RefusedScript::Loading,
                    RefusedScript::Busy,
                    RefusedScript::OutOfMemory,
                    RefusedScript::ClusterDown,
                ];
                Fault::Refuse(server, random.one_of(&refusals), length)
            }
            11 => Fault::Garbage,
            12 => Fault::Stall(length),
            13 if random.percent(20) => Fault::Close,
            13 => Fault::FailBack,
            _ => Fault::Failover {
                server: random.index(3),
                demoted_after: random.one_of(&[0, MS, length]),
                heard_after: random.one_of(&[0, 10, 300]) * MS,
            },
        };
        self.faults.push((at, fault));
    }

    /// Keys of a slot move to another server, some before others.
    fn draw_migration(&mut self, at: Time, length: Time, random: &mut Random) {
        let tag = random.index(TAGS);
        if self.faults.iter().any(|(_, fault)| matches!(fault, Fault::Migrate(..))) {
            return;
        }
        self.faults.push((at, Fault::Migrate(tag, random.index(3))));
        let moved = at + random.below(length);
        self.faults.push((moved, Fault::Moved(tag)));
        self.faults.push((moved + random.below(length), Fault::Migrated(tag)));
    }

    /// How many servers there are, replicas included.
    pub(super) fn servers(&self) -> usize {
        if self.setup == Setup::Cluster { 6 } else { 2 }
    }
}
