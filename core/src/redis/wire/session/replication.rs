//! Where a limiter asks for replicas: each batch ends with WAIT, and the answers of its scripts wait for the reply to that.

use std::time::Instant;

use ::redis::{Cmd, Value};

use crate::options::ConnectOptions;
use crate::redis::settings::login::{Role, wait};
use crate::redis::wire::command::{CommandOutcome, replicated};

/// A request and its outcome.
type Ended = (usize, CommandOutcome);

pub(super) struct Replication {
    /// How many replicas are to have what a batch has written.
    replicas: i64,
    /// What a batch ends with.
    pub(super) wait: Cmd,
    /// What scripts of the batch have answered, and when the caller gives up.
    unacknowledged: Vec<(usize, Value, Instant)>,
}

impl Replication {
    pub(super) fn of(options: &ConnectOptions, role: Role) -> Option<Box<Self>> {
        let wait = wait(options.replicas, options.replica_timeout);
        let this = Self { replicas: options.replicas.into(), wait, unacknowledged: Vec::new() };
        (role == Role::Data && options.replicas > 0).then(|| Box::new(this))
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.unacknowledged.is_empty()
    }

    /// Keeps what a script has answered to a request until the batch has ended, or to this time.
    pub(super) fn keep(&mut self, id: usize, value: Value, by: Instant) {
        self.unacknowledged.push((id, value, by));
    }

    /// The outcomes of the batch that WAIT has ended with this reply.
    pub(super) fn acknowledged(&mut self, reply: &Value) -> impl Iterator<Item = Ended> {
        let is_replicated = matches!(reply, Value::Int(count) if *count >= self.replicas);
        let answers = std::mem::take(&mut self.unacknowledged).into_iter();
        answers.map(move |(id, value, _)| done(id, if is_replicated { replicated(value) } else { value }))
    }

    /// The outcomes for which there is no more time; and when there is none for the next.
    pub(super) fn expired(&mut self, now: Instant) -> (Vec<Ended>, Option<Instant>) {
        let due = self.unacknowledged.extract_if(.., |(_, _, by)| *by <= now);
        let due = due.map(|(id, value, _)| done(id, value)).collect();
        (due, self.unacknowledged.iter().map(|(_, _, by)| *by).min())
    }
}

fn done(id: usize, value: Value) -> Ended {
    (id, CommandOutcome::Done(Ok(value)))
}
