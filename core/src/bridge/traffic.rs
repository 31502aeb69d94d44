//! The calls that are under way on a direct connection, and what becomes of them.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use redis::Value;

use super::{Answer, Ask, Completion, Item, Kind};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::limiter::AsyncRateLimiter;
use crate::redis::{Direct as Connection, Reaction};
use crate::transaction::Request;

/// A direct connection in use.
pub(super) struct Traffic {
    connection: Connection,
    state: State,
    /// In the order in which they were sent, which is that of their answers.
    under_way: VecDeque<Batch>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Takes no more calls; those under way can still be answered.
    Retired,
    /// Of no use; open only because the loop watches it.
    Over,
}

/// Calls that were sent together.
struct Batch {
    catalog: Arc<Catalog>,
    calls: IntoIter<Single>,
    sent: Instant,
    /// Whether the calls have ended by their time: nobody waits for the answers.
    ended: bool,
}

/// A call about a single item.
struct Single {
    token: u64,
    kind: Kind,
    item: Item,
}

/// What has come of calls.
#[derive(Default)]
pub(super) struct News {
    pub(super) done: Vec<Completion>,
    /// Calls that were not carried out, and have to go another way.
    pub(super) rest: Vec<(u64, Ask)>,
    /// Whether the connection has become of no use, so that it should not be watched any more.
    pub(super) is_over: bool,
}

impl Traffic {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection, state: State::Good, under_way: VecDeque::new() }
    }

    pub(super) fn takes_calls(&self) -> bool {
        self.state == State::Good
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Sends calls about single items together; others have to go another way.
    pub(super) fn send(&mut self, limiter: &AsyncRateLimiter, asks: Vec<(u64, Ask)>, news: &mut News) {
        let catalog = limiter.catalog();
        let (mut calls, mut requests) = (Vec::with_capacity(asks.len()), Vec::with_capacity(asks.len()));
        for (token, ask) in asks {
            let Ask::Single(kind, item) = ask else {
                news.rest.push((token, ask));
                continue;
            };
            match limiter.request(&catalog, kind.into(), &item.check()) {
                Ok(request) => {
                    requests.push(request);
                    calls.push(Some(Single { token, kind, item }));
                }
                Err(error) => news.done.push(Completion { token, result: Err(error) }),
            }
        }
        if calls.is_empty() {
            return;
        }
        let order = self.connection.add(&requests.iter().map(Request::call).collect::<Vec<_>>());
        let calls: Vec<_> = order.into_iter().filter_map(|place| calls[place].take()).collect();
        let calls = calls.into_iter();
        self.under_way.push_back(Batch { catalog, calls, sent: Instant::now(), ended: false });
        let sent = self.connection.send();
        self.conclude(sent, news);
    }

    /// Takes up the answers that have come.
    pub(super) fn read(&mut self, limiter: &AsyncRateLimiter, news: &mut News) {
        if !self.is_over() {
            let read = self.answers(limiter, news).and_then(|()| self.connection.send());
            self.conclude(read, news);
        }
    }

    /// Waits a moment for the answer to a call that is alone under way, if that pays.
    pub(super) fn wait_awake(&mut self, limiter: &AsyncRateLimiter, news: &mut News) {
        if let Some(sent) = self.alone() {
            let answers = self.connection.answers_soon(sent);
            let taken = answers.map(|reactions| self.take(reactions.unwrap_or_default(), limiter, news));
            self.conclude(taken, news);
        }
    }

    /// Ends the calls whose time is up; answers how long the next one has.
    pub(super) fn expire(&mut self, limiter: &AsyncRateLimiter, news: &mut News) -> Option<Duration> {
        // Should the loop have been late itself, the answers are there.
        self.read(limiter, news);
        let limit = self.connection.limit();
        for batch in self.under_way.iter_mut().filter(|batch| !batch.ended) {
            let left = limit.saturating_sub(batch.sent.elapsed());
            if !left.is_zero() {
                return Some(left);
            }
            batch.ended = true;
            self.state = State::Retired;
            news.end(batch, &self.connection.overdue());
        }
        self.conclude(Ok(()), news);
        None
    }

    /// Takes no more calls.
    pub(super) fn retire(&mut self, news: &mut News) {
        if self.takes_calls() {
            self.state = State::Retired;
            self.conclude(Ok(()), news);
        }
    }

    /// When the call was sent that is alone under way.
    fn alone(&self) -> Option<Instant> {
        let batch = self.under_way.front()?;
        (self.under_way.len() == 1 && batch.calls.len() == 1).then_some(batch.sent)
    }

    fn answers(&mut self, limiter: &AsyncRateLimiter, news: &mut News) -> Result<()> {
        while let Some(reactions) = self.connection.answers()? {
            self.take(reactions, limiter, news);
        }
        Ok(())
    }

    /// Finds the calls that were answered.
    fn take(&mut self, reactions: Vec<Reaction>, limiter: &AsyncRateLimiter, news: &mut News) {
        let Some(batch) = self.under_way.front_mut() else { return };
        for (reaction, call) in reactions.into_iter().zip(batch.calls.by_ref()) {
            match reaction {
                _ if batch.ended => (),
                Reaction::Done(reply) => news.done.push(call.completion(limiter, &batch.catalog, reply)),
                Reaction::Nothing => news.rest.push((call.token, Ask::Single(call.kind, call.item))),
            }
        }
        if batch.calls.as_slice().is_empty() {
            self.under_way.pop_front();
        }
    }

    /// After a break all calls end. A connection that takes no more calls is over when none are under way.
    fn conclude(&mut self, result: Result<()>, news: &mut News) {
        if let Err(error) = result {
            for batch in self.under_way.drain(..).filter(|batch| !batch.ended) {
                news.end(&batch, &error);
            }
            self.state = State::Retired;
        }
        if self.state == State::Retired && self.under_way.iter().all(|batch| batch.ended) {
            self.state = State::Over;
            news.is_over = true;
        }
    }
}

impl AsRawFd for Traffic {
    fn as_raw_fd(&self) -> RawFd {
        self.connection.as_raw_fd()
    }
}

impl Single {
    fn completion(&self, limiter: &AsyncRateLimiter, catalog: &Catalog, reply: Result<Value>) -> Completion {
        let decision = limiter.decision(catalog, self.kind.into(), &self.item.check(), reply);
        Completion { token: self.token, result: decision.map(Answer::Decision) }
    }
}

impl News {
    /// Ends calls by an error.
    fn end(&mut self, batch: &Batch, error: &Error) {
        let ended = |call: &Single| Completion { token: call.token, result: Err(error.clone()) };
        self.done.extend(batch.calls.as_slice().iter().map(ended));
    }
}
