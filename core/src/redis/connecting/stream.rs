//! A socket to a server, TCP or Unix, that does not block.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use smallvec::SmallVec;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::deadline::Deadline;
use super::resolve::resolve;
use crate::net::address::Address;

/// Whether to connect once more while the network says nothing: packets may be lost, which the system sends again ever
/// more seldom. What was begun before goes on meanwhile, since the network may only be slow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum Resend {
    Never,
    Often,
}

/// How far apart this process begins connections to one server.
pub(super) const SPACING: Duration = Duration::from_millis(100);

/// The most connections that are awaited at once, of which one is needed.
const MOST_AWAITED: usize = 8;

/// A stream of which nothing blocks except [`wait`](Self::wait).
pub(in crate::redis) struct Stream {
    /// Or a Unix socket, which std reads, writes and closes alike.
    pub(in crate::redis) socket: Arc<TcpStream>,
    is_unix: bool,
}

impl Stream {
    /// Connects to the first address of the server that answers, of those that are allowed, in the time that is
    /// left.
    pub(in crate::redis) fn connect(
        address: &Address,
        allows: impl Fn(IpAddr) -> bool,
        deadline: Deadline<'_>,
        resend: Resend,
    ) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(host, port) => {
                let mut found = resolve(host, *port, deadline)?;
                found.retain(|address| allows(address.ip()));
                if found.is_empty() {
                    let what = "it is in none of the networks that `redirects` of the URL names";
                    return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
                }
                let socket = connect_any(&found, deadline, resend)?;
                socket.set_nodelay(true)?;
                socket
            }
            #[cfg(unix)]
            Address::Unix(path) => connect_unix(path, deadline)?,
            #[cfg(not(unix))]
            Address::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { socket: Arc::new(socket), is_unix: matches!(address, Address::Unix(_)) })
    }

    /// The time that a packet takes to the other end and back, if the system measures it.
    pub(in crate::redis) fn round_trip(&self) -> Option<Duration> {
        if self.is_unix { Some(Duration::ZERO) } else { round_trip(&self.socket) }
    }

    /// Waits until the stream is ready. Answers an error when the time is up.
    pub(in crate::redis) fn wait(&self, ready: PollFlags, deadline: Deadline<'_>) -> io::Result<()> {
        wait(std::slice::from_ref(&self.socket), ready, deadline).map(drop)
    }
}

/// Answers which is ready.
fn wait(sockets: &[impl AsFd], ready: PollFlags, deadline: Deadline<'_>) -> io::Result<usize> {
    let mut polled: SmallVec<[PollFd<'_>; 1]> =
        sockets.iter().map(|socket| PollFd::new(socket, ready)).collect();
    loop {
        let timeout = Timespec::try_from(deadline.next()?).map_err(io::Error::other)?;
        match poll(&mut polled, Some(&timeout)) {
            // After a signal, what is left of the time is less.
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(polled.iter().position(|one| !one.revents().is_empty()).unwrap_or(0)),
            Err(err) => return Err(err.into()),
        }
    }
}

/// The shortest that the kernel has measured: longer ones may hold what the server's process took, or this one while
/// many connected at once. tcp(7), `TCP_INFO`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "nothing safe asks for that option")]
fn round_trip(stream: &TcpStream) -> Option<Duration> {
    // SAFETY: of numbers only, all of which may be 0.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = libc::socklen_t::try_from(size_of::<libc::tcp_info>()).ok()?;
    // SAFETY: the kernel writes at most the size given, which is that of the structure.
    let failed = unsafe {
        let (socket, place) = (std::os::fd::AsRawFd::as_raw_fd(stream), (&raw mut info).cast());
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut size)
    };
    (failed == 0).then(|| Duration::from_micros(info.tcpi_min_rtt.into()))
}

/// Unknown, except on this machine.
#[cfg(not(target_os = "linux"))]
fn round_trip(stream: &TcpStream) -> Option<Duration> {
    let peer = stream.peer_addr().ok()?;
    peer.ip().is_loopback().then_some(Duration::ZERO)
}

/// Tries all addresses, each for its share of the time that is left: a silent one must not keep from the next.
fn connect_any(addresses: &[SocketAddr], deadline: Deadline<'_>, resend: Resend) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for (address, to_try) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        let by = Instant::now() + deadline.left()? / to_try;
        match connect_one(address, Deadline { by, ..deadline }, resend) {
            Ok(stream) => return Ok(stream),
            Err(err) => failure = err,
        }
    }
    Err(failure)
}

