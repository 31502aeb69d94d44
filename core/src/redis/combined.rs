//! A call together with those that other threads have published: one batch, in which calls of one kind share a
//! script.

use std::time::Instant;

use super::combining::Permit;
use super::command::{CommandOutcome, RedisCommand};
use super::errors;
use super::pool::{Pool, Times};
use super::session::PendingCommand;
use crate::script::ScriptCall;
use crate::timeout::SHORTEST_TIMEOUT;

impl Pool {
    /// Carries out the call, and whatever was published by the time there is a connection for it.
    pub(super) fn combine(&self, permit: Permit<'_>, own: ScriptCall, times: Times) -> CommandOutcome {
        let mut lease = match self.lease(times) {
            Ok(lease) => lease,
            Err(failure) => return CommandOutcome::Done(Err(failure)),
        };
        if let Err(failure) = lease.connection(times) {
            return CommandOutcome::Done(Err(failure));
        }
        let (now, own_end) = (Instant::now(), times.deadline.by);
        // All answers are awaited together: those whose time ends earlier would be answered late, and those whose time
        // ends later would be cut short.
        let attempt = now + self.connector.response_timeout;
        let mut batch = permit.take(|end| {
            let apart = end.max(own_end) - end.min(own_end);
            apart <= SHORTEST_TIMEOUT || end.min(own_end) >= attempt
        });
        if batch.size() == 0 {
            return lease.request(RedisCommand::Script(own), false, times);
        }
        let connection = match lease.connection(times) {
            Ok(connection) => connection,
            Err(failure) => return CommandOutcome::Done(Err(failure)),
        };
        // The calls in the pipeline have come just now, so the time to answer is that of a new call.
        let own_place = batch.size();
        for (place, call, end) in batch.calls().chain([(own_place, own, own_end)]) {
            let pending = PendingCommand::new(place, RedisCommand::Script(call), false, end.min(own_end));
            connection.session.submit(pending, now);
        }
        connection.complete(None, None);
        let mut own_outcome = CommandOutcome::Done(Err(errors::no_answer()));
        let mut outcomes = Vec::with_capacity(own_place);
        while let Some((place, outcome)) = connection.session.next_outcome() {
            if place == own_place {
                own_outcome = outcome;
            } else {
                outcomes.push((place, outcome));
            }
        }
        lease.judge();
        // First of all the thread that goes next, which then goes while the others are woken.
        drop(permit);
        batch.serve(outcomes);
        own_outcome
    }
}
