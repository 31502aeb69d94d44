//! A server of our own with a connection that measures.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use redis::{Connection, ConnectionLike, Value, cmd};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::recording::Recording;
use crate::tap::Tap;

/// Commands sent in one piece.
const BATCH: usize = 500;
/// Filling a server takes longer than any test allows an answer to.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Lab {
    pub(crate) tap: Tap,
    pub(crate) redis: Redis,
    connection: Connection,
}

/// Which keys are called, and how fast.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    /// One key.
    Hot(usize),
    /// So many keys in turn, from the first.
    Spread { first: usize, keys: usize },
    /// This many keys once every so often: the state of each is what that pace makes it.
    Paced(usize, Duration),
}

/// The result of a number of calls.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) calls: usize,
    pub(crate) admitted: usize,
}

impl Lab {
    pub(crate) fn start() -> Result<Self> {
        let redis = Redis::start()?;
        let tap = Tap::before(redis.address())?;
        let connection = redis.client()?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        Ok(Self { tap, redis, connection })
    }

    pub(crate) fn version(&mut self) -> Result<String> {
        self.field("server", "redis_version")
    }

    pub(crate) fn load_script(&mut self, text: &str) -> Result<String> {
        Ok(cmd("SCRIPT").arg("LOAD").arg(text).query(&mut self.connection)?)
    }

    /// Microseconds since 1970.
    pub(crate) fn now_us() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
    }

    /// Sends a command `calls` times.
    pub(crate) fn replay(&mut self, recording: &Recording, load: Load, calls: usize) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let (mut bytes, mut last) = (Vec::new(), Instant::now());
        for number in 0..calls {
            let (key, batch, pace) = match load {
                Load::Hot(key) => (key, BATCH, Duration::ZERO),
                Load::Spread { first, keys } => (first + number % keys, BATCH, Duration::ZERO),
                Load::Paced(keys, pace) => (number % keys, keys, pace),
            };
            recording.write(&mut bytes, key, number);
            let waiting = number + 1 - outcome.calls;
            if waiting == batch || number + 1 == calls {
                // What is late is not made up for: a state would see a burst.
                std::thread::sleep(pace.saturating_sub(last.elapsed()));
                last = Instant::now();
                self.send(&bytes, waiting, &mut outcome)?;
                bytes.clear();
            }
        }
        Ok(outcome)
    }

    fn send(&mut self, bytes: &[u8], count: usize, outcome: &mut Outcome) -> Result<()> {
        for reply in self.connection.req_packed_commands(bytes, 0, count)? {
            outcome.calls += 1;
            outcome.admitted += usize::from(is_admitted(reply.extract_error()?));
        }
        Ok(())
    }

    /// The server's own time per EVALSHA while a command is sent `calls` times, in microseconds.
    pub(crate) fn measure(
        &mut self,
        recording: &Recording,
        load: Load,
        calls: usize,
    ) -> Result<(f64, Outcome)> {
        cmd("CONFIG").arg("RESETSTAT").exec(&mut self.connection)?;
        let outcome = self.replay(recording, load, calls)?;
        let stat = self.field("commandstats", "cmdstat_evalsha")?;
        let figure = |name: &str| -> Result<f64> {
            let value = stat.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            Ok(value.ok_or("INFO commandstats has another form")?.parse()?)
        };
        Ok((figure("usec")? / figure("calls")?, outcome))
    }

    /// Bytes that the server has allocated.
    pub(crate) fn used_memory(&mut self) -> Result<f64> {
        Ok(self.field("memory", "used_memory")?.parse()?)
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        Ok(cmd("FLUSHALL").exec(&mut self.connection)?)
    }

    fn field(&mut self, section: &str, name: &str) -> Result<String> {
        let info: String = cmd("INFO").arg(section).query(&mut self.connection)?;
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(value.ok_or_else(|| format!("INFO {section} says nothing of {name}"))?.to_owned())
    }
}

/// Ours reply with packed doubles per limit, the first of which is the grant; hand-written ones begin with 1 or 0.
fn is_admitted(reply: Value) -> bool {
    match reply {
        Value::Int(flag) => flag == 1,
        Value::BulkString(limit) => {
            limit.first_chunk().is_some_and(|&grant| f64::from_le_bytes(grant) >= 1.0)
        }
        Value::Array(parts) => match parts.first() {
            Some(Value::Int(flag)) => *flag == 1,
            _ => parts.into_iter().all(is_admitted),
        },
        _ => false,
    }
}
