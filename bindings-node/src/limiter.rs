//! The limiter, as the JavaScript layer sees it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use napi::bindgen_prelude::{Either, Float64Array, Function as JsFunction, Uint8Array, Utf16String};
use napi::{Env, Error, Result};
use napi_derive::napi;
use sluicegate::bridge::{Answer, Bridge, Completion, OwnedCall};
use sluicegate::{AsyncRateLimiter, Rules};

use crate::answers::{self, Held, Writer};
use crate::callback::Callback;
use crate::calls::Reader;
use crate::failure::Failure;
use crate::function::Function;
use crate::mailbox::Mailbox;
use crate::matching::{Match, matches};
use crate::memory;
use crate::options::Options;
use crate::poll::{self, Poll};
use crate::shared::{Shared, foreign};
use crate::status::Status;
use crate::wake::Wake;

/// A limiter with its mailbox.
#[napi]
pub struct NativeLimiter {
    /// Gone before the socket, which belongs to the bridge.
    poll: Option<Poll>,
    /// Whether the loop can watch it.
    watches: bool,
    shared: Rc<Shared>,
    wake: Wake,
    /// Whether the process is kept alive.
    busy: bool,
    /// Answers that are still to be fetched.
    backlog: VecDeque<Completion>,
    /// The tokens of those who closed the limiter and wait until nothing of it is open.
    closing: Vec<u64>,
}

/// What one fetch brought beside rows.
#[napi(object, object_from_js = false)]
pub struct Beside {
    /// What the failed among them are about, in order.
    pub failures: Vec<Failure>,
    /// What of the reservations among them does not fit into rows, in order.
    pub held: Vec<Held>,
    /// The names of rules that JavaScript has yet to learn.
    pub names: Vec<String>,
}

/// Begins to connect. The first answer, with token 0, is its result. `watches` says that this is a
/// program whose loop can watch a socket, as far as JavaScript knows.
#[napi(catch_unwind)]
pub(crate) fn open(
    env: Env,
    url: String,
    options: Options,
    mailbox: Float64Array,
    fetch: JsFunction<'_, (), ()>,
    watches: bool,
) -> Result<Either<NativeLimiter, Failure>> {
    let (wake, fetch) = (Wake::of(&fetch)?, Callback::new(&fetch)?);
    Ok(match NativeLimiter::open(&env, url, options, mailbox, (wake, fetch), watches) {
        Ok(limiter) => Either::A(limiter),
        Err(error) => Either::B(Failure::from(&error)),
    })
}

#[napi]
impl NativeLimiter {
    fn open(
        env: &Env,
        url: String,
        options: Options,
        mailbox: Float64Array,
        (wake, fetch): (Wake, Callback),
        watches: bool,
    ) -> sluicegate::Result<Self> {
        let waker = wake.clone();
        let bridge = Bridge::open(options.builder(url)?, move || waker.call())?;
        let mailbox = RefCell::new(Mailbox::new(mailbox));
        let (names, has_handle) = (RefCell::default(), Cell::default());
        let shared = Shared { bridge, mailbox, names, fetch, has_handle };
        let watches = watches && poll::is_possible();
        let (shared, backlog) = (Rc::new(shared), VecDeque::new());
        let mut limiter =
            Self { poll: None, watches, shared, wake, busy: false, backlog, closing: Vec::new() };
        limiter.keep_alive(env, true);
        Ok(limiter)
    }

    /// Whether calls are answered at once, since the limiter is in memory.
    #[napi(getter, catch_unwind)]
    pub fn is_local(&self) -> bool {
        self.shared.bridge.at_once(&OwnedCall::Ping(None)).is_some()
    }

    /// Whether checks may be decided at once by what a server lent or said before.
    #[napi(getter, catch_unwind)]
    pub fn uses_cells(&self) -> bool {
        self.shared.bridge.uses_cells()
    }

    /// Takes a larger mailbox.
    #[napi(catch_unwind)]
    pub fn use_mailbox(&self, mailbox: Float64Array) {
        self.shared.mailbox.replace(Mailbox::new(mailbox));
    }

