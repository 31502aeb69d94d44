//! Calls that are alike: of one key and kind, so that the driver may send several of them as one. Which of them a request
//! carries out does not show; so they are counted, and each execution has a number that one call is answered with.

use ::redis::Value;

use super::plan::{CallKind, PlannedCall};
use super::protocol::Key;
use crate::callers;

/// One of a crowd on its way.
pub(super) struct SentCall {
    pub(super) connection: usize,
    is_replied: bool,
    /// Where the reply ends that refuses it.
    pub(super) refused_at: Option<usize>,
}

pub(super) struct Crowd {
    pub(super) family: usize,
    pub(super) kind: CallKind,
    pub(super) members: Vec<usize>,
    pub(super) sent: Vec<SentCall>,
    /// By their numbers.
    executions: Vec<Execution>,
}

#[derive(Default)]
struct Execution {
    /// On which it was asked for, once the server has replied.
    connection: Option<usize>,
    /// Whether a call was answered with it.
    is_answer: bool,
    /// Whether as many replicas as are waited for have it.
    is_replicated: bool,
}

#[derive(Default)]
pub(super) struct Crowds(pub(super) Vec<Crowd>);

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
        let Some(crowd) = self.of(key.family, kind) else { return };
        for execution in crowd.executions.iter_mut().filter(|execution| execution.connection.is_none()) {
            execution.connection = Some(connection);
        }
        let sent = crowd.sent.iter_mut().find(|sent| sent.connection == connection && !sent.is_replied);
        if let Some(sent) = sent {
            (sent.is_replied, sent.refused_at) = (true, refused_at);
        }
    }

    /// Numbers an execution. The error says that there are more of them than calls.
    pub(super) fn executed(&mut self, key: Key, kind: CallKind) -> Result<usize, String> {
        let Some(crowd) = self.of(key.family, kind) else { return Err(format!("no crowd {}", key.name())) };
        crowd.executions.push(Execution::default());
        let (number, members) = (crowd.executions.len(), crowd.members.len());
        if number > members {
            return Err(format!("{number} of the {members} of {}", key.name()));
        }
        Ok(number - 1)
    }

    /// As many replicas as are waited for have what was executed on a connection.
    pub(super) fn replicated(&mut self, connection: usize) {
        let executions = self.0.iter_mut().flat_map(|crowd| &mut crowd.executions);
        for execution in executions.filter(|execution| execution.connection == Some(connection)) {
            execution.is_replicated = true;
        }
    }

    /// Whether they have the execution of this number.
    pub(super) fn is_replicated(&mut self, planned: PlannedCall, number: usize) -> bool {
        let crowd = self.of(planned.family, planned.kind);
        crowd.and_then(|crowd| crowd.executions.get(number)).is_some_and(|execution| execution.is_replicated)
    }

    /// Whether a call was admitted, and the number of its execution; `None` if the answer is none of its crowd, or that of
    /// another call.
    pub(super) fn answered(&mut self, planned: PlannedCall, value: &Value) -> Option<(bool, usize)> {
        let (place, reply) = callers::place(value.clone());
        let Value::BulkString(text) = reply else { return None };
        let text = String::from_utf8(text).ok()?;
        let [name, kind, admitted, number] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        let own = Key { tag: planned.tag, family: planned.family }.name();
        let number = number.parse::<usize>().ok()? + place;
        let execution = self.of(planned.family, planned.kind)?.executions.get_mut(number)?;
        let is_first = !std::mem::replace(&mut execution.is_answer, true);
        (name == own && kind == (planned.kind as usize).to_string() && is_first)
            .then_some((admitted == "1", number))
    }
}

impl SentCall {
    pub(super) fn on(connection: usize) -> Self {
        Self { connection, is_replied: false, refused_at: None }
    }
}
