//! A connection that a foreign event loop serves itself: nothing here waits, and nothing here is a task.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{RedisError, RedisResult, Value};

use super::address::Address;
use super::asynchronous::AsyncRedis;
use super::bundle::{Outcome, bundle, settle};
use super::connector::{Connector, Role};
use super::errors::{self, Failure};
use super::link::Link;
use super::reply;
use super::router::{Node, Router};
use super::socket::Socket;
use super::spin::{LONGEST, Spin};
use crate::error::{Error, Result};
use crate::script::Call;

/// The longest time that a loop is held up by a server that talks without end. Real answers take microseconds.
const TURN: Duration = Duration::from_millis(5);

/// What it takes to open one.
pub(crate) struct Opener {
    connector: Arc<Connector>,
    address: Address,
}

impl AsyncRedis {
    /// How to open a connection to the server beside its own, if there is only one server, not behind TLS.
    pub(crate) fn opener(&self) -> Option<Opener> {
        let of =
            |link: &Link| Opener { connector: Arc::clone(link.connector()), address: link.address().clone() };
        match &self.router {
            Router::Fixed(link) if link.connector().is_plain(link.address()) => Some(of(link)),
            Router::Fixed(_) | Router::Learnt(_) => None,
        }
    }

    /// The next call opens a new connection: one to the same server was lost, and others may be too.
    pub(crate) fn renew(&self) {
        if let Router::Fixed(link) = &self.router {
            link.close();
        }
    }
}

impl Opener {
    /// Connects, and waits until the server answers. Why it does not, calls that go another way will tell.
    pub(crate) fn open(self) -> Option<Direct> {
        let socket = self.answering().ok()?;
        Some(Direct {
            socket,
            unsent: Vec::new(),
            awaited: VecDeque::new(),
            minds_slots: false,
            spin: Spin::default(),
            address: self.address,
            limit: self.connector.response_timeout,
        })
    }

    fn answering(&self) -> RedisResult<Socket> {
        let by = Instant::now() + self.connector.connect_timeout;
        let mut socket = Socket::open(&self.address, self.connector.session(Role::Data), by)?;
        socket.send(&::redis::cmd("PING").get_packed_command(), by)?;
        socket.answer(by)?.extract_error()?;
        Ok(socket)
    }
}

/// A connection whose server has answered on it.
pub(crate) struct Direct {
    socket: Socket,
    /// What the kernel has not taken yet.
    unsent: Vec<u8>,
    /// How many calls each of the answers to come is about.
    awaited: VecDeque<usize>,
    /// Set when the server turned out to mind hash slots.
    minds_slots: bool,
    spin: Spin,
    address: Address,
    limit: Duration,
}

/// What the server did about a call.
pub(crate) enum Reaction {
    /// It carried the call out, or refused it.
    Done(Result<Value>),
    /// Nothing: it does not know the script, or points to another server.
    Nothing,
}

impl Direct {
    /// The longest time to wait for an answer.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// Adds calls to what [`send`](Self::send) sends. Says in which order they will be answered, by their
    /// places.
    pub(crate) fn add(&mut self, calls: &[Call<'_>]) -> Vec<usize> {
        let mut order = Vec::with_capacity(calls.len());
        for bundle in bundle(calls.iter().enumerate(), self.minds_slots) {
            bundle.call().evalsha().write_packed_command(&mut self.unsent);
            self.awaited.push_back(bundle.places.len());
            order.extend(bundle.places);
        }
        order
    }

    /// Sends what the kernel takes. What it does not take now it will take when answers have come: as long as
    /// it is full, the server has calls to answer.
    ///
    /// # Errors
    /// The connection broke: nothing more will come of calls under way.
    pub(crate) fn send(&mut self) -> Result<()> {
        while !self.unsent.is_empty() {
            match self.socket.try_send(&self.unsent) {
                Ok(0) => break,
                Ok(sent) => drop(self.unsent.drain(..sent)),
                Err(err) => return Err(self.failed(&err.into())),
            }
        }
        Ok(())
    }

    /// What came of those calls under way that are answered next, in order; none, if no answer has come.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn answers(&mut self) -> Result<Option<Vec<Reaction>>> {
        let answer = self.socket.try_answer(Instant::now() + TURN);
        self.sort(answer)
    }

    /// What came of the only call under way, if it comes while it pays to wait for it awake. After a while
    /// in which the loop did other things it does not: such a loop seldom sleeps.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn answers_soon(&mut self, sent: Instant) -> Result<Option<Vec<Reaction>>> {
        if sent.elapsed() > LONGEST {
            return Ok(None);
        }
        let by = Instant::now() + TURN;
        let answer = self.spin.poll(|| self.socket.try_answer(by));
        self.sort(answer)
    }

    fn sort(&mut self, answer: RedisResult<Option<Value>>) -> Result<Option<Vec<Reaction>>> {
        let Some(answer) = answer.map_err(|err| self.failed(&err))?.map(Ok) else { return Ok(None) };
        let Some(size) = self.awaited.pop_front() else { return Err(self.failed(&unasked())) };
        let nothing = || std::iter::repeat_with(|| Reaction::Nothing).take(size).collect();
        if reply::is_unknown_script(&answer) {
            return Ok(Some(nothing()));
        }
        if reply::is_across_slots(&answer) {
            self.minds_slots = true;
            return Ok(Some(nothing()));
        }
        if size > 1 && reply::is_forbidden(&answer) {
            return Ok(Some(nothing()));
        }
        let reply = reply::sort(answer, &self.address).map_err(|err| self.explain(&err));
        let outcomes = settle(reply, size, |err| self.explain(err));
        let reaction = |outcome: Outcome| match outcome {
            Some(result) => Reaction::Done(result.map_err(|failure| failure.error)),
            None => Reaction::Nothing,
        };
        Ok(Some(outcomes.into_iter().map(reaction).collect()))
    }

    /// What a call ends with whose time is up.
    pub(crate) fn overdue(&self) -> Error {
        self.failed(&io::Error::from(io::ErrorKind::TimedOut).into())
    }

    fn failed(&self, err: &RedisError) -> Error {
        self.explain(err).error
    }

    fn explain(&self, err: &RedisError) -> Failure {
        errors::calling(err, &self.address, self.limit)
    }
}

/// An answer too many: from here on nobody knows which call an answer is about.
fn unasked() -> RedisError {
    io::Error::new(io::ErrorKind::InvalidData, "the server answered what was not asked").into()
}

impl AsRawFd for Direct {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
