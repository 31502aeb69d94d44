//! The calls of one source during a run.

use super::pattern::Arrivals;
use super::source::{CallSource, Clients, Workload};
use crate::random::Random;

/// A call that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueCall<'a> {
    pub(crate) key: &'a str,
    pub(crate) cost: u64,
    pub(crate) resource: &'a str,
    /// How long it is under way if it is admitted, where that is known.
    pub(crate) duration_us: Option<u64>,
}

/// The result of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallResult {
    pub(crate) admitted: bool,
    /// `None`: never.
    pub(crate) retry_after_us: Option<u64>,
}

/// What follows from an answer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reaction {
    /// When the caller calls again, in microseconds since the beginning of the run.
    pub(crate) next_us: Option<u64>,
    /// How long an admitted call had to wait, for callers that wait at all.
    pub(crate) waited_us: Option<u64>,
}

/// One source during a run; times are microseconds since the beginning of the run.
pub(crate) struct CallStream<'a> {
    source: &'a CallSource,
    random: Random,
    calls: WorkloadState<'a>,
    turn: u64,
}

enum WorkloadState<'a> {
    Open(Arrivals<'a>),
    Clients(&'a Clients, Vec<Client>),
}

/// A client and the call that it makes, or is about to make.
#[derive(Debug, Clone, Copy, Default)]
struct Client {
    pending: Option<ClientCall>,
}

#[derive(Debug, Clone, Copy)]
struct ClientCall {
    since_us: u64,
    key: usize,
    cost: u64,
    duration_us: Option<u64>,
}

impl<'a> CallStream<'a> {
    pub(super) fn new(source: &'a CallSource, random: Random, start_us: u64) -> Self {
        let calls = match &source.manner {
            Workload::Open(pattern) => WorkloadState::Open(Arrivals::new(pattern, start_us + source.from_us)),
            Workload::Clients(clients) => {
                WorkloadState::Clients(clients, vec![Client::default(); clients.count as usize])
            }
        };
        Self { source, random, calls, turn: 0 }
    }

    pub(crate) fn calls(&self, rule: &str) -> bool {
        self.source.rule.as_deref().is_none_or(|only| only == rule)
    }

    /// The first calls: when, and by which caller.
    pub(crate) fn begin(&mut self) -> Vec<(u64, u32)> {
        let first: Vec<u64> = match &mut self.calls {
            WorkloadState::Open(arrivals) => vec![arrivals.next(&mut self.random)],
            WorkloadState::Clients(clients, all) => all
                .iter()
                .map(|_| self.random.exponential(clients.think_us.max(clients.pause_us as f64)) as u64)
                .collect(),
        };
        let in_time = first.into_iter().zip(0..).filter(|(at, _)| *at < self.source.length_us);
        in_time.map(|(at, caller)| (self.source.from_us + at, caller)).collect()
    }

    pub(crate) fn due(&mut self, caller: u32, now_us: u64) -> DueCall<'a> {
        let source = self.source;
        let (key, cost, duration_us) = match &mut self.calls {
            WorkloadState::Open(_) => {
                let key = source.pick.pick(&mut self.random, source.keys.len(), self.turn);
                self.turn += 1;
                let cost = source.cost.draw(&mut self.random);
                (key, cost, source.duration.map(|duration| duration.draw(&mut self.random)))
            }
            WorkloadState::Clients(clients, all) => {
                let pending = all[caller as usize].pending.get_or_insert_with(|| ClientCall {
                    since_us: now_us,
                    key: match clients.own_keys {
                        true => caller as usize % source.keys.len(),
                        false => source.pick.pick(&mut self.random, source.keys.len(), self.turn),
                    },
                    cost: source.cost.draw(&mut self.random),
                    duration_us: source.duration.map(|duration| duration.draw(&mut self.random)),
                });
                (pending.key, pending.cost, pending.duration_us)
            }
        };
        let resource = match source.resources.len() {
            1 => 0,
            count => self.random.below(count as u64) as usize,
        };
        DueCall { key: &source.keys[key], cost, resource: &source.resources[resource], duration_us }
    }

    pub(crate) fn react(&mut self, caller: u32, now_us: u64, answer: CallResult) -> Reaction {
        let from = self.source.from_us;
        let (next, waited_us) = match &mut self.calls {
            WorkloadState::Open(arrivals) => (from + arrivals.next(&mut self.random), None),
            WorkloadState::Clients(clients, all) => {
                let client = &mut all[caller as usize];
                // A cost that never fits is given up.
                let CallResult { admitted, retry_after_us } = answer;
                let wait = if clients.obedient { retry_after_us } else { Some(0) };
                match wait.filter(|_| !admitted) {
                    Some(wait) => (now_us.saturating_add(wait.max(clients.pause_us)), None),
                    None => {
                        let pending = client.pending.take().filter(|_| admitted);
                        self.turn += 1;
                        let think = self.random.exponential(clients.think_us) as u64;
                        let waited = pending.map(|pending| now_us - pending.since_us);
                        let takes =
                            pending.and_then(|pending| pending.duration_us).unwrap_or(clients.pause_us);
                        (now_us + think.max(takes), waited)
                    }
                }
            }
        };
        Reaction { next_us: (next < from + self.source.length_us).then_some(next), waited_us }
    }
}
