//! The conversation on one connection, without I/O: bytes in, bytes out, time as a parameter.
//!
//! A session opens the conversation (protocol, login, database), packs requests in batches in which calls of one
//! kind share a script, matches replies to requests in their order, sends the text of scripts that the server does
//! not know, and ends requests whose time is up. It judges what each reply, or its absence, means for each request;
//! whoever drives it only moves bytes and waits.
//!
//! One rule governs it: what may have been executed is never sent again.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use ::redis::{Parser, Value};
use smallvec::SmallVec;

use super::address::Address;
use super::bundle::bundle;
use super::discovery::{is_replica, role};
use super::errors::{self, Failure, Fault};
use super::login::{Greeting, Opening};
use super::reply::{self, Judgement};
use super::request::{Hint, Outcome, Request};

/// How often the server is asked whether it is still a primary. The question travels with calls, in front of them.
const ROLE_INTERVAL: Duration = Duration::from_millis(500);

/// The most bytes of one reply. A script's replies have some hundred; that of `CLUSTER SLOTS` 100 for each node.
const LARGEST_REPLY: usize = 1 << 20;

/// The fewest batches under way at a time: the server works on one while the answers to another are read.
pub(super) const FEWEST_BATCHES: usize = 2;

/// Names a request; of the caller's choice.
pub(super) type Id = usize;

/// A request that waits for its answer.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) id: Id,
    pub(super) request: Request,
    /// Whether to announce a key that is being moved to this server.
    pub(super) asking: bool,
    /// When nobody waits for the answer any more.
    pub(super) by: Instant,
    /// Whether it has to be sent alone, since the server refused it in company.
    alone: bool,
    /// Whether its time was up before the answer came.
    ended: bool,
    /// Since when it waits to be sent on this connection.
    queued: Option<Instant>,
}

impl Pending {
    pub(super) fn new(id: Id, request: Request, asking: bool, by: Instant) -> Self {
        Self { id, request, asking, by, alone: false, ended: false, queued: None }
    }

    /// The call, if it may share a script.
    fn call(&self) -> Option<&crate::script::Call> {
        match &self.request {
            Request::Script(call) if !self.alone && !self.asking => Some(call),
            Request::Script(_) | Request::Command(..) => None,
        }
    }
}

type Bundle = SmallVec<[Pending; 1]>;

/// What the next replies are about.
struct Awaited {
    about: About,
    sent: Instant,
    /// Its first byte, counted from the beginning of the conversation.
    start: u64,
    /// Whether no more of its batch is awaited after it.
    ends_batch: bool,
}

impl Awaited {
    fn follows_asking(&self) -> bool {
        matches!(&self.about, About::Requests(bundle, _) if bundle.first().is_some_and(|pending| pending.asking))
    }
}

enum About {
    Greeting(Greeting),
    Role,
    Asking,
    /// Requests that one script carries out, and whether its text was sent.
    Requests(Bundle, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server has yet to answer the opening.
    Opening,
    Ready,
    /// Takes no more requests; those under way may still be answered.
    Retired,
    /// Nothing more comes of it.
    Over,
}

/// The conversation on one connection.
pub(super) struct Session {
    address: Address,
    response_timeout: Duration,
    parser: Parser,
    /// Bytes since the last whole reply.
    partial: usize,
    output: Vec<u8>,
    /// How many bytes were sent before those of `output`.
    written: u64,
    queue: Vec<Pending>,
    awaited: VecDeque<Awaited>,
    outcomes: VecDeque<(Id, Outcome)>,
    stage: Stage,
    /// Why it is over, or was never ready.
    fault: Option<Fault>,
    /// Whether keys of one script have to lie in one hash slot.
    minds_slots: bool,
    batches: usize,
    /// The most batches under way, beyond which requests wait and travel together.
    window: usize,
    role_asked: Instant,
    is_replica: bool,
    is_silent: bool,
    /// No request's time is up before.
    next_deadline: Option<Instant>,
}

impl Session {
    /// Begins a conversation with the server at `address`.
    pub(super) fn open(
        address: Address,
        opening: &Opening,
        response_timeout: Duration,
        minds_slots: bool,
        now: Instant,
    ) -> Self {
        let mut session = Self {
            address,
            response_timeout,
            parser: Parser::new(),
            partial: 0,
            output: Vec::new(),
            written: 0,
            queue: Vec::new(),
            awaited: VecDeque::new(),
            outcomes: VecDeque::new(),
            stage: Stage::Opening,
            fault: None,
            minds_slots,
            batches: 0,
            window: usize::MAX,
            role_asked: now,
            is_replica: false,
            is_silent: false,
            next_deadline: None,
        };
        for (greeting, cmd) in opening.commands() {
            session.pack(&cmd, About::Greeting(greeting), now);
        }
        session
    }