fn connect_one(address: &SocketAddr, deadline: Deadline<'_>, resend: Resend) -> io::Result<TcpStream> {
    let mut awaited = Vec::new();
    loop {
        let socket = Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        match socket.connect(&SockAddr::from(*address)) {
            Err(err) if is_under_way(&err) => awaited.push(TcpStream::from(socket)),
            result => return result.map(|()| socket.into()),
        }
        if awaited.len() > MOST_AWAITED {
            // Not the first, which has waited for the longest.
            awaited.remove(1);
        }
        let by = match resend {
            Resend::Never => deadline.by,
            Resend::Often => deadline.by.min(Instant::now() + SPACING),
        };
        match wait(&awaited, PollFlags::OUT, Deadline { by, ..deadline }) {
            Ok(ready) => {
                let socket = awaited.swap_remove(ready);
                return socket.take_error()?.map_or(Ok(socket), Err);
            }
            Err(err) if err.kind() == io::ErrorKind::TimedOut && deadline.left().is_ok() => {}
            Err(err) => return Err(err),
        }
    }
}

fn is_under_way(err: &io::Error) -> bool {
    #[cfg(unix)]
    let under_way = err.raw_os_error() == Some(libc::EINPROGRESS);
    #[cfg(not(unix))]
    let under_way = false;
    under_way || err.kind() == io::ErrorKind::WouldBlock
}

#[cfg(unix)]
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// Tries again while the server's queue of connections is full, which a server that hangs does not empty.
#[cfg(unix)]
fn connect_unix(path: &std::path::Path, deadline: Deadline<'_>) -> io::Result<TcpStream> {
    let address = SockAddr::unix(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    loop {
        match socket.connect(&address) {
            // No event reports when there is room.
            Err(err) if err.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(deadline.next()?.min(FULL_QUEUE_PAUSE));
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map(|()| socket.into()),
        }
    }
}

/// Repeats what a signal cut short.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        uninterrupted(|| (&*self.socket).read(buffer))
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        uninterrupted(|| (&*self.socket).write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Makes the queue of connections short.
    #[allow(unsafe_code, reason = "nothing safe does that")]
    fn shorten(listener: &impl AsRawFd) {
        // SAFETY: it is a socket that listens, on which `listen` may be called again.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    }

    #[test]
    fn a_full_queue_within_the_machine_has_an_end() {
        let path = std::env::temp_dir().join(format!("sluicegate-{}.socket", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        shorten(&listener);
        let _queue: Vec<_> = (0..4).map_while(|_| connect_unix(&path, soon()).ok()).collect();
        let start = Instant::now();
        let error = connect_unix(&path, soon()).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
        assert!((40..900).contains(&start.elapsed().as_millis()));
    }

    #[test]
    fn an_address_that_is_silent_does_not_keep_from_the_next() {
        let [silent, server] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        shorten(&silent);
        let [full, address] = [&silent, &server].map(|listener| listener.local_addr().unwrap());
        let _queue: Vec<_> = (0..4).map_while(|_| connect_any(&[full], soon(), Resend::Never).ok()).collect();
        assert_eq!(connect_any(&[full], soon(), Resend::Never).unwrap_err().kind(), io::ErrorKind::TimedOut);
        let connected = connect_any(
            &[full, address],
            Deadline::until(Instant::now() + Duration::from_secs(1)),
            Resend::Never,
        )
        .unwrap();
        assert_eq!(connected.peer_addr().unwrap(), address);
    }

    #[test]
    fn a_wait_can_be_cancelled() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = connect_any(&[silent.local_addr().unwrap()], soon(), Resend::Never).unwrap();
        let by = Instant::now() + Duration::from_secs(20);
        let error = wait(&[stream], PollFlags::IN, Deadline { by, cancelled: Some(&|| true) }).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert!(Instant::now() < by);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_server_takes_is_no_part_of_the_round_trip() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = connect_any(&[server.local_addr().unwrap()], soon(), Resend::Never).unwrap();
        client.set_nonblocking(false).unwrap();
        let (mut peer, _) = server.accept().unwrap();
        let service_time = Duration::from_millis(20);
        let mut byte = [0];
        // Soon the system sends acknowledgements along with answers.
        for _ in 0..20 {
            client.write_all(&byte).unwrap();
            peer.read_exact(&mut byte).unwrap();
            std::thread::sleep(service_time);
            peer.write_all(&byte).unwrap();
            client.read_exact(&mut byte).unwrap();
        }
        assert!(round_trip(&client).unwrap() < service_time / 4);
    }

    fn soon() -> Deadline<'static> {
        Deadline::until(Instant::now() + Duration::from_millis(50))
    }
}
