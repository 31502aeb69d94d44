//! What is checked when a request was sent.

use super::crowds::SentCall;
use super::ledger::{Attempt, CallStage, Invariant};
use super::network::Frame;
use super::plan::CallKind;
use super::protocol::Key;
use super::world::World;

impl World {
    /// All bytes of a request were sent.
    pub(super) fn check_sent(&mut self, id: usize, frame: &Frame) {
        let server = self.connections[id].server;
        let confession_read = self.connections[id].confession_read;
        self.check_crowds_sent(id, frame);
        for (key, kind) in frame.command.calls() {
            let Some(call) = self.ledger.named(key, kind) else {
                let text = format!("nobody called {kind:?} for {}", key.name());
                return self.ledger.violate(Invariant::Malformed, text);
            };
            if self.ledger.calls[call].planned.is_in_crowd {
                continue;
            }
            if self.ledger.calls[call].planned.tag != key.tag {
                self.ledger.violate(Invariant::Malformed, format!("call {call} was about another key"));
            }
            let last = self.ledger.calls[call].attempt.replace(Attempt {
                connection: id,
                refused_at: None,
                is_moving: false,
            });
            let may_be_executed = last.is_some_and(|last| {
                let read = self.connections[last.connection].to_client.taken;
                last.refused_at.is_none_or(|end| read < end)
            });
            let ledger = &mut self.ledger;
            ledger.calls[call].attempts += 1;
            ledger.calls[call].sent_at = Some(self.now);
            if may_be_executed {
                ledger.violate(Invariant::SentAgain, format!("call {call} on {id}"));
            }
            let is_first = last.is_none();
            if let CallStage::Ended(step) = ledger.calls[call].state
                && step < frame.begun
                && is_first
            {
                let why = if ledger.calls[call].is_abandoned { "abandoned" } else { "answered" };
                ledger.violate(
                    Invariant::SentTooLate,
                    format!("call {call} on {id} although it was {why} before"),
                );
            }
            if ledger.breaker.was_open(frame.begun) && is_first {
                ledger.violate(Invariant::Breaker, format!("call {call} is sent while the breaker is open"));
            }
            if confession_read.is_some_and(|step| step < frame.begun) {
                ledger.violate(Invariant::Replica, format!("call {call} is sent on {id}"));
            }
            if ledger.known_primary.is_some_and(|(known, since)| known != server && since < frame.begun) {
                ledger.violate(Invariant::OldPrimary, format!("call {call} is sent to {server}"));
            }
        }
    }

    /// All bytes of a request were sent: what it carries out of crowds.
    fn check_crowds_sent(&mut self, id: usize, frame: &Frame) {
        let connections = &self.connections;
        let (confession_read, server) = (connections[id].confession_read, connections[id].server);
        let mut found = Vec::new();
        for crowd in &mut self.ledger.crowds.0 {
            let is_of = |(key, kind): &(Key, CallKind)| (key.family, *kind) == (crowd.family, crowd.kind);
            let asked = frame.command.calls().filter(is_of).count();
            if asked == 0 {
                continue;
            }
            let calls = &self.ledger.calls;
            let waits = |call: &&usize| match calls[**call].state {
                CallStage::Planned => false,
                CallStage::Waiting => true,
                CallStage::Ended(step) => step >= frame.begun,
            };
            let waiting = crowd.members.iter().filter(waits).count();
            if asked > waiting {
                let what = format!("{asked} of family {}, of which {waiting} wait", crowd.family);
                found.push((Invariant::SentTooLate, what));
            }
            crowd.sent.extend((0..asked).map(|_| SentCall::on(id)));
            let may_be_executed = |sent: &&SentCall| {
                let read = connections[sent.connection].to_client.taken;
                sent.refused_at.is_none_or(|end| read < end)
            };
            let uncertain = crowd.sent.iter().filter(may_be_executed).count();
            let submitted = |call: &&usize| calls[**call].state != CallStage::Planned;
            let made = crowd.members.iter().filter(submitted).count();
            if uncertain > made {
                let what = format!("{uncertain} of family {}, of which there are {made}", crowd.family);
                found.push((Invariant::SentAgain, what));
            }
            if confession_read.is_some_and(|step| step < frame.begun) {
                found.push((Invariant::Replica, format!("family {} is sent on {id}", crowd.family)));
            }
            if self.ledger.known_primary.is_some_and(|(known, since)| known != server && since < frame.begun)
            {
                found.push((Invariant::OldPrimary, format!("family {} is sent to {server}", crowd.family)));
            }
        }
        for (invariant, what) in found {
            self.ledger.violate(invariant, what);
        }
    }
}
