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

/// What has a server watch keys: the permission for each is looked at before whether it makes sense now.
const WATCHING: [[&str; 3]; 2] = [["CLIENT", "TRACKING", "OFF"], ["CLIENT", "CACHING", "YES"]];

impl RateLimiter {
    /// Whether the user may have the server watch keys; `None` in memory and by RESP2.
    pub(crate) fn may_watch(&self) -> Result<Option<bool>> {
        let Backend::Server(servers) = &self.limiter.backend else { return Ok(None) };
        if !servers.near.has_resp3() {
            return Ok(None);
        }
        for words in WATCHING {
            match servers.near.command(&words, Driver::deadline(&servers.near, None)) {
                Err(error) if error.kind() != ErrorKind::Server => return Err(error),
                Err(error) if error.message().contains("NOPERM") => return Ok(Some(false)),
                _ => {}
            }
        }
        Ok(Some(true))
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