    /// Gives a rule its number: that of its place among the names that JavaScript has, these included.
    #[napi(catch_unwind)]
    pub fn learn(&self, name: String) -> Result<Either<Vec<String>, Failure>> {
        let rules = self.limiter()?.rules();
        Ok(match self.shared.bridge.ensure_open().and_then(|()| rules.find(&name)) {
            Ok(rule) => {
                let mut names = self.shared.names.borrow_mut();
                names.number(&rule.id);
                Either::A(names.take_new())
            }
            Err(error) => Either::B(Failure::from(&error)),
        })
    }

    /// Which rules the request that begins in the first row chooses or, to `explain`, what every rule has to
    /// do with it.
    #[napi(catch_unwind)]
    pub fn match_request(&self, text: Utf16String, explain: bool) -> Result<Either<Vec<Match>, Failure>> {
        let (_, call) = self.first(&text)?;
        let OwnedCall::Request(request) = call else { return Err(foreign()) };
        Ok(match matches(self.limiter()?, &request.request(), explain) {
            Ok(matches) => Either::A(matches),
            Err(error) => Either::B(Failure::from(&error)),
        })
    }

    /// The rules in force, as JSON.
    #[napi(catch_unwind)]
    pub fn rules(&self) -> Result<String> {
        Ok(self.limiter()?.rules().to_json())
    }

    /// Adds rules, as JSON; answers what is wrong with them.
    #[napi(catch_unwind)]
    pub fn add_rules(&self, json: String) -> Result<Option<Failure>> {
        let limiter = self.limiter()?;
        let added = Rules::from_json(&json).and_then(|rules| limiter.add_rules(&rules));
        Ok(added.err().as_ref().map(Failure::from))
    }

    /// Changes how many processes share the limits while no server decides; answers what is wrong with it.
    #[napi(catch_unwind)]
    pub fn set_instances(&self, instances: f64) -> Result<Option<Failure>> {
        let limiter = self.limiter()?;
        // What is no whole number, or below 1, is refused as 0 is.
        let whole = if instances.fract() == 0.0 { instances as u32 } else { 0 };
        Ok(limiter.set_instances(whole).err().as_ref().map(Failure::from))
    }

    /// What is counted, as JSON.
    #[napi(catch_unwind)]
    pub fn metrics(&self) -> Result<String> {
        Ok(self.limiter()?.metrics().to_json())
    }

    /// The same, as Prometheus reads it.
    #[napi(catch_unwind)]
    pub fn prometheus(&self) -> Result<String> {
        Ok(self.limiter()?.prometheus())
    }

    /// Which rules are in force.
    #[napi(catch_unwind)]
    pub fn rules_status(&self) -> Result<Status> {
        Ok(self.limiter()?.rules_status().into())
    }

