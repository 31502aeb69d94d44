//! When a socket can be read or written, as Tokio says it. The socket itself stays with the multiplexer, which reads and
//! writes it.

use std::io;
use std::task::{Context, Poll};

use tokio::io::Interest;

use super::stream::Stream;

pub(super) use system::SocketReadiness;

#[cfg(unix)]
mod system {
    use std::os::fd::{AsRawFd, RawFd};

    use tokio::io::unix::{AsyncFd, AsyncFdReadyGuard};

    use super::{Context, Interest, Poll, Stream, io};

    /// Tells when a socket is ready. It must not outlive the socket.
    pub(crate) struct SocketReadiness(AsyncFd<Descriptor>);

    type Ready<'a> = AsyncFdReadyGuard<'a, Descriptor>;

    /// A descriptor that the multiplexer closes.
    pub(crate) struct Descriptor(RawFd);

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0
        }
    }

    impl SocketReadiness {
        #[allow(unsafe_code, reason = "the descriptor must outlive the registration")]
        pub(crate) fn new(stream: &Stream) -> io::Result<Self> {
            let descriptor = Descriptor(stream.socket.as_raw_fd());
            let interest = Interest::READABLE | Interest::WRITABLE;
            // SAFETY: the connection's task alone has the multiplexer close it, after this is dropped.
            let registered = unsafe { AsyncFd::register_with_interest(descriptor, interest) };
            Ok(Self(registered?))
        }

        /// Whether it can be read; if not, `context` is woken as soon as it can.
        pub(crate) fn poll_read(&self, context: &mut Context<'_>) -> Poll<io::Result<Ready<'_>>> {
            self.0.poll_read_ready(context)
        }

        pub(crate) async fn writable(&self) -> io::Result<Ready<'_>> {
            self.0.ready(Interest::WRITABLE).await
        }

        /// Waits for more from now on: the operation that was ready would block.
        pub(crate) fn clear(&self, mut ready: Ready<'_>) {
            ready.clear_ready();
        }
    }
}

#[cfg(windows)]
mod system {
    use tokio::io::Ready;
    use tokio::net::TcpStream;

    use super::{Context, Interest, Poll, Stream, io};

    /// Tells when a socket is ready, by a handle of its own: Tokio watches no foreign one there.
    pub(crate) struct SocketReadiness(TcpStream);

    impl SocketReadiness {
        pub(crate) fn new(stream: &Stream) -> io::Result<Self> {
            Ok(Self(TcpStream::from_std(stream.socket.try_clone()?)?))
        }

        /// Whether it can be read; if not, `context` is woken as soon as it can.
        pub(crate) fn poll_read(&self, context: &mut Context<'_>) -> Poll<io::Result<Ready>> {
            self.0.poll_read_ready(context).map_ok(|()| Ready::READABLE)
        }

        pub(crate) async fn writable(&self) -> io::Result<Ready> {
            self.0.ready(Interest::WRITABLE).await
        }

        /// Waits for more from now on: the operation that was ready would block. Tokio watches a socket again when it
        /// has seen that itself, and then finds what came meanwhile, since Windows reports states rather than changes.
        pub(crate) fn clear(&self, ready: Ready) {
            for (is_ready, interest) in
                [(ready.is_readable(), Interest::READABLE), (ready.is_writable(), Interest::WRITABLE)]
            {
                if is_ready {
                    let _ = self.0.try_io(interest, || Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                }
            }
        }
    }
}
