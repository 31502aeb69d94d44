//! A socket to a server, TCP or Unix.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Type};

use super::address::Address;

/// A stream of which nothing blocks but what says until when.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn connect(address: &Address, by: Instant) -> io::Result<Self> {
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

    /// The time that what is sent takes to the other end and back, if the system tells.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        match self {
            Self::Unix(_) => Some(Duration::ZERO),
            Self::Tcp(stream) => round_trip(stream),
        }
    }

    /// Waits until the socket is ready.
    #[allow(unsafe_code, reason = "nothing safe in the standard library waits for a socket")]
    pub(super) fn wait(&self, event: libc::c_short, by: Instant) -> io::Result<()> {
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
pub(super) struct InTime<'a> {
    pub(super) stream: &'a mut Stream,
    pub(super) by: Instant,
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

    use ::redis::RedisError;

    use super::*;

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
