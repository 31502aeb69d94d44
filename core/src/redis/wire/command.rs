//! A command for a server, and its outcome.

use std::time::{Duration, Instant};

use ::redis::{Cmd, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::keys::slots::slot_of;
use crate::net::address::Address;
use crate::redis::errors::{self, CallError};
use crate::script::ScriptCall;
use crate::time::timeout::SHORTEST_TIMEOUT;

/// Between two attempts of a call that may be sent again.
const RESEND_PAUSE: Duration = Duration::from_millis(10);

/// The whole time of a call, whatever it waits for and however many requests it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallDeadline {
    /// When the call times out.
    pub(crate) by: Instant,
    /// How long that was when the call began, for its errors.
    pub(crate) timeout: Duration,
}

impl CallDeadline {
    /// Of a call that begins now.
    pub(crate) fn after(timeout: Duration) -> Self {
        Self { by: Instant::now() + timeout, timeout }
    }

    /// When the call began.
    pub(crate) fn began(&self) -> Instant {
        self.by.checked_sub(self.timeout).unwrap_or(self.by)
    }

    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.by
    }

    /// Whether a request that begins now leaves the server the time that it may take to answer. One that does not
    /// says nothing about the server.
    #[inline(always)]
    pub(in crate::redis) fn allows_response(&self, response_timeout: Duration, now: Instant) -> bool {
        self.timeout >= response_timeout && self.by + SHORTEST_TIMEOUT >= now + response_timeout
    }

    /// The error of a call whose time is up, if it is.
    pub(crate) fn over(&self) -> Option<Error> {
        (self.by <= Instant::now() + SHORTEST_TIMEOUT).then(|| self.error())
    }

    /// The error of a call whose time is up.
    pub(crate) fn error(&self) -> Error {
        errors::out_of_time(self.timeout)
    }
}

/// The attempts of a request that may be sent again for as long as there is no answer.
pub(crate) struct Attempts {
    by: Instant,
    call: ScriptCall,
    /// Whether one of them may have been carried out although its answer was lost.
    is_maybe_done: bool,
}

impl Attempts {
    pub(crate) fn new(deadline: CallDeadline, call: &ScriptCall) -> Self {
        Self { by: deadline.by, call: call.clone(), is_maybe_done: false }
    }

    /// How long to wait, and what to send then; `None`: it was answered, there is no time left, or an open circuit breaker
    /// kept it from being sent, the first attempt too.
    pub(crate) fn next(&mut self, reply: &Result<Value>) -> Option<(Duration, ScriptCall)> {
        let error = reply.as_ref().err()?;
        self.is_maybe_done |= error.is_maybe_done();
        if error.is_withheld() && !self.is_maybe_done {
            return None;
        }
        let is_unanswered = matches!(error.kind(), ErrorKind::Connection | ErrorKind::Timeout);
        let is_soon = self.by.saturating_duration_since(Instant::now()) > RESEND_PAUSE;
        (is_unanswered && error.is_retryable() && is_soon).then(|| (RESEND_PAUSE, self.call.clone()))
    }

    /// The reply to the last one. Its error says what may have come of those before it.
    pub(crate) fn last(self, reply: Result<Value>) -> Result<Value> {
        reply.map_err(|error| if self.is_maybe_done { error.maybe_done() } else { error })
    }
}

/// A script call or a plain command, to be executed at most once.
#[derive(Debug, Clone)]
pub(crate) enum RedisCommand {
    Script(ScriptCall),
    /// A command and the slot of its keys.
    Plain(Cmd, u16),
}

impl RedisCommand {
    /// Removes keys of one slot; the server frees large ones in the background.
    pub(in crate::redis) fn delete(keys: &[String]) -> Self {
        Self::Plain(::redis::cmd("UNLINK").arg(keys).take(), slot_of_keys(keys))
    }

    pub(in crate::redis) fn ping() -> Self {
        Self::without_keys(&["PING"])
    }

    pub(in crate::redis) fn without_keys(words: &[&str]) -> Self {
        let mut cmd = Cmd::new();
        cmd.arg(words);
        Self::Plain(cmd, 0)
    }

    pub(in crate::redis) fn slot(&self) -> u16 {
        match self {
            Self::Script(call) => slot_of_keys(&call.keys),
            Self::Plain(_, slot) => *slot,
        }
    }
}

fn slot_of_keys(keys: &[String]) -> u16 {
    keys.first().map_or(0, |key| slot_of(key.as_bytes()))
}

/// The outcome of a command on one connection.
#[derive(Debug)]
pub(in crate::redis) enum CommandOutcome {
    /// It is answered, or it failed.
    Done(Result<Value, CallError>),
    /// No server has executed it, so it may be sent again. Boxed: outcomes are handed on often, and nearly all are answers.
    NotExecuted(Box<Unexecuted>),
}

/// The name of the attribute of a reply whose effects are on as many replicas as are asked for.
const REPLICATED: &str = "replicated";

/// A reply whose effects are on the replicas. It says so in an attribute, by which RESP3 describes replies.
pub(in crate::redis) fn replicated(reply: Value) -> Value {
    let attributes = vec![(Value::SimpleString(REPLICATED.to_owned()), Value::Boolean(true))];
    Value::Attribute { data: Box::new(reply), attributes }
}

/// A reply by itself, and whether it was [`replicated`]. Attributes of a server are left out when they come.
pub(crate) fn split_replicated(reply: Value) -> (Value, bool) {
    match reply {
        Value::Attribute { data, .. } => (*data, true),
        reply => (reply, false),
    }
}

/// A command that no server has executed.
#[derive(Debug)]
pub(in crate::redis) struct Unexecuted {
    pub(in crate::redis) request: RedisCommand,
    /// Whether a key was announced that is being moved to the server.
    pub(in crate::redis) asking: bool,
    pub(in crate::redis) redirect: Redirect,
}

/// Why a command was not executed, and so where to send it next.
#[derive(Debug, Clone)]
pub(in crate::redis) enum Redirect {
    /// Another server owns the slot.
    Moved(Address),
    /// Another server has the key for this one call.
    Ask(Address),
    /// Keys of this slot are being moved to another server, which it took so long to say.
    TryAgain(Duration),
    /// The server is a replica now, or another owns the slot whose address it does not know.
    NotOwner(CallError),
    /// The connection ended before the request was sent, which has waited for it and may wait until then.
    Unsent(CallError, Instant),
}
