//! A session on a stream that does not block: moves the bytes between them, through TLS where that is asked for.

use std::io::{self, Read, Write};
use std::time::Instant;

use super::session::Session;
use crate::redis::settings::tls::Layer;

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// The most bytes that are read at once: a server that talks without end must not hold up everything else.
const MOST_AT_ONCE: usize = 4 * CHUNK;

/// A session, and a stream of which reading and writing answer `WouldBlock` instead of waiting.
pub(in crate::redis) struct Channel<S> {
    pub(in crate::redis) session: Session,
    stream: S,
    tls: Option<Layer>,
    buffer: Box<[u8]>,
    /// How many bytes have come.
    received: u64,
}

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum ReadProgress {
    /// All that has come is read.
    Done,
    /// More may be read at once.
    More,
}

impl<S: Read + Write> Channel<S> {
    pub(in crate::redis) fn new(stream: S, tls: Option<Layer>, session: Session) -> Self {
        Self { session, stream, tls, buffer: vec![0; CHUNK].into_boxed_slice(), received: 0 }
    }

    /// How many bytes have come, before they are decrypted.
    pub(in crate::redis) fn received(&self) -> u64 {
        self.received
    }

    pub(in crate::redis) fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends what the session has to say, and takes up what has come for it. A failure ends the session.
    pub(in crate::redis) fn advance(&mut self, now: Instant) -> ReadProgress {
        self.exchange(now).unwrap_or_else(|err| {
            self.session.end(err.into());
            ReadProgress::Done
        })
    }

    fn exchange(&mut self, now: Instant) -> io::Result<ReadProgress> {
        let sent = self.try_send(now);
        // What was read before the connection broke counts.
        let progress = self.receive(now);
        sent?;
        // Replies may have made room for the next batch, or asked for something to be sent again.
        self.try_send(now)?;
        progress
    }

    /// Sends as much as the stream takes now. A failure ends the session.
    pub(in crate::redis) fn send(&mut self, now: Instant) {
        if let Err(err) = self.try_send(now) {
            let _ = self.receive(now);
            self.session.end(err.into());
        }
    }

    fn try_send(&mut self, now: Instant) -> io::Result<()> {
        self.session.flush(now);
        match self.write() {
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        let Self { session, stream, tls, .. } = self;
        let Some(tls) = tls else {
            while !session.output().is_empty() {
                match stream.write(session.output())? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    sent => session.sent(sent),
                }
            }
            return Ok(());
        };
        loop {
            let taken = tls.write(session.output())?;
            session.sent(taken);
            tls.send(stream)?;
            if session.output().is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether to wait until the stream takes more.
    pub(in crate::redis) fn wants_write(&self) -> bool {
        !self.session.output().is_empty() || self.tls.as_ref().is_some_and(Layer::wants_write)
    }

    /// Takes up what has come.
    fn receive(&mut self, now: Instant) -> io::Result<ReadProgress> {
        let Self { session, stream, tls, buffer, received } = self;
        let mut stream = Draining { stream, is_empty: false, received };
        let mut total = 0;
        while !session.is_over() && total < MOST_AT_ONCE {
            let read = match tls {
                Some(tls) => tls.receive(&mut stream, buffer),
                None => stream.read(buffer),
            };
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    session.receive(&buffer[..read], now);
                    total += read;
                }
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => return Ok(ReadProgress::Done),
                Err(err) => return Err(err),
            }
        }
        Ok(if session.is_over() { ReadProgress::Done } else { ReadProgress::More })
    }
}

/// A stream that is not asked again once it is empty, which a short read shows.
struct Draining<'a, S> {
    stream: &'a mut S,
    is_empty: bool,
    received: &'a mut u64,
}

impl<S: Read> Read for Draining<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_empty {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let read = self.stream.read(buffer)?;
        self.is_empty = read < buffer.len();
        *self.received += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use ::redis::Value;
    use smallvec::smallvec;

    use super::super::command::{CommandOutcome, RedisCommand, split_replicated};
    use super::super::session::{Id, PendingCommand};
    use super::*;
    use crate::net::address::Address;
    use crate::options::ConnectOptions;
    use crate::redis::Backend;
    use crate::redis::connecting::connector::Connector;
    use crate::redis::settings::login::Role;
    use crate::redis::tests::{eternal, in_time};
    use crate::script::{Script, ScriptCall};

    const PUSH: &[u8] = b">2\r\n+message\r\n+text\r\n";