    /// Limits the batches under way: as many as the server answers within a round trip.
    pub(super) fn limit_batches(&mut self, window: usize) {
        self.window = window.max(FEWEST_BATCHES);
    }

    pub(super) fn is_opening(&self) -> bool {
        self.stage == Stage::Opening
    }

    /// Whether it takes requests.
    pub(super) fn is_ready(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// Whether nothing more comes of it, so that the connection can be closed.
    pub(super) fn is_over(&self) -> bool {
        match self.stage {
            Stage::Over => true,
            Stage::Retired => !self.has_pending(),
            Stage::Opening | Stage::Ready => false,
        }
    }

    /// Whether the server left a request unanswered for the whole response timeout.
    pub(super) fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// Whether every request has an outcome.
    pub(super) fn is_settled(&self) -> bool {
        self.queue.is_empty() && !self.has_pending()
    }

    /// Whether nothing is under way, so that a request sent now has the connection to itself.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty()
    }

    /// Why it is over.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    fn has_pending(&self) -> bool {
        self.awaited.iter().any(|awaited| match &awaited.about {
            About::Requests(bundle, _) => bundle.iter().any(|pending| !pending.ended),
            _ => false,
        })
    }

    /// Adds a request, to be packed by [`flush`](Self::flush).
    pub(super) fn submit(&mut self, pending: Pending, now: Instant) {
        let queued = pending.queued.unwrap_or(now);
        self.note_deadline(pending.by.min(queued + self.response_timeout));
        self.queue.push(Pending { queued: Some(queued), ..pending });
    }

    /// Takes back a request that was not sent yet. Answers whether there was one of this name; then those that were
    /// packed with it wait for [`flush`](Self::flush) again.
    pub(super) fn withdraw(&mut self, id: Id) -> bool {
        if self.has_unsent(|pending| pending.id == id) {
            self.unpack();
        }
        let before = self.queue.len();
        self.queue.retain(|pending| pending.id != id);
        before != self.queue.len()
    }

    /// Packs the requests that wait, unless enough is under way: then they go together with those to come.
    pub(super) fn flush(&mut self, now: Instant) {
        let held_back = self.queue.is_empty() || !self.output.is_empty() || self.batches >= self.window;
        if self.stage != Stage::Ready || held_back {
            return;
        }
        if now >= self.role_asked + ROLE_INTERVAL {
            self.role_asked = now;
            self.pack(&role(), About::Role, now);
        }
        for bundle in bundle(std::mem::take(&mut self.queue), Pending::call, self.minds_slots) {
            self.pack_bundle(bundle, false, now);
        }
        if let Some(last) = self.awaited.back_mut() {
            last.ends_batch = true;
            self.batches += 1;
        }
        self.note_deadline(now + self.response_timeout);
    }

    fn pack_bundle(&mut self, bundle: Bundle, whole: bool, now: Instant) {
        if bundle.first().is_some_and(|pending| pending.asking) {
            self.pack(&::redis::cmd("ASKING"), About::Asking, now);
        }
        let Some(first) = bundle.first() else { return };
        let cmd = match &first.request {
            Request::Command(cmd, _) => cmd.clone(),
            Request::Script(call) => {
                let keys: SmallVec<[&str; 4]> = bundle.iter().flat_map(keys).collect();
                let each = call.script.each.as_deref().filter(|_| bundle.len() > 1);
                let script = each.unwrap_or(call.script);
                if whole { script.eval(&keys, &call.args) } else { script.evalsha(&keys, &call.args) }
            }
        };
        self.pack(&cmd, About::Requests(bundle, whole), now);
    }

