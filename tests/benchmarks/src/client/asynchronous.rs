//! Tasks that share a connection.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::io::tcp::TcpSettings;
use redis::{Client, IntoConnectionInfo};
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::runtime::Runtime;

use super::measured::{Round, Stopwatch};
use super::{CALLS_ALONE, CALLS_TOGETHER, Call, IN_FLIGHT, RULE, RULES};
use crate::Result;
use crate::lab::Lab;
use crate::options::Options;
use crate::recording::KEY;

pub(super) struct Bench {
    runtime: Runtime,
    connection: MultiplexedConnection,
    limiter: Arc<AsyncRateLimiter>,
    alone: usize,
    together: usize,
}

impl Bench {
    pub(super) fn new(lab: &Lab, options: &Options) -> Result<Self> {
        let runtime = Runtime::new()?;
        // As the library sets it: a call is sent at once, not held back until the one before is acknowledged.
        let tcp = TcpSettings::default().set_nodelay(true);
        let client = Client::open(lab.redis.url().into_connection_info()?.set_tcp_settings(tcp))?;
        let connection = runtime.block_on(client.get_multiplexed_async_connection())?;
        let limiter = AsyncRateLimiter::builder(lab.redis.url()).rules(Rules::from_json(RULES)?);
        let limiter = Arc::new(runtime.block_on(limiter.connect())?);
        let (alone, together) = (options.size(CALLS_ALONE), options.size(CALLS_TOGETHER));
        Ok(Self { runtime, connection, limiter, alone, together })
    }

    pub(super) fn measure(&mut self, call: &Call) -> Result<Round> {
        let mut connection = self.connection.clone();
        let micros = self.runtime.block_on(async {
            let mut micros = Vec::with_capacity(self.alone);
            for _ in 0..self.alone {
                let start = Instant::now();
                once(call, &self.limiter, &mut connection).await?;
                micros.push(start.elapsed().as_nanos() as f64 / 1e3);
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(micros)
        })?;
        let stopwatch = Stopwatch::start();
        self.runtime.block_on(self.many(call))?;
        Ok(Round::new(micros, stopwatch.stop(), self.together))
    }

    async fn many(&self, call: &Call) -> Result<()> {
        let each = self.together / IN_FLIGHT;
        let tasks = (0..IN_FLIGHT).map(|_| {
            let (call, limiter, mut connection) =
                (call.clone(), Arc::clone(&self.limiter), self.connection.clone());
            tokio::spawn(async move {
                for _ in 0..each {
                    once(&call, &limiter, &mut connection).await?;
                }
                Result::Ok(())
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await??;
        }
        Ok(())
    }
}

async fn once(call: &Call, limiter: &AsyncRateLimiter, connection: &mut MultiplexedConnection) -> Result<()> {
    match call {
        Call::Bare(cmd) => drop(black_box(connection.req_packed_command(cmd).await?.extract_error()?)),
        Call::Check => drop(black_box(limiter.check(RULE, KEY).await?)),
    }
    Ok(())
}
