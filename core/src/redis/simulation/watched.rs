//! Keys that servers watch: what they announce, and what the driver may still rely on.

use std::sync::Arc;
use std::time::Duration;

use super::ledger::Invariant;
use super::plan::{CallKind, Fault, MS, Scenario, Setup, Time};
use super::protocol::{Key, bulk};
use super::random::Random;
use super::remembered::Remembered;
use super::world::{World, instant};
use crate::tracking::{Agreement, Registration};

/// As long as an answer holds that nobody announces, and an answer of which nothing is heard.
const TRUST: Time = 1000 * MS;

/// Longer than any history.
const AGE: Duration = Duration::from_secs(60);

impl Scenario {
    /// Has servers watch the keys of some calls, and others intervene. Questions that the driver asks by itself find failures
    /// that no call has met: so nothing is said of the circuit breaker.
    pub(super) fn add_watched(&mut self, random: &mut Random) {
        (self.resp3, self.breaker_failures, self.goes_on) = (true, 0, TRUST + 200 * MS);
        // Less would not take a conversation's beginning in the time that a server has.
        self.capacity = self.capacity.max(400);
        let is_script = |call: &usize| self.calls[*call].kind != CallKind::Delete;
        self.watched = (0..self.calls.len()).filter(|call| is_script(call) && random.percent(70)).collect();
        let span =
            self.calls.iter().map(|call| call.at + 1).max().unwrap_or(1) + random.one_of(&[20, 1500]) * MS;
        for _ in 0..random.within(0, 5) {
            let fault = match random.below(if self.is_calm { 8 } else { 10 }) {
                0..=5 if !self.watched.is_empty() => Fault::Change(random.one_of(&self.watched)),
                0..=6 => Fault::Overflow,
                7 => Fault::Flush(random.index(self.servers())),
                _ => Fault::Silence,
            };
            self.faults.push((random.below(span), fault));
        }
        self.faults.sort_by_key(|(at, _)| *at);
    }
}

impl World {
    /// A call begins whose answer is to be remembered, if so.
    pub(super) fn remember(&mut self, call: usize) -> Option<Arc<Registration>> {
        if !self.plan.watched.contains(&call) {
            return None;
        }
        let registration = Registration::new(AGE);
        let planned = self.ledger.planned(call);
        self.watching.answers.push(Remembered {
            call,
            key: Key { tag: planned.tag, family: planned.family },
            registration: Arc::clone(&registration),
            submitted: self.now,
            connection: None,
            is_watched: false,
            is_kept: false,
            changed_at: None,
            announced: Vec::new(),
        });
        Some(registration)
    }

    /// A call has ended: what it was answered is remembered, if it was.
    pub(super) fn keep(&mut self, call: usize, is_answered: bool) {
        let must_be_watched = self.is_reliable();
        let answers = &mut self.watching.answers;
        let Some(place) = answers.iter().position(|answer| answer.call == call) else { return };
        let is_watched = answers[place].registration.agreement() == Agreement::Watched;
        if is_answered && is_watched {
            answers[place].is_kept = true;
        } else {
            answers.swap_remove(place);
        }
        if is_answered && !is_watched && must_be_watched {
            self.ledger.violate(Invariant::Unwatched, format!("the keys of call {call} are not watched"));
        }
    }

    /// Nothing is remembered from now on.
    pub(super) fn forget_all(&mut self) {
        self.watching.answers.clear();
    }

    /// Nothing happens that ends what is known of keys, but for changes.
    fn is_reliable(&self) -> bool {
        self.plan.is_calm && self.plan.setup != Setup::Cluster
    }

    /// A server has read a key for a call, and maybe changed it.
    pub(super) fn touched(
        &mut self,
        id: usize,
        (key, kind): (Key, CallKind),
        is_caching: bool,
        is_changed: bool,
    ) {
        if is_caching && !self.watching.table.contains(&(id, key)) {
            self.watching.table.push((id, key));
        }
        let call = self.ledger.named(key, kind);
        for answer in &mut self.watching.answers {
            if Some(answer.call) == call {
                (answer.connection, answer.changed_at) = (Some(id), None);
                answer.is_watched = is_caching;
                answer.announced.clear();
            }
        }
        if is_changed {
            let server = self.connections[id].server;
            // Older servers announce what a script does before they answer it.
            if self.random.percent(50) {
                self.changed(server, key);
            } else {
                self.watching.late.push((server, key));
            }
        }
    }

    /// What is announced behind an answer.
    pub(super) fn announce_late(&mut self) {
        for (server, key) in std::mem::take(&mut self.watching.late) {
            self.changed(server, key);
        }
    }

