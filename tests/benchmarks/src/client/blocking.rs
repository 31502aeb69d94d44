//! Threads with a connection each.

use std::hint::black_box;
use std::thread;
use std::time::Instant;

use redis::{Connection, ConnectionLike};
use sluicegate::{RateLimiter, Rules};

use super::measured::{Round, Stopwatch};
use super::{CALLS_ALONE, CALLS_TOGETHER, Call, IN_FLIGHT, RULE, RULES};
use crate::Result;
use crate::lab::Lab;
use crate::options::Options;
use crate::recording::KEY;

pub(super) struct Bench {
    connections: Vec<Connection>,
    limiter: RateLimiter,
    alone: usize,
    together: usize,
}

impl Bench {
    pub(super) fn new(lab: &Lab, options: &Options) -> Result<Self> {
        let connections =
            (0..IN_FLIGHT).map(|_| lab.redis.client()).collect::<std::result::Result<_, _>>()?;
        let limiter = RateLimiter::builder(lab.redis.url());
        let limiter = limiter.rules(Rules::from_json(RULES)?).build()?;
        let (alone, together) = (options.size(CALLS_ALONE), options.size(CALLS_TOGETHER));
        let mut bench = Self { connections, limiter, alone, together };
        // Opens the pool.
        bench.many(&Call::Check, IN_FLIGHT * 10)?;
        Ok(bench)
    }

    pub(super) fn measure(&mut self, call: &Call) -> Result<Round> {
        let (limiter, connection) = (&self.limiter, &mut self.connections[0]);
        let mut micros = Vec::with_capacity(self.alone);
        for _ in 0..self.alone {
            let start = Instant::now();
            once(call, limiter, connection)?;
            micros.push(start.elapsed().as_nanos() as f64 / 1e3);
        }
        let stopwatch = Stopwatch::start();
        self.many(call, self.together)?;
        Ok(Round::new(micros, stopwatch.stop(), self.together))
    }

    fn many(&mut self, call: &Call, calls: usize) -> Result<()> {
        let limiter = &self.limiter;
        thread::scope(|scope| {
            let threads = self.connections.iter_mut().map(|connection| {
                scope.spawn(move || (0..calls / IN_FLIGHT).try_for_each(|_| once(call, limiter, connection)))
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })
    }
}

fn once(call: &Call, limiter: &RateLimiter, connection: &mut Connection) -> Result<()> {
    match call {
        Call::Bare(cmd) => drop(black_box(connection.req_command(cmd)?.extract_error()?)),
        Call::Check => drop(black_box(limiter.check(RULE, KEY)?)),
    }
    Ok(())
}
