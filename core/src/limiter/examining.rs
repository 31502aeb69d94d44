//! What a server says of itself, for who sets it up.

use std::time::Instant;

use once_cell::race::OnceBox;
use redis::Value;
use smallvec::smallvec;

use super::driver::Driver;
use super::{RateLimiter, backend::Backend};
use crate::algorithm::Micros;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key;
use crate::redis::BlockingRedis;
use crate::script::{Script, ScriptCall};
use crate::time::clock::SystemClock;

/// The way of every call: a script, which here asks for what the server knows of itself. No rule needs the right to that.
const SCRIPT: &str =
    "local info = redis.pcall('INFO') return { redis.call('TIME'), type(info) == 'string' and info or '' }";
/// The key says which server of a Cluster is asked; nothing is read of it.
const KEY: &str = "doctor";

/// What a server said.
#[derive(Debug, Clone)]
pub struct Examined {
    /// The reply to `INFO`; empty where the user may not ask for it.
    pub info: String,
    /// By how much its clock is ahead of that of this machine, in microseconds.
    pub clock_ahead_us: i64,
}

impl RateLimiter {
    /// Asks the server; `None` in memory.
    pub(crate) fn examine(&self) -> Result<Option<Examined>> {
        match &self.limiter.backend {
            Backend::Memory(_) => Ok(None),
            Backend::Server(servers) => ask(&servers.near, &self.limiter.shared.wire.prefix).map(Some),
        }
    }
}

fn ask(server: &BlockingRedis, prefix: &str) -> Result<Examined> {
    static ASKING: OnceBox<Script> = OnceBox::new();
    let script = ASKING.get_or_init(|| Box::new(Script::new(SCRIPT.to_owned())));
    let keys = smallvec![key::name(prefix, KEY, KEY, None, KEY)];
    let (call, deadline) = (ScriptCall::new(script, keys, smallvec![]), Driver::deadline(server, None));
    let began = Instant::now();
    let reply = BlockingRedis::call(server, call, deadline)?;
    // The server looked at its clock in the middle of the call.
    let own = SystemClock::new().now() - began.elapsed().as_micros() as Micros / 2;
    let unexpected = || Error::new(ErrorKind::Server, "the server answered a script in an unknown form");
    let (info, now) = read(reply).ok_or_else(unexpected)?;
    Ok(Examined { info, clock_ahead_us: now - own })
}

fn read(reply: Value) -> Option<(String, Micros)> {
    let Value::Array(parts) = reply else { return None };
    let [time, info] = parts.try_into().ok()?;
    let time: (Micros, Micros) = redis::from_redis_value(time).ok()?;
    Some((redis::from_redis_value(info).ok()?, time.0 * 1_000_000 + time.1))
}