    /// A key has changed on a server, and so on those that follow it.
    pub(super) fn changed(&mut self, server: usize, key: Key) {
        let servers = self.deployment.servers.len();
        let other = (server + servers / 2) % servers;
        self.announce(server, Some(key));
        if self.deployment.servers[server].is_primary && !self.deployment.servers[other].is_primary {
            self.announce(other, Some(key));
        }
    }

    /// A server knows that a key has changed, or all: it says so on the connections for which it watches it, once.
    pub(super) fn announce(&mut self, server: usize, key: Option<Key>) {
        let (now, connections) = (self.now, &self.connections);
        let is_there = |id: usize| connections[id].server == server;
        let is_it = |other: Key| key.is_none_or(|key| key == other);
        for answer in &mut self.watching.answers {
            if answer.connection.is_some_and(is_there) && is_it(answer.key) {
                answer.changed_at.get_or_insert(now);
            }
        }
        self.watching.announced.push(key);
        let table = &mut self.watching.table;
        let mut told: Vec<(usize, Key)> =
            table.extract_if(.., |(id, other)| is_there(*id) && is_it(*other)).collect();
        let text = key.map_or("_\r\n".to_owned(), |key| format!("*1\r\n{}", bulk(&key.name())));
        if key.is_none() {
            told.sort_unstable_by_key(|(id, _)| *id);
            told.dedup_by_key(|(id, _)| *id);
        }
        for (id, _) in told {
            let end = self.respond(id, &format!(">2\r\n{}{text}", bulk("invalidate")));
            let of_it = |answer: &&mut Remembered| {
                answer.is_watched && answer.connection == Some(id) && is_it(answer.key)
            };
            self.watching.answers.iter_mut().filter(of_it).for_each(|answer| answer.announced.push(end));
        }
    }

    /// Others change the key of a call, where it is.
    pub(super) fn intervene(&mut self, call: usize) {
        let planned = self.ledger.planned(call);
        let server = match self.plan.setup {
            Setup::Cluster => self.deployment.owners[planned.tag],
            Setup::One | Setup::Sentinel => self.deployment.primary,
        };
        if self.is_well(server) {
            self.changed(server, Key { tag: planned.tag, family: planned.family });
        }
    }

    fn is_well(&self, server: usize) -> bool {
        let server = &self.deployment.servers[server];
        self.now >= server.down_until.max(server.hung_until)
    }

    /// All keys of a server change.
    pub(super) fn flush_all(&mut self, server: usize) {
        if self.is_well(server) {
            self.announce(server, None);
        }
    }

    /// A server that watches too many keys forgets one, and says that it has changed.
    pub(super) fn overflow(&mut self) {
        if let Some(&(id, key)) = self.watching.table.first() {
            self.announce(self.connections[id].server, Some(key));
        }
    }

    /// Some keys of a slot are on their way: their old server has them no longer.
    pub(super) fn moved(&mut self, tag: usize, is_all: bool) {
        let (owner, migration) = (self.deployment.owners[tag], self.deployment.migrations[tag]);
        let has_moved = |key: Key| is_all || migration.is_some_and(|migration| migration.has_moved(key));
        let is_it = |(_, key): &&(usize, Key)| key.tag == tag && has_moved(*key);
        let keys: Vec<Key> = self.watching.table.iter().filter(is_it).map(|(_, key)| *key).collect();
        keys.into_iter().for_each(|key| self.changed(owner, key));
    }

    /// What is remembered ends in time, and not without a reason.
    pub(super) fn check_remembered(&mut self) {
        if self.watching.answers.is_empty() {
            return;
        }
        let (now, is_reliable) = (self.now, self.is_reliable());
        let has_garbage = self.plan.faults.iter().any(|(_, fault)| matches!(fault, Fault::Garbage));
        let mut wrong = None;
        for answer in self.watching.answers.iter().filter(|answer| answer.is_kept) {
            let is_old = now >= answer.submitted + TRUST;
            let holds = answer.registration.holds(is_old, instant(now));
            let Some(changed_at) = answer.changed_at else {
                // An earlier change may be announced once a call is on its way.
                let is_announced =
                    self.watching.announced.iter().any(|key| key.is_none_or(|key| key == answer.key));
                if is_reliable && !holds && !is_announced {
                    wrong = Some((Invariant::Unwatched, answer.call, now));
                }
                continue;
            };
            let taken = answer.connection.map_or(0, |id| self.connections[id].to_client.taken);
            // What comes behind garbage is not read.
            let is_read = (is_old || !has_garbage) && answer.announced.iter().any(|end| *end <= taken);
            if holds && (is_read || now >= changed_at + TRUST) {
                wrong = Some((Invariant::Outdated, answer.call, changed_at));
            }
        }
        if let Some((invariant, call, since)) = wrong {
            self.ledger.violate(invariant, format!("the answer to call {call}, since {since}"));
        }
    }
}