    /// A server that sends pushes without end, and faster than anybody reads.
    #[derive(Default)]
    struct Flood {
        sent: usize,
    }

    impl Read for Flood {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = PUSH.iter().cycle().skip(self.sent % PUSH.len());
            buffer.iter_mut().zip(bytes).for_each(|(place, byte)| *place = *byte);
            self.sent += buffer.len();
            Ok(buffer.len())
        }
    }

    impl Write for Flood {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A server that has answered, and then broken the connection.
    #[derive(Default)]
    struct Broken {
        answers: VecDeque<u8>,
        is_broken: bool,
    }

    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.answers.read(buffer)? {
                0 if !self.is_broken => Err(io::ErrorKind::WouldBlock.into()),
                read => Ok(read),
            }
        }
    }

    impl Write for Broken {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.is_broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(bytes.len()) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn session(url: &str, now: Instant) -> Session {
        let Ok(Backend::Redis(url)) = Backend::parse(url) else { unreachable!() };
        let connector = Connector::new(&url, &ConnectOptions::default()).unwrap();
        Session::open(&connector, &Address::Tcp("server".to_owned(), 1), Role::Data, now)
    }

    /// To a server that takes calls.
    fn ready(now: Instant) -> Channel<Broken> {
        let server = Broken { answers: b"+PONG\r\n".to_vec().into(), is_broken: false };
        let mut channel = Channel::new(server, None, session("redis://server", now));
        channel.advance(now);
        channel
    }

    fn pending(id: Id, now: Instant) -> PendingCommand {
        let get = RedisCommand::Plain(::redis::cmd("GET"), 0);
        PendingCommand::new(id, get, false, now + Duration::from_secs(1))
    }

    fn outcomes(channel: &mut Channel<Broken>) -> Vec<(Id, CommandOutcome)> {
        std::iter::from_fn(|| channel.session.next_outcome()).collect()
    }

    #[test]
    fn answers_that_have_come_count_although_nothing_more_can_be_sent() {
        let now = Instant::now();
        let mut channel = ready(now);
        channel.session.submit(pending(1, now), now);
        channel.advance(now);
        channel.stream = Broken { answers: b":7\r\n".to_vec().into(), is_broken: true };
        channel.session.submit(pending(2, now), now);
        channel.send(now);
        let outcomes = outcomes(&mut channel);
        assert!(matches!(outcomes[0], (1, CommandOutcome::Done(Ok(Value::Int(7))))), "{outcomes:?}");
        assert!(!matches!(outcomes[1], (2, CommandOutcome::Done(Ok(_)))), "{outcomes:?}");
    }

    /// Of 4,000 calls at once, 2,048 are under way. The others follow in portions, and those that would be late are not sent.
    #[test]
    fn calls_that_would_be_late_are_not_charged() {
        let start = Instant::now();
        let mut channel = ready(start);
        let mut advance = |answers: usize, millis: u64| {
            let now = start + Duration::from_millis(millis);
            channel.stream.answers.extend(b":1\r\n".repeat(answers));
            for id in if answers == 0 { 0..4000 } else { 0..0 } {
                channel.session.submit(pending(id, now), now);
            }
            // Twice: answers make room.
            channel.advance(now);
            channel.advance(now);
            let ended = outcomes(&mut channel);
            let refused = ended.iter().filter(|(_, outcome)| {
                let CommandOutcome::Done(Err(failure)) = outcome else { return false };
                let text = failure.error.to_string();
                assert!(
                    text.contains("too many calls wait for server:1 at once; the call was not sent"),
                    "{text}"
                );
                // It says nothing about the server, and may be sent again.
                assert!(failure.unanswered.is_none() && !failure.error.is_maybe_done());
                true
            });
            let refused = refused.count();
            (channel.session.under_way(), refused, ended.len() - refused)
        };
        assert_eq!(advance(0, 0), (2048, 0, 0));
        // Too little room for a portion.
        assert_eq!(advance(511, 100), (1537, 0, 511));
        assert_eq!(advance(1, 200), (2048, 0, 1));
        // Less than a quarter of 500 ms is left.
        assert_eq!(advance(512, 400), (1536, 4000 - 2048 - 512, 512));
        assert_eq!(advance(1536, 410), (0, 0, 1536));
    }

    /// A loop that is held up for longer than calls may take finds the answers to those that were sent. What had to wait for
    /// these is too late by then, which is no fault of the server.
    #[test]
    fn calls_behind_a_loop_that_is_held_up_say_nothing_about_the_server() {
        let start = Instant::now();
        let mut channel = ready(start);
        channel.session.limit_batches(1, 1);
        for id in 0..4 {
            channel.session.submit(pending(id, start), start);
            channel.advance(start);
        }
        let sent = channel.session.under_way();
        assert!(sent < 4, "all were sent");
        channel.stream.answers.extend(b":1\r\n".repeat(sent));
        channel.advance(start + Duration::from_secs(2));
        let ended = outcomes(&mut channel);
        let late = ended.iter().filter_map(|(_, outcome)| match outcome {
            CommandOutcome::Done(Err(failure)) => Some(failure.unanswered.is_none()),
            _ => None,
        });
        assert_eq!(late.collect::<Vec<_>>(), vec![true; 4 - sent], "{ended:?}");
    }

    /// The more of them go together, the less work they are.
    #[test]
    fn calls_about_one_key_wait_for_half_as_many_batches() {
        let now = Instant::now();
        let script = Script::new("one".to_owned()).with_each("each".to_owned());
        let script = eternal(script.with_up_to("up to".to_owned()));
        let under_way = |keys: [&str; 2]| {
            let mut channel = ready(now);
            channel.session.limit_batches(2, 2);
            for _ in 0..3 {
                for key in keys {
                    let call = ScriptCall::new(script, smallvec![key.to_owned()], smallvec![smallvec![1]]);
                    let by = now + Duration::from_secs(1);
                    let pending = PendingCommand::new(1, RedisCommand::Script(call), false, by);
                    channel.session.submit(pending, now);
                }
                channel.send(now);
            }
            channel.session.under_way()
        };
        assert_eq!((under_way(["a", "a"]), under_way(["a", "b"])), (2, 4));
    }

    /// Of several batches that wait for a replica that hangs, each would wait for all before it.
    #[test]
    fn a_batch_waits_until_the_one_before_it_has_ended() {
        let now = Instant::now();
        let Ok(Backend::Redis(url)) = Backend::parse("redis://server") else { unreachable!() };
        let options = ConnectOptions { replicas: 1, ..ConnectOptions::default() };
        let connector = Connector::new(&url, &options).unwrap();
        let session = Session::open(&connector, &Address::Tcp("server".to_owned(), 1), Role::Data, now);
        let server = Broken { answers: b":0\r\n+PONG\r\n".to_vec().into(), is_broken: false };
        let mut channel = Channel::new(server, None, session);
        channel.advance(now);
        let script = eternal(Script::new("one".to_owned()));
        let mut ended = |id: Id, answers: &[u8]| {
            let call = ScriptCall::new(script, smallvec!["a".to_owned()], smallvec![]);
            let pending =
                PendingCommand::new(id, RedisCommand::Script(call), false, now + Duration::from_secs(1));
            channel.session.submit(pending, now);
            channel.stream.answers.extend(answers);
            channel.advance(now);
            channel.advance(now);
            let ended = outcomes(&mut channel).into_iter().map(|(id, outcome)| match outcome {
                CommandOutcome::Done(Ok(value)) => (id, split_replicated(value).1),
                outcome => panic!("{outcome:?}"),
            });
            (ended.collect::<Vec<_>>(), channel.session.under_way())
        };
        assert_eq!(ended(1, b""), (vec![], 1));
        // The second one waits.
        assert_eq!(ended(2, b":5\r\n"), (vec![], 0));
        // The end of the first batch; then both of those that have waited go.
        assert_eq!(ended(3, b":0\r\n"), (vec![(1, false)], 2));
        // An answer to one that the server had forgotten comes behind the end of the batch.
        assert_eq!(ended(4, b":6\r\n-NOSCRIPT x\r\n:1\r\n"), (vec![(2, true)], 1));
        assert_eq!(ended(5, b":7\r\n:1\r\n"), (vec![(3, true)], 2));
    }

    #[test]
    fn a_flood_is_read_in_portions() {
        in_time(|| {
            let now = Instant::now();
            let session = session("redis://server?protocol=resp3", now);
            let mut channel = Channel::new(Flood::default(), None, session);
            for portion in 1..4 {
                assert_eq!(channel.advance(now), ReadProgress::More);
                assert_eq!(channel.stream().sent, portion * MOST_AT_ONCE);
            }
            assert!(channel.session.fault().is_none());
        });
    }
}
