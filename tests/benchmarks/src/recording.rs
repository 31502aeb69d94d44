//! A command as bytes, ready to be sent again for other keys.

use redis::{Cmd, Value};
use sluicegate::{CheckOptions, ManualClock, RateLimiter, Rules};

use crate::Result;
use crate::tap::Tap;

/// The key of a recorded command. Keys are `user-0000000` and so on: 12 bytes.
pub(crate) const KEY: &str = "user-9999999";
/// Nonces, which some hand-written scripts need, likewise.
pub(crate) const NONCE: &str = "once-9999999";
const DIGITS: usize = 7;

pub(crate) fn key(number: usize) -> String {
    format!("user-{number:0DIGITS$}")
}

/// One command with places for the number of a key and for a nonce.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    bytes: Vec<u8>,
    keys: Vec<usize>,
    nonces: Vec<usize>,
}

impl Recording {
    /// What the library sends for a check once its script is known to the server.
    pub(crate) fn of_check(tap: &Tap, rules: &str, rule: &str, asked: &Asked) -> Result<Self> {
        let mut builder = RateLimiter::builder(tap.url()).rules(Rules::from_json(rules)?);
        if let Some(now_us) = asked.now_us {
            builder = builder.clock(ManualClock::new(now_us));
        }
        let limiter = builder.build()?;
        let options = CheckOptions::new().cost(asked.cost);
        limiter.check_with(rule, KEY, options)?;
        tap.take();
        limiter.check_with(rule, KEY, options)?;
        let bytes = tap.take();
        limiter.reset(rule, KEY)?;
        if !bytes.starts_with(b"*") || bytes.windows(7).filter(|part| part == b"EVALSHA").count() != 1 {
            return Err("a check is expected to be one EVALSHA".into());
        }
        Ok(Self::new(bytes))
    }

    /// A command written by hand; its key contains [`KEY`], and [`NONCE`] stands for what
    /// makes each call another.
    pub(crate) fn of_command(cmd: &Cmd) -> Self {
        Self::new(cmd.get_packed_command())
    }

    fn new(bytes: Vec<u8>) -> Self {
        let (keys, nonces) = (places(&bytes, KEY), places(&bytes, NONCE));
        Self { bytes, keys, nonces }
    }

    /// Adds the command for this key to what is going to be sent.
    pub(crate) fn write(&self, out: &mut Vec<u8>, key: usize, nonce: usize) {
        let start = out.len();
        out.extend_from_slice(&self.bytes);
        for (places, number) in [(&self.keys, key), (&self.nonces, nonce)] {
            for place in places {
                let mut rest = number;
                for at in (0..DIGITS).rev() {
                    out[start + place + at] = b'0' + (rest % 10) as u8;
                    rest /= 10;
                }
            }
        }
    }

    /// The command for one key, for the `redis` crate to send.
    pub(crate) fn command(&self, key: usize) -> Result<Cmd> {
        let mut bytes = Vec::new();
        self.write(&mut bytes, key, 0);
        let mut cmd = Cmd::new();
        match redis::parse_redis_value(&bytes)? {
            Value::Array(args) => args.iter().for_each(|arg| {
                if let Value::BulkString(arg) = arg {
                    cmd.arg(arg.as_slice());
                }
            }),
            _ => return Err("a command is expected to be an array".into()),
        }
        Ok(cmd)
    }

    /// The name of the state that the command is about, as long as it is on the server.
    pub(crate) fn name(&self) -> Result<String> {
        match redis::parse_redis_value(&self.bytes)? {
            Value::Array(args) => match args.get(3) {
                Some(Value::BulkString(name)) => Ok(String::from_utf8(name.clone())?),
                _ => Err("a script is expected to have a key".into()),
            },
            _ => Err("a command is expected to be an array".into()),
        }
    }
}

/// What a recorded check asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) cost: u64,
    /// The time of a manual clock; `None`: the server's own.
    pub(crate) now_us: Option<u64>,
}

impl Default for Asked {
    fn default() -> Self {
        Self { cost: 1, now_us: None }
    }
}

/// Where the digits of each occurrence begin.
fn places(bytes: &[u8], what: &str) -> Vec<usize> {
    let found = bytes.windows(what.len()).enumerate().filter(|(_, part)| *part == what.as_bytes());
    found.map(|(place, _)| place + what.len() - DIGITS).collect()
}