    /// The shortest way to the in-memory engine and to what a server lent; see `memory`.
    #[napi(catch_unwind, ts_return_type = "() => Failure | true | undefined")]
    pub fn single_at_once<'env>(&self, env: &'env Env, key: Uint8Array) -> Result<Function<'env>> {
        memory::function(env, Rc::clone(&self.shared), key)
    }

    /// Answers the call that begins in the first row by the in-memory engine.
    #[napi(catch_unwind)]
    pub fn at_once(&self, text: Utf16String) -> Result<Option<Failure>> {
        let (token, call) = self.first(&text)?;
        let shared = &self.shared;
        let result = shared.bridge.at_once(&call).ok_or_else(foreign)?;
        let (mut mailbox, mut names) = (shared.mailbox.borrow_mut(), shared.names.borrow_mut());
        Ok(Writer::new(&mut mailbox, &mut names).answer(token, &result))
    }

    /// Answers the call that begins in the first row likewise, whatever the size of the answer: that is to be
    /// fetched.
    #[napi(catch_unwind)]
    pub fn request_at_once(&mut self, text: Utf16String) -> Result<()> {
        let (token, call) = self.first(&text)?;
        let result = self.shared.bridge.at_once(&call).ok_or_else(foreign)?;
        self.backlog.push_back(Completion { token, result });
        Ok(())
    }

    /// Sends the calls in the mailbox on their way.
    #[napi(catch_unwind)]
    pub fn submit(&mut self, env: Env, count: u32, text: Utf16String) -> Result<Option<Failure>> {
        let calls = self.read(&text, count)?;
        self.keep_alive(&env, true);
        Ok(self.shared.bridge.submit(calls).err().as_ref().map(Failure::from))
    }

    /// Whether calls are sent by a socket that the loop watches.
    #[napi(getter, catch_unwind)]
    pub fn has_socket(&self) -> bool {
        self.poll.is_some()
    }

    /// Whether calls were answered as they were submitted; that is to be fetched.
    #[napi(getter, catch_unwind)]
    pub fn has_answers(&self) -> bool {
        self.shared.bridge.has_answers()
    }

    /// Waits a moment for the answer to a call that is alone on the socket; what came is to be fetched.
    #[napi(catch_unwind)]
    pub fn spin(&self) {
        self.shared.bridge.spin();
    }

    /// Ends calls on the socket whose time is up; what came is to be fetched. Returns in how many milliseconds to
    /// look again, if any are under way.
    #[napi(catch_unwind)]
    pub fn expire(&self) -> Option<f64> {
        self.shared.bridge.expire().map(|left| left.as_secs_f64() * 1e3)
    }

    /// Whether `expire` is to be called sooner than it last asked for.
    #[napi(getter, catch_unwind)]
    pub fn is_hurried(&self) -> bool {
        self.shared.bridge.is_hurried()
    }

    /// Fetches answers into the mailbox. Returns nothing where rows say all: to make an object takes longer than many rows.
    #[napi(catch_unwind)]
    pub fn fetch(&mut self, env: Env) -> Option<Beside> {
        self.watch(&env);
        self.backlog.extend(self.shared.bridge.drain());
        if self.is_closed() {
            let done = |token| Completion { token, result: Ok(Answer::Done) };
            self.backlog.extend(self.closing.drain(..).map(done));
        }
        let mut mailbox = self.shared.mailbox.borrow_mut();
        let mut names = self.shared.names.borrow_mut();
        let mut writer = Writer::new(&mut mailbox, &mut names);
        let mut failures = Vec::new();
        while let Some(completion) = self.backlog.pop_front_if(|next| writer.has_room(&next.result)) {
            failures.extend(writer.answer(completion.token, &completion.result));
        }
        let rows = writer.written();
        let held = writer.held();
        mailbox.put_fetched(rows, self.backlog.front().map_or(0, |next| answers::rows(&next.result)));
        let names = names.take_new();
        let is_empty = failures.is_empty() && held.is_empty() && names.is_empty();
        (!is_empty).then_some(Beside { failures, held, names })
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

    /// Closes the limiter for good. The answer comes when nothing of it is open.
    #[napi(catch_unwind)]
    pub fn close(&mut self, env: Env, token: f64) {
        self.shared.bridge.close();
        self.closing.push(token as u64);
        self.keep_alive(&env, true);
    }

    /// Whether the limiter is closed, and neither descriptors nor threads of it are left.
    fn is_closed(&self) -> bool {
        self.shared.bridge.is_socket_over() && !self.shared.has_handle.get()
    }

    /// Watches the socket that there is now.
    fn watch(&mut self, env: &Env) {
        let bridge = &self.shared.bridge;
        if bridge.is_socket_over() {
            self.poll = None;
            bridge.end_socket();
        }
        if self.watches
            && let Some(socket) = bridge.new_socket()
        {
            self.poll = Poll::new(env, socket, &self.shared, &self.wake);
            if self.poll.is_none() {
                bridge.end_socket();
            }
        }
    }

    fn first(&self, text: &Utf16String) -> Result<(u64, OwnedCall)> {
        self.read(text, 1)?.pop().ok_or_else(foreign)
    }

    /// The calls in the mailbox.
    fn read(&self, text: &Utf16String, count: u32) -> Result<Vec<(u64, OwnedCall)>> {
        let (mailbox, names) = (self.shared.mailbox.borrow(), self.shared.names.borrow());
        let mut reader = Reader::new(&mailbox, &names, text);
        let calls: Option<Vec<_>> = (0..count).map(|_| reader.call()).collect();
        calls.ok_or_else(foreign)
    }

    fn limiter(&self) -> Result<&AsyncRateLimiter> {
        let unopened = || Error::new(napi::Status::GenericFailure, "the limiter is not connected");
        self.shared.bridge.limiter().ok_or_else(unopened)
    }

    fn keep_alive(&mut self, env: &Env, busy: bool) {
        if self.busy != busy {
            self.wake.keep_alive(env, busy);
            self.busy = busy;
        }
    }
}
