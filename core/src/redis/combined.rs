//! A call together with those that other threads have published: one pipeline, in which calls of one kind share
//! a script.

use std::iter;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ::redis::{RedisResult, Value};

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
        let limit = lease.limit();
        let connection = lease.connection(times)?;
        let company = turn.take();
        if company.size() == 0 {
            return lease.request(&Request::Script(own), false, times);
        }
        let carried_out = self.carry_out(connection, own, &company, limit);
        // First of all the thread that goes next, which then goes while the others are told.
        drop(turn);
        match carried_out {
            Ok((own_outcome, outcomes)) => {
                company.serve(outcomes);
                match own_outcome {
                    Some(outcome) => outcome.map(Reply::Done),
                    None => lease.request(&Request::Script(own), false, times),
                }
            }
            Err(err) => {
                lease.judge(&err);
                let failure = self.explain(&err);
                let told = vec![Some(Err(failure.clone())); company.size()];
                company.serve(told);
                Err(failure)
            }
        }
    }

    /// What came of the call, and of those of the company, in order.
    fn carry_out(
        &self,
        connection: &mut Connection,
        own: &Call<'_>,
        company: &Company,
        limit: Duration,
    ) -> RedisResult<(Outcome, Vec<Outcome>)> {
        let calls: Vec<_> = company.calls().chain(iter::once(Call { ..*own })).collect();
        let bundles = bundle(calls.iter().enumerate(), self.minds_slots.load(Ordering::Relaxed));
        let cmds: Vec<_> = bundles.iter().map(|bundle| bundle.call().evalsha()).collect();
        let answers = connection.call_many(&cmds, &self.spin, limit)?;
        let mut outcomes: Vec<Outcome> = vec![None; calls.len()];
        for (bundle, answer) in bundles.iter().zip(answers) {
            let mut answer = Ok(answer);
            if reply::is_unknown_script(&answer) {
                answer = Ok(connection.call(&bundle.call().eval(), &self.spin, limit)?);
            }
            for (&place, outcome) in bundle.places.iter().zip(self.read(answer, bundle.places.len())) {
                outcomes[place] = outcome;
            }
        }
        let own_outcome = outcomes.pop().flatten();
        Ok((own_outcome, outcomes))
    }

    fn read(&self, answer: RedisResult<Value>, size: usize) -> Vec<Outcome> {
        if reply::is_across_slots(&answer) {
            self.minds_slots.store(true, Ordering::Relaxed);
            return vec![None; size];
        }
        let reply = reply::sort(answer, &self.address).map_err(|err| self.explain(&err));
        settle(reply, size, |err| self.explain(err))
    }
}
