//! A call together with those that other threads have published: one pipeline, in which calls of one kind share
//! a script.

use std::iter;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ::redis::{Cmd, RedisError, RedisResult, Value};

use super::bundle::{Outcome, bundle, settle};
use super::combining::{Company, Turn};
use super::connection::Connection;
use super::errors::Failure;
use super::pool::{Pool, Times};
use super::reply::{self, Reply, Request};
use crate::script::Call;

impl Pool {
    /// Carries out the call, and whatever was published by the time there is a connection for it.
    pub(super) fn combine(&self, turn: Turn<'_>, own: &Call<'_>, times: Times) -> Result<Reply, Failure> {
        let mut lease = self.lease(times)?;
        if Instant::now() > times.open_by {
            // Too late to take others along, who have their full time.
            drop(turn);
            return lease.request(&Request::Script(own), false, times);
        }
        let connection = lease.connection(times)?;
        let company = turn.take();
        if company.size() == 0 {
            return lease.request(&Request::Script(own), false, times);
        }
        let (mut outcomes, broken) = self.carry_out(connection, own, &company);
        if let Some(err) = broken {
            lease.judge(&err);
        }
        // First of all the thread that goes next, which then goes while the others are told.
        drop(turn);
        let own_outcome = outcomes.pop().flatten();
        company.serve(outcomes);
        match own_outcome {
            Some(outcome) => outcome.map(Reply::Done),
            None => lease.request(&Request::Script(own), false, times),
        }
    }

    /// What came of those of the company, in order, and of the call; and what the connection broke with, if
    /// it did.
    fn carry_out(
        &self,
        connection: &mut Connection,
        own: &Call<'_>,
        company: &Company,
    ) -> (Vec<Outcome>, Option<RedisError>) {
        let calls: Vec<_> = company.calls().chain(iter::once(Call { ..*own })).collect();
        let bundles = bundle(calls.iter().enumerate(), self.minds_slots.load(Ordering::Relaxed));
        let mut answers = self.ask(connection, bundles.iter().map(|bundle| bundle.call().evalsha()));
        // All in one piece again: many that are slow must not take longer than one.
        let unknown: Vec<_> = (0..answers.len()).filter(|&i| reply::is_unknown_script(&answers[i])).collect();
        let again = self.ask(connection, unknown.iter().map(|&i| bundles[i].call().eval()));
        unknown.into_iter().zip(again).for_each(|(i, answer)| answers[i] = answer);
        let broken = answers.iter().find_map(|answer| answer.as_ref().err().cloned());
        let mut outcomes: Vec<Outcome> = vec![None; calls.len()];
        for (bundle, answer) in bundles.iter().zip(answers) {
            for (&place, outcome) in bundle.places.iter().zip(self.read(answer, bundle.places.len())) {
                outcomes[place] = outcome;
            }
        }
        (outcomes, broken)
    }

    /// The answers to commands that are sent in one piece. Whoever was taken along has come just now, so the
    /// time to answer is that of a new call.
    fn ask(&self, connection: &mut Connection, cmds: impl Iterator<Item = Cmd>) -> Vec<RedisResult<Value>> {
        let cmds: Vec<_> = cmds.collect();
        if cmds.is_empty() {
            return Vec::new();
        }
        match connection.call_many(&cmds, self.connector.response_timeout) {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            Err(err) => vec![Err(err); cmds.len()],
        }
    }

    fn read(&self, answer: RedisResult<Value>, size: usize) -> Vec<Outcome> {
        if reply::is_across_slots(&answer) {
            self.minds_slots.store(true, Ordering::Relaxed);
            return vec![None; size];
        }
        if size > 1 && reply::is_forbidden(&answer) {
            return vec![None; size];
        }
        let reply = reply::sort(answer, &self.address).map_err(|err| self.explain(&err));
        settle(reply, size, |err| self.explain(err))
    }
}