    fn pack(&mut self, cmd: &::redis::Cmd, about: About, now: Instant) {
        let start = self.written + self.output.len() as u64;
        cmd.write_packed_command(&mut self.output);
        self.awaited.push_back(Awaited { about, sent: now, start, ends_batch: false });
    }

    /// Whether there is such a request of which nothing was sent yet, although it is packed.
    fn has_unsent(&self, is_such: impl Fn(&Pending) -> bool) -> bool {
        let mut unsent = self.awaited.iter().rev().take_while(|awaited| awaited.start >= self.written);
        unsent.any(|awaited| match &awaited.about {
            About::Requests(bundle, _) => bundle.iter().any(&is_such),
            _ => false,
        })
    }

    /// Puts requests back into the queue of which nothing was sent yet.
    fn unpack(&mut self) {
        if self.output.is_empty() {
            return;
        }
        let is_kept = |awaited: &Awaited| {
            awaited.start < self.written || !matches!(awaited.about, About::Asking | About::Requests(..))
        };
        let mut first = self.awaited.iter().rposition(is_kept).map_or(0, |last| last + 1);
        // ASKING is about the next command, whatever that is.
        if self.awaited.get(first).is_some_and(Awaited::follows_asking) {
            first += 1;
        }
        let Some(start) = self.awaited.get(first).map(|awaited| awaited.start) else { return };
        self.output.truncate(usize::try_from(start - self.written).unwrap_or(usize::MAX));
        let unpacked = self.awaited.split_off(first);
        self.batches -= unpacked.iter().filter(|awaited| awaited.ends_batch).count();
        let requests = unpacked.into_iter().flat_map(|awaited| match awaited.about {
            About::Requests(bundle, _) => bundle,
            _ => Bundle::new(),
        });
        self.queue.splice(..0, requests.filter(|pending| !pending.ended));
    }

    /// The bytes to send.
    pub(super) fn output(&self) -> &[u8] {
        &self.output
    }

