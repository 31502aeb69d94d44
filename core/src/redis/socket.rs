//! A connection without TLS, whose socket is at hand.
//!
//! The `redis` crate keeps the sockets of its connections to itself. Whoever has the socket can look whether the
//! answer has come before going to sleep, keep one deadline over all the pieces of an answer, and let a foreign
//! event loop wait for it. The protocol is the crate's: its commands go out, its parser reads what comes back.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use ::redis::{
    Cmd, ErrorKind as Cause, Parser, ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, Value,
};

use super::address::Address;
use super::spin::Spin;
use super::stream::{InTime, Stream};

/// A connection of which nothing blocks but what says until when.
pub(super) struct Socket {
    stream: Stream,
    /// Keeps the beginning of an answer whose end has not come yet.
    parser: Parser,
}

impl Socket {
    /// Connects and logs in.
    pub(super) fn open(address: &Address, session: &RedisConnectionInfo, by: Instant) -> RedisResult<Self> {
        let mut socket = Self { stream: Stream::connect(address, by)?, parser: Parser::new() };
        socket.log_in(session, by)?;
        Ok(socket)
    }

    /// What has to be said before anything else.
    fn log_in(&mut self, session: &RedisConnectionInfo, by: Instant) -> RedisResult<()> {
        if session.protocol() == ProtocolVersion::RESP3 {
            self.tell(&hello(session), by)?;
        } else if let Some(password) = session.password() {
            self.tell(&auth(session.username(), password), by).map_err(login_refused)?;
        }
        if session.db() != 0 {
            self.tell(::redis::cmd("SELECT").arg(session.db()), by)?;
        }
        Ok(())
    }

    fn tell(&mut self, cmd: &Cmd, by: Instant) -> RedisResult<()> {
        self.send(&cmd.get_packed_command(), by)?;
        self.answer(by)?.extract_error().map(drop)
    }

    /// Sends commands, packed one after the other.
    pub(super) fn send(&mut self, mut packed: &[u8], by: Instant) -> io::Result<()> {
        while !packed.is_empty() {
            match self.try_send(packed)? {
                0 => self.stream.wait(libc::POLLOUT, by)?,
                sent => packed = &packed[sent..],
            }
        }
        Ok(())
    }

    /// The answer to what was sent, if nothing else is on its way, after a wait awake for it if that pays.
    pub(super) fn answer_soon(&mut self, spin: &Spin, by: Instant) -> RedisResult<Value> {
        match spin.poll(|| self.try_answer(by))? {
            Some(value) => Ok(value),
            None => self.answer(by),
        }
    }

    /// The answer to what was sent, if nothing else is on its way.
    pub(super) fn answer(&mut self, by: Instant) -> RedisResult<Value> {
        loop {
            self.stream.wait(libc::POLLIN, by)?;
            if let Some(value) = self.try_answer(by)? {
                return Ok(value);
            }
        }
    }

    /// So many answers. What waits for several has others to let run, so it does not wait awake.
    pub(super) fn answers(&mut self, count: usize, by: Instant) -> RedisResult<Vec<Value>> {
        let mut answers = Vec::with_capacity(count);
        answers.push(self.answer(by)?);
        while answers.len() < count {
            // Those that came together are here already, and the kernel knows of them no longer.
            match self.try_answer(by)? {
                Some(answer) => answers.push(answer),
                None => self.stream.wait(libc::POLLIN, by)?,
            }
        }
        Ok(answers)
    }

    /// The time that what is sent takes to the server and back, if the system tells.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.stream.round_trip()
    }

    /// Sends as much as the kernel takes now, and says how many bytes that was.
    pub(super) fn try_send(&mut self, packed: &[u8]) -> io::Result<usize> {
        match self.stream.write(packed) {
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => Ok(0),
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            sent => sent,
        }
    }

    /// The next answer, if it has come. Reads no longer than that, even if there is no end of what comes.
    pub(super) fn try_answer(&mut self, by: Instant) -> RedisResult<Option<Value>> {
        let mut stream = InTime { stream: &mut self.stream, by };
        loop {
            match self.parser.parse_value(&mut stream) {
                // Of no call's making: what a server of protocol 3 says of its own accord.
                Ok(Value::Push { .. }) => (),
                // What it adds to an answer means nothing to us.
                Ok(Value::Attribute { data, .. }) => return Ok(Some(*data)),
                Ok(value) => return Ok(Some(value)),
                // A socket that does not block times out at once.
                Err(err) if err.is_timeout() => return Ok(None),
                Err(err) => return Err(err),
            }
        }
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }
}

