//! A connection without TLS, whose socket is at hand.
//!
//! The `redis` crate keeps the sockets of its connections to itself. Whoever has the socket can look whether the
//! answer has come before going to sleep, keep one deadline over all the pieces of an answer, and let a foreign
//! event loop wait for it. The protocol is the crate's: its commands go out, its parser reads what comes back.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use ::redis::{
    Cmd, ErrorKind as Cause, Parser, ProtocolVersion, RedisConnectionInfo, RedisError, RedisResult, Value,
};

use socket2::{Domain, SockAddr, Type};

use super::address::Address;
use super::spin::Spin;

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

impl Socket {
    /// The time that what is sent takes to the server and back, if the system tells.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        match &self.stream {
            Stream::Unix(_) => Some(Duration::ZERO),
            Stream::Tcp(stream) => round_trip(stream),
        }
    }
}

/// As the kernel has measured it, without what the server's process takes: tcp(7), `TCP_INFO`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "nothing safe asks for that option")]
fn round_trip(stream: &TcpStream) -> Option<Duration> {
    // SAFETY: of numbers only, all of which may be 0.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: the kernel writes at most the size that it is told, which is that of the structure.
    let failed = unsafe {
        let place = (&raw mut info).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut size)
    };
    (failed == 0).then(|| Duration::from_micros(info.tcpi_rtt.into()))
}

/// Unknown, but on this machine.
#[cfg(not(target_os = "linux"))]
fn round_trip(stream: &TcpStream) -> Option<Duration> {
    let peer = stream.peer_addr().ok()?;
    peer.ip().is_loopback().then_some(Duration::ZERO)
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

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(address: &Address, by: Instant) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(host, port) => {
                let stream = connect_tcp(host, *port, by)?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                Self::Tcp(stream)
            }
            Address::Unix(path) => {
                let stream = connect_unix(path, by)?;
                stream.set_nonblocking(true)?;
                Self::Unix(stream)
            }
        };
        Ok(stream)
    }

    /// Waits until the socket is ready.
    #[allow(unsafe_code, reason = "nothing safe in the standard library waits for a socket")]
    fn wait(&self, event: libc::c_short, by: Instant) -> io::Result<()> {
        loop {
            let left = left(by)?;
            // Rounded up: a wait of none would turn the last millisecond into a busy one.
            let millis = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
            let mut watched = libc::pollfd { fd: self.as_raw_fd(), events: event, revents: 0 };
            // SAFETY: the one entry that is watched lives as long as the call.
            match unsafe { libc::poll(&raw mut watched, 1, millis) } {
                0 => (),
                1.. => return Ok(()),
                _ => match io::Error::last_os_error() {
                    // After a signal, what is left of the time is less.
                    err if err.kind() == io::ErrorKind::Interrupted => (),
                    err => return Err(err),
                },
            }
        }
    }
}

/// Repeats what a signal cut short.
fn undisturbed<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(err) if err.kind() == io::ErrorKind::Interrupted => (),
            result => return result,
        }
    }
}

/// Tries all that the name stands for.
fn connect_tcp(host: &str, port: u16, by: Instant) -> io::Result<TcpStream> {
    connect_any(&(host, port).to_socket_addrs()?.collect::<Vec<_>>(), by)
}

/// Tries all, each for its share of the time that is left: one that is silent must not keep from the next.
fn connect_any(addresses: &[SocketAddr], by: Instant) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name stands for no address");
    for (address, to_try) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        // No share may be none.
        let share = (left(by)? / to_try).max(Duration::from_micros(1));
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => return Ok(stream),
            Err(err) => failure = err,
        }
    }
    Err(failure)
}

/// Waits where the server's queue of connections is full, which a server that hangs does not empty. The time to
/// send is that to connect too.
fn connect_unix(path: &Path, by: Instant) -> io::Result<UnixStream> {
    let address = SockAddr::unix(path)?;
    undisturbed(|| {
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_write_timeout(Some(left(by)?))?;
        socket.connect(&address)?;
        Ok(UnixStream::from(OwnedFd::from(socket)))
    })
}

fn left(by: Instant) -> io::Result<Duration> {
    let left = by.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        undisturbed(|| match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        })
    }
}

/// A stream that is read until its time is up.
struct InTime<'a> {
    stream: &'a mut Stream,
    by: Instant,
}

impl Read for InTime<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        left(self.by)?;
        self.stream.read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        undisturbed(|| match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(stream) => stream.as_raw_fd(),
            Self::Unix(stream) => stream.as_raw_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

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

    /// Makes the queue of connections short.
    #[allow(unsafe_code, reason = "nothing safe does that")]
    fn shorten(listener: &impl AsRawFd) {
        // SAFETY: it is a socket that listens, which may be told to again.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    }

    #[test]
    fn a_full_queue_within_the_machine_has_an_end() {
        let path = std::env::temp_dir().join(format!("sluicegate-{}.socket", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        shorten(&listener);
        let _queue: Vec<_> = (0..4).map_while(|_| connect_unix(&path, soon()).ok()).collect();
        let start = Instant::now();
        let error = RedisError::from(connect_unix(&path, soon()).unwrap_err());
        std::fs::remove_file(&path).unwrap();
        assert!(error.is_timeout(), "{error}");
        assert!((40..900).contains(&start.elapsed().as_millis()));
    }

    #[test]
    fn an_address_that_is_silent_does_not_keep_from_the_next() {
        let [silent, server] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        shorten(&silent);
        let [full, address] = [&silent, &server].map(|listener| listener.local_addr().unwrap());
        let _queue: Vec<_> = (0..4).map_while(|_| connect_any(&[full], soon()).ok()).collect();
        assert_eq!(connect_any(&[full], soon()).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let connected = connect_any(&[full, address], Instant::now() + Duration::from_secs(1)).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), address);
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }
}
