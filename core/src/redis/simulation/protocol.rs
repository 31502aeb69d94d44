//! The server's side of the Redis protocol: requests are parsed, replies are written.

use std::sync::{Arc, LazyLock};

use super::super::tests::eternal;
use super::plan::CallKind;
use crate::redis::wire::command::RedisCommand;
use crate::script::{Script, ScriptCall};
use crate::tracking::Registration;

/// A script that calls of `CallKind::Check` and `Peek` share.
static SHARED: LazyLock<&Script> = LazyLock::new(|| {
    let one = Script::new("one".to_owned());
    eternal(one.with_each("each".to_owned()).with_up_to("up to".to_owned()))
});
static SINGLE: LazyLock<&Script> = LazyLock::new(|| eternal(Script::new("single".to_owned())));
static PAIR: LazyLock<&Script> = LazyLock::new(|| eternal(Script::new("pair".to_owned())));

pub(super) const SCRIPT_COUNT: usize = 5;

/// The place of the script for several callers of each key.
const UP_TO: usize = 4;

/// Text and digest of each script; a server knows a script by its place here.
static SCRIPTS: LazyLock<[(String, String); SCRIPT_COUNT]> = LazyLock::new(|| {
    ["one", "each", "single", "pair", "up to"]
        .map(|text| (text.to_owned(), redis::Script::new(text).get_hash().to_owned()))
});

/// A key as a server understands it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) tag: usize,
    pub(super) family: usize,
}

impl Key {
    pub(super) fn name(self) -> String {
        format!("{{t{}}}{}", self.tag, self.family)
    }

    fn parse(text: &str) -> Option<Self> {
        let (tag, family) = text.strip_prefix("{t")?.split_once('}')?;
        Some(Self { tag: tag.parse().ok()?, family: family.trim_end_matches('+').parse().ok()? })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerCommand {
    /// What a script does for each of its keys, the place of the script, and whether its text was sent.
    Script {
        kind: CallKind,
        script: usize,
        whole: bool,
        keys: Vec<Key>,
        /// For how many callers of each key.
        callers: Vec<usize>,
    },
    Delete(Key),
    Ping,
    Role,
    Asking,
    /// CLIENT TRACKING, and that the keys of the next command are to be watched.
    Tracking,
    Caching,
    /// For how many replicas to wait.
    Wait(i64),
    /// HELLO, AUTH, SELECT.
    Hello,
    Login,
    ClusterSlots,
    SentinelMaster,
}

impl ServerCommand {
    /// The calls that the command carries out.
    pub(super) fn calls(&self) -> impl Iterator<Item = (Key, CallKind)> + '_ {
        let (keys, callers, kind) = match self {
            Self::Script { kind, keys, callers, .. } => (keys.as_slice(), callers.as_slice(), *kind),
            Self::Delete(key) => (std::slice::from_ref(key), &[1][..], CallKind::Delete),
            _ => (&[][..], &[][..], CallKind::Peek),
        };
        let times = keys.iter().zip(callers);
        times.flat_map(move |(key, callers)| std::iter::repeat_n((*key, kind), *callers))
    }

    /// Whether it is a script whose reply is a list for each key.
    pub(super) fn is_for_callers(&self) -> bool {
        matches!(self, Self::Script { script: UP_TO, .. })
    }

    /// Whether it has two keys, of which the second is moved last.
    pub(super) fn is_pair(&self) -> bool {
        matches!(self, Self::Script { kind: CallKind::Pair, .. })
    }

    fn parse(parts: &[&str]) -> Option<Self> {
        Some(match parts {
            ["EVALSHA", digest, count, rest @ ..] => {
                let script = SCRIPTS.iter().position(|(_, known)| known == digest)?;
                Self::script(script, false, count, rest)?
            }
            ["EVAL", text, count, rest @ ..] => {
                let script = SCRIPTS.iter().position(|(known, _)| known == text)?;
                Self::script(script, true, count, rest)?
            }
            ["UNLINK", key] => Self::Delete(Key::parse(key)?),
            ["PING"] => Self::Ping,
            ["ROLE"] => Self::Role,
            ["ASKING"] => Self::Asking,
            ["CLIENT", "TRACKING", "ON", "OPTIN"] => Self::Tracking,
            ["CLIENT", "CACHING", "YES"] => Self::Caching,
            ["WAIT", replicas, _] => Self::Wait(replicas.parse().ok()?),
            ["HELLO", "3", ..] => Self::Hello,
            ["AUTH", ..] | ["SELECT", _] => Self::Login,
            ["CLUSTER", "SLOTS"] => Self::ClusterSlots,
            ["SENTINEL", "MASTER", "service"] => Self::SentinelMaster,
            _ => return None,
        })
    }

    fn script(script: usize, whole: bool, count: &str, rest: &[&str]) -> Option<Self> {
        let (keys, args) = rest.split_at_checked(count.parse().ok()?)?;
        let mut keys: Vec<Key> = keys.iter().map(|key| Key::parse(key)).collect::<Option<_>>()?;
        let mut callers = vec![1; keys.len()];
        let kind = match (script, keys.len(), args) {
            (UP_TO, 1.., ["0" | "1", counts @ ..]) if counts.len() == keys.len() => {
                callers = counts.iter().map(|count| count.parse().ok()).collect::<Option<_>>()?;
                if args[0] == "1" { CallKind::Check } else { CallKind::Peek }
            }
            (0, 1, ["1"]) | (1, 2.., ["1"]) => CallKind::Check,
            (0, 1, ["0"]) | (1, 2.., ["0"]) => CallKind::Peek,
            (2, 1, ["1"]) => CallKind::Single,
            (3, 2, ["1"]) if keys[0] == keys[1] => CallKind::Pair,
            _ => return None,
        };
        if kind == CallKind::Pair {
            keys.pop();
        }
        Some(Self::Script { kind, script, whole, keys, callers })
    }
}

/// A number that ends with a line break.
fn number(bytes: &[u8], sign: u8) -> Result<Option<(usize, &[u8])>, ()> {
    match bytes.first() {
        None => return Ok(None),
        Some(first) if *first != sign => return Err(()),
        Some(_) => {}
    }
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() > 12 { Err(()) } else { Ok(None) };
    };
    let digits = std::str::from_utf8(&bytes[1..end]).map_err(drop)?;
    Ok(Some((digits.parse().map_err(drop)?, &bytes[end + 2..])))
}

