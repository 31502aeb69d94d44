//! The limiter, as the JavaScript layer sees it.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use napi::bindgen_prelude::{Either, Float64Array, Uint8Array, Utf16String};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;
use sluicegate::Rules;
use sluicegate::bridge::{Ask, Bridge, Completion};

use crate::answers::Writer;
use crate::calls::Reader;
use crate::embedded;
use crate::failure::Failure;
use crate::function::Function;
use crate::mailbox::Mailbox;
use crate::options::Options;
use crate::wake::{Wake, WakeFunction};

/// A limiter with its mailbox.
#[napi]
pub struct NativeLimiter {
    shared: Rc<Shared>,
    wake: Wake,
    rules: Rules,
    /// Whether the process is kept alive.
    busy: bool,
    /// Answers for which the mailbox had no room.
    backlog: VecDeque<Completion>,
}

/// What the limiter's methods and its function share; all on one thread.
pub(crate) struct Shared {
    pub(crate) bridge: Bridge,
    pub(crate) mailbox: RefCell<Mailbox>,
    /// The rules' names, in order, and where each stands: a rule crosses as its number.
    pub(crate) names: Vec<String>,
    pub(crate) numbers: HashMap<String, usize>,
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
        let shared = Shared {
            bridge,
            mailbox: RefCell::new(Mailbox::new(mailbox)),
            numbers: names.iter().cloned().zip(0..).collect(),
            names,
        };
        let mut limiter =
            Self { shared: Rc::new(shared), wake, rules, busy: false, backlog: VecDeque::new() };
        limiter.keep_alive(env, true);
        Ok(limiter)
    }

    /// The rules' names; a rule crosses as its place among them.
    #[napi(getter, catch_unwind)]
    pub fn rules(&self) -> Vec<&str> {
        self.shared.names.iter().map(String::as_str).collect()
    }

    /// Whether calls are answered at once, since the engine is inside the process.
    #[napi(getter, catch_unwind)]
    pub fn is_local(&self) -> bool {
        self.shared.bridge.at_once(&Ask::Ping).is_some()
    }

    /// Takes a larger mailbox.
    #[napi(catch_unwind)]
    pub fn use_mailbox(&self, mailbox: Float64Array) {
        self.shared.mailbox.replace(Mailbox::new(mailbox));
    }

    /// Why there is no rule of that name.
    #[napi(catch_unwind)]
    pub fn unknown_rule(&self, name: String) -> Option<Failure> {
        self.rules.find(&name).err().as_ref().map(Failure::from)
    }

    /// The shortest way to the engine inside the process; see `embedded`.
    #[napi(catch_unwind, ts_return_type = "() => Failure | undefined")]
    pub fn single_at_once<'env>(&self, env: &'env Env, key: Uint8Array) -> Result<Function<'env>> {
        embedded::function(env, Rc::clone(&self.shared), key)
    }

    /// Answers the call that begins in the first row by the engine inside the process.
    #[napi(catch_unwind)]
    pub fn at_once(&self, text: Utf16String) -> Result<Option<Failure>> {
        let shared = &self.shared;
        let mut mailbox = shared.mailbox.borrow_mut();
        let call = Reader::new(&mailbox, &shared.names, &text).call();
        let (token, ask) = call.ok_or_else(foreign)?;
        let result = shared.bridge.at_once(&ask).ok_or_else(foreign)?;
        Ok(Writer::new(&mut mailbox, &shared.numbers).answer(token, &result))
    }

    /// Sends the calls in the mailbox on their way.
    #[napi(catch_unwind)]
    pub fn submit(&mut self, env: Env, count: u32, text: Utf16String) -> Result<Option<Failure>> {
        let mailbox = self.shared.mailbox.borrow();
        let mut reader = Reader::new(&mailbox, &self.shared.names, &text);
        let calls: Option<Vec<_>> = (0..count).map(|_| reader.call()).collect();
        let calls = calls.ok_or_else(foreign)?;
        drop(mailbox);
        self.keep_alive(&env, true);
        Ok(self.shared.bridge.submit(calls).err().as_ref().map(Failure::from))
    }

    /// Fetches answers into the mailbox.
    #[napi(catch_unwind)]
    pub fn fetch(&mut self) -> Burst {
        self.backlog.extend(self.shared.bridge.drain());
        let mut mailbox = self.shared.mailbox.borrow_mut();
        let mut writer = Writer::new(&mut mailbox, &self.shared.numbers);
        let mut failures = Vec::new();
        while let Some(completion) = self.backlog.pop_front_if(|next| writer.has_room(&next.result)) {
            failures.extend(writer.answer(completion.token, &completion.result));
        }
        let rows = writer.written() as u32;
        Burst { rows, failures, more: !self.backlog.is_empty() }
    }

    /// Gives up a wait; it may be answered nevertheless.
    #[napi(catch_unwind)]
    pub fn cancel(&self, token: f64) {
        self.shared.bridge.cancel(token as u64);
    }

    /// Lets the process end: no call waits for its answer.
    #[napi(catch_unwind)]
    pub fn rest(&mut self, env: Env) {
        self.keep_alive(&env, false);
    }

    /// Closes the limiter for good.
    #[napi(catch_unwind)]
    pub fn close(&self) {
        self.shared.bridge.close();
    }

    fn keep_alive(&mut self, env: &Env, busy: bool) {
        if self.busy != busy {
            self.wake.keep_alive(env, busy);
            self.busy = busy;
        }
    }
}

pub(crate) fn foreign() -> Error {
    Error::new(Status::InvalidArg, "the mailbox holds what lib/mailbox.js does not write")
}
