//! The limiter, as the JavaScript layer sees it.

use std::collections::{HashMap, VecDeque};

use napi::bindgen_prelude::{Either, Float64Array, Utf16String};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;
use sluicegate::bridge::{Ask, Bridge, Completion};
use sluicegate::{Check, CheckOptions, Rules};

use crate::answers::Writer;
use crate::calls::{Reader, single};
use crate::failure::Failure;
use crate::mailbox::Mailbox;
use crate::options::Options;
use crate::wake::{Wake, WakeFunction};

/// A limiter with its mailbox.
#[napi]
pub struct NativeLimiter {
    bridge: Bridge,
    wake: Wake,
    mailbox: Mailbox,
    rules: Rules,
    /// The rules' names, in order, and where each stands: a rule crosses as its number.
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Whether the process is kept alive.
    busy: bool,
    /// Answers for which the mailbox had no room.
    backlog: VecDeque<Completion>,
}

/// What one fetch brought.
#[napi(object, object_from_js = false)]
pub struct Burst {
    /// How many rows were written.
    pub rows: u32,
    /// What the failed among them are about, in order.
    pub failures: Vec<Failure>,
    /// Whether there are more answers to fetch.
    pub more: bool,
}

/// Begins to connect. The first answer, with token 0, tells what came of it.
#[napi(catch_unwind)]
pub(crate) fn open(
    env: Env,
    url: String,
    options: Options,
    mailbox: Float64Array,
    wake: WakeFunction,
) -> Either<NativeLimiter, Failure> {
    match NativeLimiter::open(&env, url, options, mailbox, wake) {
        Ok(limiter) => Either::A(limiter),
        Err(error) => Either::B(Failure::from(&error)),
    }
}

#[napi]
impl NativeLimiter {
    fn open(
        env: &Env,
        url: String,
        options: Options,
        mailbox: Float64Array,
        wake: WakeFunction,
    ) -> sluicegate::Result<Self> {
        let rules = options.rules()?;
        let wake = Wake::new(wake);
        let waker = wake.clone();
        let bridge = Bridge::open(options.builder(url, rules.clone()), move || waker.call())?;
        let names: Vec<_> = rules.iter().map(|rule| rule.id.to_string()).collect();
        let mut limiter = Self {
            bridge,
            wake,
            mailbox: Mailbox::new(mailbox),
            numbers: names.iter().cloned().zip(0..).collect(),
            names,
            rules,
            busy: false,
            backlog: VecDeque::new(),
        };
        limiter.keep_alive(env, true);
        Ok(limiter)
    }

    /// The rules' names; a rule crosses as its place among them.
    #[napi(getter)]
    pub fn rules(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// Whether calls are answered at once, since the engine is inside the process.
    #[napi(getter)]
    pub fn is_local(&self) -> bool {
        self.bridge.at_once(&Ask::Ping).is_some()
    }

    /// Takes a larger mailbox.
    #[napi]
    pub fn use_mailbox(&mut self, mailbox: Float64Array) {
        self.mailbox = Mailbox::new(mailbox);
    }

    /// Why there is no rule of that name.
    #[napi]
    pub fn unknown_rule(&self, name: String) -> Option<Failure> {
        self.rules.find(&name).err().as_ref().map(Failure::from)
    }

    /// Answers the check, peek or refund in the first row, which names no resource, by the engine inside
    /// the process.
    #[napi(catch_unwind)]
    pub fn single_at_once(&mut self, key: String) -> Result<Option<Failure>> {
        let row = self.mailbox.call(0).ok_or_else(foreign)?;
        let kind = single(row.op).ok_or_else(foreign)?;
        let rule = self.names.get(row.rule).ok_or_else(foreign)?;
        let mut options = CheckOptions::new().cost(row.cost);
        options.limit = row.limit;
        let check = Check::new(rule, &key).with(options);
        match self.bridge.single_at_once(kind, &check).ok_or_else(foreign)? {
            Ok(decision) => {
                Writer::new(&mut self.mailbox, &self.numbers).decision(row.token, &decision);
                Ok(None)
            }
            Err(error) => Ok(Some(Failure::from(&error))),
        }
    }

    /// Answers the call that begins in the first row by the engine inside the process.
    #[napi(catch_unwind)]
    pub fn at_once(&mut self, text: Utf16String) -> Result<Option<Failure>> {
        let call = Reader::new(&self.mailbox, &self.names, &text).call();
        let (token, ask) = call.ok_or_else(foreign)?;
        let result = self.bridge.at_once(&ask).ok_or_else(foreign)?;
        Ok(Writer::new(&mut self.mailbox, &self.numbers).answer(token, &result))
    }

    /// Sends the calls in the mailbox on their way.
    #[napi(catch_unwind)]
    pub fn submit(&mut self, env: Env, count: u32, text: Utf16String) -> Result<Option<Failure>> {
        let mut reader = Reader::new(&self.mailbox, &self.names, &text);
        let calls: Option<Vec<_>> = (0..count).map(|_| reader.call()).collect();
        let calls = calls.ok_or_else(foreign)?;
        self.keep_alive(&env, true);
        Ok(self.bridge.submit(calls).err().as_ref().map(Failure::from))
    }

    /// Fetches answers into the mailbox.
    #[napi(catch_unwind)]
    pub fn fetch(&mut self) -> Burst {
        self.backlog.extend(self.bridge.drain());
        let mut writer = Writer::new(&mut self.mailbox, &self.numbers);
        let mut failures = Vec::new();
        while let Some(completion) = self.backlog.pop_front_if(|next| writer.has_room(&next.result)) {
            failures.extend(writer.answer(completion.token, &completion.result));
        }
        let rows = writer.written() as u32;
        Burst { rows, failures, more: !self.backlog.is_empty() }
    }

    /// Gives up a wait; it may be answered nevertheless.
    #[napi]
    pub fn cancel(&self, token: f64) {
        self.bridge.cancel(token as u64);
    }

    /// Lets the process end: no call waits for its answer.
    #[napi]
    pub fn rest(&mut self, env: Env) {
        self.keep_alive(&env, false);
    }

    /// Closes the limiter for good.
    #[napi]
    pub fn close(&self) {
        self.bridge.close();
    }

    fn keep_alive(&mut self, env: &Env, busy: bool) {
        if self.busy != busy {
            self.wake.keep_alive(env, busy);
            self.busy = busy;
        }
    }
}

fn foreign() -> Error {
    Error::new(Status::InvalidArg, "the mailbox holds what lib/mailbox.js does not write")
}