    /// Takes note that so many of them were sent.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.written += bytes as u64;
        if bytes == self.output.len() {
            self.output.clear();
        } else {
            self.output.drain(..bytes);
        }
    }

    /// Takes bytes that came.
    pub(super) fn receive(&mut self, bytes: &[u8], now: Instant) {
        self.partial += bytes.len();
        let mut unread = Unread(bytes);
        while self.stage != Stage::Over {
            match self.parser.parse_value(&mut unread) {
                // A message of protocol 3 that answers no request.
                Ok(Value::Push { .. }) => self.partial = 0,
                // Attributes of a reply mean nothing here.
                Ok(Value::Attribute { data, .. }) => self.answered(*data, now),
                Ok(value) => self.answered(value, now),
                Err(err) if err.is_timeout() => break,
                Err(_) => self.end(Fault::Protocol("the server sent what is not the Redis protocol")),
            }
        }
        if self.partial > LARGEST_REPLY {
            self.end(Fault::Protocol("the server sent a reply of more than 1 MB"));
        }
    }

    fn answered(&mut self, value: Value, now: Instant) {
        self.partial = 0;
        let Some(awaited) = self.awaited.pop_front() else {
            return self.end(Fault::Protocol("the server answered what was not asked"));
        };
        self.batches -= usize::from(awaited.ends_batch);
        match awaited.about {
            About::Greeting(greeting) => self.greeted(greeting, value),
            About::Role => self.is_replica |= is_replica(&value),
            // If that was refused, so is what follows.
            About::Asking => {}
            About::Requests(bundle, whole) => self.settle(bundle, whole, value, now),
        }
    }

    fn greeted(&mut self, greeting: Greeting, value: Value) {
        match value.extract_error() {
            Err(err) => self.end(Fault::Refused(greeting, err)),
            Ok(_) if greeting == Greeting::Ping => self.stage = Stage::Ready,
            Ok(_) => {}
        }
    }

    /// What a reply says about each request of a bundle.
    fn settle(&mut self, bundle: Bundle, whole: bool, value: Value, now: Instant) {
        let company = bundle.len() > 1;
        match reply::judge(value, &self.address) {
            Judgement::UnknownScript(_) if !whole && self.stage != Stage::Ready => self.elsewhere(bundle),
            Judgement::UnknownScript(_) if !whole => {
                let wanted: Bundle = bundle.into_iter().filter(|pending| !pending.ended).collect();
                self.note_deadline(now + self.response_timeout);
                self.pack_bundle(wanted, true, now);
            }
            Judgement::AcrossSlots(_) if company => {
                self.minds_slots = true;
                self.requeue(bundle);
            }
            // Each key by itself is either here or there.
            Judgement::Forbidden(_) | Judgement::TryAgain if company => self.requeue(bundle),
            Judgement::Moved(to) => self.again(bundle, || Hint::Moved(to.clone())),
            Judgement::Ask(to) => self.again(bundle, || Hint::Ask(to.clone())),
            Judgement::TryAgain => self.again(bundle, || Hint::TryAgain),
            Judgement::NotPrimary(err) => {
                self.is_replica = true;
                self.demoted(bundle, &errors::answered(&err, &self.address));
            }
            // Its state may be old. It may also have been promoted meanwhile, and have executed the script.
            Judgement::Answered(_) if self.is_replica => {
                let failure = errors::not_primary(&self.address);
                self.fail(bundle, &failure);
                self.retire(&failure);
            }
            Judgement::Answered(value) => self.share(bundle, value),
            Judgement::UnknownScript(err)
            | Judgement::AcrossSlots(err)
            | Judgement::Forbidden(err)
            | Judgement::Refused(err) => {
                let failure = errors::answered(&err, &self.address);
                self.fail(bundle, &failure);
            }
        }
    }

    /// Hands each request of a bundle its part of the reply.
    fn share(&mut self, bundle: Bundle, value: Value) {
        let size = bundle.len();
        let values = match value {
            Value::Array(values) if size > 1 && values.len() == size => values,
            // Nonsense for many is nonsense for each: whoever reads it says so.
            _ if size > 1 => vec![Value::Nil; size],
            value => vec![value],
        };
        for (pending, value) in bundle.into_iter().zip(values) {
            let result = value.extract_error().map_err(|err| errors::answered(&err, &self.address));
            self.done(pending, result);
        }
    }

    /// Sends requests one by one that the server refused together.
    fn requeue(&mut self, bundle: Bundle) {
        if self.stage != Stage::Ready {
            return self.elsewhere(bundle);
        }
        let alone = |pending| Pending { alone: true, ..pending };
        self.queue.splice(..0, bundle.into_iter().filter(|pending| !pending.ended).map(alone));
    }

    /// Gives back requests that were refused when no more can be sent.
    fn elsewhere(&mut self, bundle: Bundle) {
        let failure = errors::unsent(&self.address);
        self.give_back(bundle, &failure);
    }

    fn demoted(&mut self, bundle: Bundle, failure: &Failure) {
        self.again(bundle, || Hint::NotPrimary(failure.clone()));
        self.retire(failure);
    }

    fn again(&mut self, bundle: Bundle, hint: impl Fn() -> Hint) {
        for pending in bundle.into_iter().filter(|pending| !pending.ended) {
            self.outcomes.push_back((pending.id, Outcome::Again(pending.request, hint())));
        }
    }

    /// Requests that were not sent. Behind a server that was silent, none waits for longer than on its own.
    fn give_back(&mut self, bundle: Bundle, failure: &Failure) {
        for pending in bundle.into_iter().filter(|pending| !pending.ended) {
            let attempt =
                pending.queued.filter(|_| self.is_silent).map(|queued| queued + self.response_timeout);
            let by = attempt.unwrap_or(pending.by).min(pending.by);
            let hint = Hint::Unsent(failure.clone(), by);
            self.outcomes.push_back((pending.id, Outcome::Again(pending.request, hint)));
        }
    }

    fn fail(&mut self, bundle: Bundle, failure: &Failure) {
        for pending in bundle {
            self.done(pending, Err(failure.clone()));
        }
    }

    fn done(&mut self, pending: Pending, result: Result<Value, Failure>) {
        if !pending.ended {
            self.outcomes.push_back((pending.id, Outcome::Done(result)));
        }
    }

    /// What came of requests, in the order in which it was known.
    pub(super) fn next_outcome(&mut self) -> Option<(Id, Outcome)> {
        self.outcomes.pop_front()
    }

    /// Takes no more requests. Those that were not sent yet may go elsewhere.
    pub(super) fn retire(&mut self, failure: &Failure) {
        if self.stage == Stage::Ready {
            self.stage = Stage::Retired;
        }
        self.unpack();
        let unsent: Bundle = self.queue.drain(..).collect();
        self.give_back(unsent, failure);
    }

    /// The connection ended, or has to: it is not known what became of requests that were sent.
    pub(super) fn end(&mut self, fault: Fault) {
        if self.stage == Stage::Over {
            return;
        }
        let failure = errors::broken(&fault, &self.address, self.response_timeout);
        self.retire(&failure);
        self.stage = Stage::Over;
        self.fault = Some(fault);
        for awaited in std::mem::take(&mut self.awaited) {
            if let About::Requests(bundle, _) = awaited.about {
                self.fail(bundle, &failure);
            }
        }
    }

    /// When to call [`expire`](Self::expire), at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.next_deadline
    }

    /// Ends requests whose time is up. A server that left one unanswered for the whole response timeout gets no
    /// more requests on this connection.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.next_deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.next_deadline = None;
        if self.has_unsent(|pending| pending.by <= now) {
            self.unpack();
        }
        self.expire_unsent(now);
        let limit = self.response_timeout;
        let mut next: Option<Instant> = None;
        let mut is_silent = false;
        for awaited in &mut self.awaited {
            let attempt = awaited.sent + limit;
            is_silent |= attempt <= now;
            let About::Requests(bundle, _) = &mut awaited.about else {
                next = next.into_iter().chain([attempt]).filter(|at| *at > now).min();
                continue;
            };
            for pending in bundle.iter_mut().filter(|pending| !pending.ended) {
                let by = pending.by.min(attempt);
                if by > now {
                    next = next.into_iter().chain([by]).min();
                    continue;
                }
                pending.ended = true;
                let unanswered = attempt <= now;
                let failure = Failure {
                    unanswered,
                    ..errors::broken(&Fault::Silent, &self.address, by - awaited.sent)
                };
                self.outcomes.push_back((pending.id, Outcome::Done(Err(failure))));
            }
        }
        if let Some(next) = next {
            self.note_deadline(next);
        }
        self.is_silent |= is_silent;
        if is_silent && self.stage == Stage::Opening {
            self.end(Fault::Silent);
        } else if is_silent {
            self.retire(&errors::unsent(&self.address));
            // The rest of a request of which some was sent; nothing can follow it.
            self.output.clear();
        } else {
            self.flush(now);
        }
    }

    fn expire_unsent(&mut self, now: Instant) {
        for pending in std::mem::take(&mut self.queue) {
            // Behind a server that is silent, no call waits for longer than on its own.
            let attempt = pending.queued.unwrap_or(now) + self.response_timeout;
            if pending.by.min(attempt) <= now {
                let failure = errors::unsent(&self.address);
                self.outcomes.push_back((pending.id, Outcome::Done(Err(failure))));
            } else {
                self.submit(pending, now);
            }
        }
    }

    fn note_deadline(&mut self, deadline: Instant) {
        self.next_deadline = Some(self.next_deadline.map_or(deadline, |next| next.min(deadline)));
    }
}

fn keys(pending: &Pending) -> impl Iterator<Item = &str> {
    let keys = match &pending.request {
        Request::Script(call) => call.keys.as_slice(),
        Request::Command(..) => &[],
    };
    keys.iter().map(String::as_str)
}

/// Bytes of which no more have come yet: at their end the parser is to keep what it has, and wait.
struct Unread<'a>(&'a [u8]);

impl Read for Unread<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer) {
            Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
            read => read,
        }
    }
}