fn hello(session: &RedisConnectionInfo) -> Cmd {
    let mut hello = ::redis::cmd("HELLO");
    hello.arg(3);
    if let Some(password) = session.password() {
        hello.arg("AUTH").arg(session.username().unwrap_or("default")).arg(password);
    }
    hello
}

fn auth(user: Option<&str>, password: &str) -> Cmd {
    let mut auth = ::redis::cmd("AUTH");
    auth.arg(user).arg(password);
    auth
}

/// Whatever a server answers to AUTH is about the login, even if it asks for none.
fn login_refused(err: RedisError) -> RedisError {
    match err.kind() {
        Cause::Server(_) | Cause::Extension => (Cause::AuthenticationFailed, "the login was refused").into(),
        _ => err,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Socket { stream: Stream::Unix(ours), parser: Parser::new() }, theirs)
    }

    #[test]
    fn an_answer_may_come_in_pieces() {
        let (mut socket, mut server) = pair();
        for answer in ["*3\r\n$4\r\na\r\nb\r\n:-12\r\n*1\r\n+OK\r\n", "-ERR no\r\n"] {
            let (all_but_last, last) = answer.as_bytes().split_at(answer.len() - 1);
            for byte in all_but_last {
                server.write_all(&[*byte]).unwrap();
                assert_eq!(socket.try_answer(soon()).unwrap(), None);
            }
            server.write_all(last).unwrap();
            assert_eq!(
                socket.try_answer(soon()).unwrap(),
                Some(::redis::parse_redis_value(answer.as_bytes()).unwrap())
            );
        }
    }

    #[test]
    fn what_a_server_says_besides_is_no_answer() {
        let (mut socket, mut server) = pair();
        server.write_all(b">2\r\n+message\r\n+hello\r\n|1\r\n+ttl\r\n:3\r\n:1\r\n:2\r\n").unwrap();
        assert_eq!(socket.try_answer(soon()).unwrap(), Some(Value::Int(1)));
        assert_eq!(socket.try_answer(soon()).unwrap(), Some(Value::Int(2)));
    }

    #[test]
    fn answers_may_come_together() {
        let (mut socket, mut server) = pair();
        server.write_all(b":1\r\n:2\r\n:3").unwrap();
        assert_eq!(socket.try_answer(soon()).unwrap(), Some(Value::Int(1)));
        assert_eq!(socket.try_answer(soon()).unwrap(), Some(Value::Int(2)));
        assert_eq!(socket.try_answer(soon()).unwrap(), None);
    }

    #[test]
    fn silence_has_an_end_and_so_has_the_connection() {
        let (mut socket, mut server) = pair();
        server.write_all(b"$100\r\nx").unwrap();
        let soon = Instant::now() + Duration::from_millis(5);
        assert!(socket.answer(soon).unwrap_err().is_timeout());
        assert!(Instant::now() >= soon);
        drop(server);
        let error = socket.answer(Instant::now() + Duration::from_secs(9)).unwrap_err();
        assert!(error.is_connection_dropped(), "{error}");
    }

    #[test]
    fn what_never_ends_has_an_end() {
        for endless in [&b">2\r\n+message\r\n+hello\r\n"[..], b"$9999999999\r\n"] {
            let (mut socket, mut server) = pair();
            let talks = std::thread::spawn(move || while server.write_all(&endless.repeat(100)).is_ok() {});
            let start = Instant::now();
            assert!(socket.answer(soon()).unwrap_err().is_timeout());
            assert!(start.elapsed() < Duration::from_secs(5));
            drop(socket);
            talks.join().unwrap();
        }
    }

    #[test]
    fn what_is_not_taken_has_an_end() {
        let (mut socket, _server) = pair();
        let much = vec![b'x'; 1 << 22];
        let error = socket.send(&much, Instant::now() + Duration::from_millis(5)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }
}
