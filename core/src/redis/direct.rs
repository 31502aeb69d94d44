//! A connection that a foreign event loop serves itself: nothing here waits, and nothing here is a task.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{RedisError, RedisResult, Value};

use super::address::Address;
use super::asynchronous::AsyncRedis;
use super::connector::{Connector, Role};
use super::errors;
use super::link::Link;
use super::reply::{self, Reply};
use super::router::{Node, Router};
use super::socket::Socket;
use super::spin::{LONGEST, Spin};
use crate::error::{Error, Result};
use crate::script::Call;

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

    /// Adds a call to what [`send`](Self::send) sends.
    pub(crate) fn add(&mut self, call: &Call<'_>) {
        call.evalsha().write_packed_command(&mut self.unsent);
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

    /// The answer to the call that was sent first of all that are under way, if it has come.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn answer(&mut self) -> Result<Option<Reaction>> {
        let answer = self.socket.try_answer();
        self.sort(answer)
    }

    /// The answer to the only call under way, if it comes while it pays to wait for it awake. After a while
    /// in which the loop did other things it does not: such a loop seldom sleeps.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub(crate) fn answer_soon(&mut self, sent: Instant) -> Result<Option<Reaction>> {
        if sent.elapsed() > LONGEST {
            return Ok(None);
        }
        let answer = self.spin.poll(|| self.socket.try_answer());
        self.sort(answer)
    }

    fn sort(&self, answer: RedisResult<Option<Value>>) -> Result<Option<Reaction>> {
        let Some(answer) = answer.map_err(|err| self.failed(&err))?.map(Ok) else { return Ok(None) };
        if reply::is_unknown_script(&answer) {
            return Ok(Some(Reaction::Nothing));
        }
        Ok(Some(match reply::sort(answer, &self.address) {
            Ok(Reply::Done(value)) => Reaction::Done(Ok(value)),
            Ok(Reply::Moved(_) | Reply::Ask(_) | Reply::TryAgain) => Reaction::Nothing,
            Err(err) => Reaction::Done(Err(self.failed(&err))),
        }))
    }

    /// What a call ends with whose time is up.
    pub(crate) fn overdue(&self) -> Error {
        self.failed(&io::Error::from(io::ErrorKind::TimedOut).into())
    }

    fn failed(&self, err: &RedisError) -> Error {
        errors::calling(err, &self.address, self.limit).error
    }
}

impl AsRawFd for Direct {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}