/// The next request and its size, if all of it is there. The error says that it is none.
pub(super) fn request(bytes: &[u8]) -> Result<Option<(ServerCommand, usize)>, ()> {
    let Some((count, mut rest)) = number(bytes, b'*')? else { return Ok(None) };
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let Some((size, after)) = number(rest, b'$')? else { return Ok(None) };
        let Some((part, after)) = after.split_at_checked(size) else { return Ok(None) };
        let Some((end, after)) = after.split_at_checked(2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(());
        }
        parts.push(std::str::from_utf8(part).map_err(drop)?);
        rest = after;
    }
    let command = ServerCommand::parse(&parts).ok_or(())?;
    Ok(Some((command, bytes.len() - rest.len())))
}

/// Says what a script does for one key: whose answer it is, and whether it was admitted.
pub(super) fn answer(key: Key, kind: CallKind, admitted: bool) -> String {
    let name = key.name();
    format!("*3\r\n${}\r\n{name}\r\n:{}\r\n:{}\r\n", name.len(), kind as usize, u8::from(admitted))
}

/// The same for one of a crowd: also how many were carried out before it.
pub(super) fn numbered(key: Key, kind: CallKind, admitted: bool, number: usize) -> String {
    bulk(&format!("{} {} {} {number}", key.name(), kind as usize, u8::from(admitted)))
}

pub(super) fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

/// What a client sends for a call.
pub(super) fn command_of(key: Key, kind: CallKind, registration: Option<Arc<Registration>>) -> RedisCommand {
    let name = key.name();
    let script = |script: &'static Script, keys: &[String], arg: &str| {
        RedisCommand::Script(ScriptCall {
            script,
            keys: keys.iter().cloned().collect(),
            args: std::iter::once(arg.as_bytes().into()).collect(),
            registration: registration.clone(),
        })
    };
    match kind {
        CallKind::Check => script(*SHARED, &[name], "1"),
        CallKind::Peek => script(*SHARED, &[name], "0"),
        CallKind::Single => script(*SINGLE, &[name], "1"),
        CallKind::Pair => script(*PAIR, &[name.clone(), name + "+"], "1"),
        CallKind::Delete => RedisCommand::delete(&[name]),
    }
}
