//! Calls that are alike: of one key and kind, so that the driver may send several of them as one. Which of them a request
//! carries out does not show; so they are counted, and each execution has a number that one call is answered with.

use ::redis::Value;

use super::ledger::{Invariant, Ledger, State};
use super::network::Frame;
use super::plan::{CallKind, PlannedCall};
use super::protocol::Key;
use super::world::World;
use crate::callers;

/// One of a crowd on its way.
struct SentCall {
    connection: usize,
    is_replied: bool,
    /// Where the reply ends that refuses it.
    refused_at: Option<usize>,
}

struct Crowd {
    family: usize,
    kind: CallKind,
    members: Vec<usize>,
    sent: Vec<SentCall>,
    /// Whether the execution of each number was an answer.
    executions: Vec<bool>,
}

#[derive(Default)]
pub(super) struct Crowds(Vec<Crowd>);

impl Crowds {
    pub(super) fn add(&mut self, call: usize, PlannedCall { family, kind, .. }: PlannedCall) {
        match self.of(family, kind) {
            Some(crowd) => crowd.members.push(call),
            None => {
                let (sent, executions) = (Vec::new(), Vec::new());
                self.0.push(Crowd { family, kind, members: vec![call], sent, executions });
            }
        }
    }

    fn of(&mut self, family: usize, kind: CallKind) -> Option<&mut Crowd> {
        self.0.iter_mut().find(|crowd| (crowd.family, crowd.kind) == (family, kind))
    }

    /// A server has replied to one of a crowd.
    pub(super) fn replied(&mut self, key: Key, kind: CallKind, connection: usize, refused_at: Option<usize>) {
        let crowd = self.of(key.family, kind);
        let sent = crowd.and_then(|crowd| {
            crowd.sent.iter_mut().find(|sent| sent.connection == connection && !sent.is_replied)
        });
        if let Some(sent) = sent {
            (sent.is_replied, sent.refused_at) = (true, refused_at);
        }
    }
}

impl Ledger {
    /// Takes note of an execution, and numbers it.
    pub(super) fn executed_in_crowd(&mut self, key: Key, kind: CallKind) -> usize {
        let Some(crowd) = self.crowds.of(key.family, kind) else { return 0 };
        crowd.executions.push(false);
        let (number, members) = (crowd.executions.len(), crowd.members.len());
        if number > members {
            self.violate(Invariant::ChargedTwice, format!("{number} of the {members} of {}", key.name()));
        }
        number - 1
    }

    /// Whether a call was admitted; `None` if it has the answer of none of its crowd, or that of another one.
    pub(super) fn answered_in_crowd(&mut self, id: usize, value: &Value) -> Option<bool> {
        let planned = self.calls[id].planned;
        let (place, reply) = callers::place(value.clone());
        let text = match &reply {
            Value::BulkString(text) => std::str::from_utf8(text).unwrap_or_default(),
            _ => "",
        };
        let mut words = text.split(' ');
        let name = Key { tag: planned.tag, family: planned.family }.name();
        let is_own =
            words.next() == Some(&name) && words.next() == Some(&(planned.kind as usize).to_string());
        let admitted = words.next() == Some("1");
        let number = words.next().and_then(|number| number.parse::<usize>().ok()).map(|first| first + place);
        let crowd = self.crowds.of(planned.family, planned.kind);
        let execution = number.and_then(|number| crowd?.executions.get_mut(number));
        let is_first = execution.is_some_and(|is_answer| !std::mem::replace(is_answer, true));
        if !is_own || !is_first {
            self.violate(Invariant::WrongAnswer, format!("call {id} is given {value:?}"));
            return None;
        }
        self.calls[id].executed = 1 + number.unwrap_or_default() as u64;
        Some(admitted)
    }

    /// Where nothing happens, calls of a crowd are executed in the order in which they were made.
    pub(super) fn check_order_in_crowds(&mut self) {
        let calls = &self.calls;
        let overtakes = |one: &&usize, next: &&usize| {
            let (one, next) = (&calls[**one], &calls[**next]);
            one.submitted < next.submitted && one.executed > next.executed && next.executed > 0
        };
        let found = self.crowds.0.iter().find_map(|crowd| {
            let pairs =
                crowd.members.iter().flat_map(|one| crowd.members.iter().map(move |next| (one, next)));
            pairs.into_iter().find(|(one, next)| overtakes(one, next))
        });
        if let Some((one, next)) = found.map(|(one, next)| (*one, *next)) {
            self.violate(Invariant::Order, format!("call {next} is executed before call {one}"));
        }
    }
}

impl World {
    /// All bytes of a request were sent: what it carries out of crowds.
    pub(super) fn check_crowds_sent(&mut self, id: usize, frame: &Frame) {
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
                State::Planned => false,
                State::Waiting => true,
                State::Ended(step) => step >= frame.begun,
            };
            let waiting = crowd.members.iter().filter(waits).count();
            if asked > waiting {
                let what = format!("{asked} of family {}, of which {waiting} wait", crowd.family);
                found.push((Invariant::SentTooLate, what));
            }
            let sent = |_| SentCall { connection: id, is_replied: false, refused_at: None };
            crowd.sent.extend((0..asked).map(sent));
            let may_be_executed = |sent: &&SentCall| {
                let read = connections[sent.connection].to_client.taken;
                sent.refused_at.is_none_or(|end| read < end)
            };
            let uncertain = crowd.sent.iter().filter(may_be_executed).count();
            let submitted = |call: &&usize| calls[**call].state != State::Planned;
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
