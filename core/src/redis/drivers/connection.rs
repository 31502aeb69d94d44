//! A connection that a thread drives: it moves bytes until what it waits for has come.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::{Cmd, Value};
use rustix::event::PollFlags;

use crate::net::address::Address;
use crate::redis::connecting::connector::Connector;
use crate::redis::connecting::deadline::Deadline;
use crate::redis::connecting::pacing::Attempt;
use crate::redis::connecting::stream::{Resend, Stream};
use crate::redis::errors::{self, CallError, ConnectionError};
use crate::redis::settings::login::Role;
use crate::redis::wire::channel::{Channel, ReadProgress};
use crate::redis::wire::command::{CommandOutcome, RedisCommand};
use crate::redis::wire::session::{FEWEST_BATCHES, Id, PendingCommand, Session};

/// A connection to a server that has answered on it.
pub(in crate::redis) type Connection = Channel<Stream>;

impl Connection {
    /// Opens a connection for calls on a thread that no caller waits for, and hands it to `then`. `Resend::Often` is for
    /// a server that has not answered for a while, to which packets may be lost.
    pub(super) fn open_in_background(
        connector: &Arc<Connector>,
        address: Address,
        resend: Resend,
        then: impl FnOnce(Result<Self, CallError>) + Clone + Send + 'static,
    ) {
        let kept = Arc::clone(connector);
        let open = move |cancelled: &dyn Fn() -> bool| {
            let deadline = Deadline { by: Instant::now() + kept.timeout(), cancelled: Some(cancelled) };
            Self::open(&kept, &address, Role::Data, deadline, resend)
        };
        connector.background.run(open, then);
    }

    /// Connects, logs in, and waits until the server answers. The time to connect begins when no other attempt is
    /// awaited.
    pub(in crate::redis) fn open(
        connector: &Connector,
        address: &Address,
        role: Role,
        deadline: Deadline<'_>,
        resend: Resend,
    ) -> Result<Self, CallError> {
        let attempt = Attempt::begin(connector, address, role, resend == Resend::Often, deadline)?;
        let start = Instant::now();
        let limit = Deadline { by: deadline.by.min(start + connector.options.connect_timeout), ..deadline };
        let opened = Self::try_open(connector, address, role, limit, resend);
        let opened = opened.map_err(|fault| errors::opening(&fault, address, role, start.elapsed()));
        match &opened {
            Ok(_) => attempt.succeeded(),
            // The caller's time is up, or the limiter is closed: that says little about the server.
            Err(_) if deadline.next().is_err() => {}
            Err(failure) => attempt.failed(failure.clone()),
        }
        opened
    }

    fn try_open(
        connector: &Connector,
        address: &Address,
        role: Role,
        deadline: Deadline<'_>,
        resend: Resend,
    ) -> Result<Self, ConnectionError> {
        let connector = connector.signed_in(role, deadline)?;
        let stream = Stream::connect(address, |ip| connector.allows(address, ip), deadline, resend)?;
        let tls = connector.tls(address)?;
        let session = Session::open(&connector, address, role, Instant::now());
        let mut connection = Self::new(stream, tls, session);
        let response_timeout = connector.options.response_timeout;
        let (mut heard, mut received) = (Instant::now(), 0);
        let mut progress = connection.advance(heard);
        while connection.session.is_opening() {
            // A server that takes connections and says nothing is as silent as one that leaves a call unanswered.
            let by = deadline.by.min(heard + response_timeout);
            connection.wait(progress, Deadline { by, ..deadline })?;
            let now = Instant::now();
            progress = connection.advance(now);
            if connection.received() > received {
                (heard, received) = (now, connection.received());
            }
        }
        match connection.session.fault() {
            Some(fault) => Err(fault.clone()),
            None => Ok(connection),
        }
    }

    /// Waits for the server, unless there is more to read: that may not be in the socket any more, but decrypted.
    fn wait(&self, progress: ReadProgress, deadline: Deadline<'_>) -> io::Result<()> {
        if progress == ReadProgress::More {
            return deadline.next().map(drop);
        }
        let either = PollFlags::IN | PollFlags::OUT;
        let ready = if self.wants_write() { either } else { PollFlags::IN };
        self.stream().wait(ready, deadline)
    }

    /// Moves bytes until every request has an outcome.
    pub(in crate::redis) fn complete(&mut self, cancelled: Option<&dyn Fn() -> bool>) {
        self.send(Instant::now());
        let mut progress = ReadProgress::Done;
        while !self.is_done() {
            // For the server, or for the time at which a request ends without it.
            let by = self.session.deadline();
            let waited = by.map_or(Ok(()), |by| self.wait(progress, Deadline { by, cancelled }));
            if let Err(err) = waited
                && err.kind() != io::ErrorKind::TimedOut
            {
                self.session.end(err.into());
            }
            let now = Instant::now();
            progress = self.advance(now);
            self.session.expire(now);
        }
    }

    fn is_done(&self) -> bool {
        self.session.is_settled() || self.session.is_over()
    }

    /// Limits the batches under way to as many as the server answers within a round trip, unless they have fewer than `busy`
    /// calls.
    pub(super) fn limited(mut self, busy: usize) -> Self {
        self.session.limit_batches(batches(self.stream().round_trip()), busy);
        self
    }

    /// Carries out a request that is alone on the connection.
    #[inline]
    pub(in crate::redis) fn request(
        &mut self,
        pending: PendingCommand,
        now: Instant,
        cancelled: Option<&dyn Fn() -> bool>,
    ) -> CommandOutcome {
        self.session.submit(pending, now);
        self.complete(cancelled);
        let outcome = self.session.next_outcome();
        outcome.map_or_else(|| CommandOutcome::Done(Err(errors::no_answer())), |(_, outcome)| outcome)
    }

    /// The answer to a command that is alone on the connection.
    pub(in crate::redis) fn query(&mut self, cmd: Cmd, deadline: Deadline<'_>) -> Result<Value, CallError> {
        let pending = PendingCommand::new(ONLY, RedisCommand::Plain(cmd, 0), false, deadline.by);
        match self.request(pending, Instant::now(), deadline.cancelled) {
            CommandOutcome::Done(result) => result,
            CommandOutcome::NotExecuted(_) => Err(errors::no_answer()),
        }
    }
}

/// The name of a request that is alone.
pub(in crate::redis) const ONLY: Id = 0;

/// About the time that a server takes for a call that comes alone.
const SERVICE_TIME: Duration = Duration::from_micros(12);

/// So many calls keep a server at work for about as long as a thread that sleeps takes to be woken.
pub(in crate::redis) const BUSY: usize = 24;

/// The most batches under way at a time.
const MOST_BATCHES: usize = 16;

/// As many batches as a server answers within a round trip need not wait for each other.
fn batches(round_trip: Option<Duration>) -> usize {
    let answered = |time: Duration| usize::try_from(time.as_nanos() / SERVICE_TIME.as_nanos());
    let answered = round_trip.and_then(|time| answered(time).ok());
    answered.unwrap_or(MOST_BATCHES).clamp(FEWEST_BATCHES, MOST_BATCHES)
}
