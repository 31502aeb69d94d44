//! Moves bytes between a session and a stream that does not block, through TLS where that is asked for.

use std::io::{self, Read, Write};
use std::time::Instant;

use super::errors::ConnectionError;
use super::session::Session;
use super::tls::Layer;

/// Bytes read at a time.
const CHUNK: usize = 16 * 1024;

/// The most bytes that are read at once: a server that talks without end must not hold up everything else.
const MOST_AT_ONCE: usize = 4 * CHUNK;

/// A stream of which reading and writing answer `WouldBlock` instead of waiting.
pub(super) struct Channel<S> {
    stream: S,
    tls: Option<Layer>,
    buffer: Box<[u8]>,
}

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadProgress {
    /// All that has come is read.
    Done,
    /// More may be read at once.
    More,
}

impl<S: Read + Write> Channel<S> {
    pub(super) fn new(stream: S, tls: Option<Layer>) -> Self {
        Self { stream, tls, buffer: vec![0; CHUNK].into_boxed_slice() }
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends what the session has to say, and takes up what has come for it. A failure ends the session.
    pub(super) fn advance(&mut self, session: &mut Session, now: Instant) -> ReadProgress {
        let progress = self.exchange(session, now);
        progress.unwrap_or_else(|err| {
            session.end(ConnectionError::from(err));
            ReadProgress::Done
        })
    }

    fn exchange(&mut self, session: &mut Session, now: Instant) -> io::Result<ReadProgress> {
        self.send(session, now)?;
        let progress = self.receive(session, now);
        // Replies may have made room for the next batch, or asked for something to be sent again. What was read
        // before the connection broke counts.
        self.send(session, now)?;
        progress
    }

    /// Sends as much as the stream takes now.
    pub(super) fn send(&mut self, session: &mut Session, now: Instant) -> io::Result<()> {
        session.flush(now);
        match self.try_send(session) {
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result,
        }
    }

    fn try_send(&mut self, session: &mut Session) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            while !session.output().is_empty() {
                match self.stream.write(session.output())? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    sent => session.sent(sent),
                }
            }
            return Ok(());
        };
        loop {
            let taken = tls.write(session.output())?;
            session.sent(taken);
            tls.send(&mut self.stream)?;
            if session.output().is_empty() {
                return Ok(());
            }
        }
    }

    /// Whether to wait until the stream takes more.
    pub(super) fn wants_write(&self, session: &Session) -> bool {
        !session.output().is_empty() || self.tls.as_ref().is_some_and(Layer::wants_write)
    }

    /// Takes up what has come.
    pub(super) fn receive(&mut self, session: &mut Session, now: Instant) -> io::Result<ReadProgress> {
        let mut stream = Draining { stream: &mut self.stream, is_empty: false };
        let mut total = 0;
        while !session.is_over() && total < MOST_AT_ONCE {
            let read = match &mut self.tls {
                Some(tls) => tls.receive(&mut stream, &mut self.buffer),
                None => stream.read(&mut self.buffer),
            };
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    session.receive(&self.buffer[..read], now);
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
}

impl<S: Read> Read for Draining<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_empty {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let read = self.stream.read(buffer)?;
        self.is_empty = read < buffer.len();
        Ok(read)
    }
}
