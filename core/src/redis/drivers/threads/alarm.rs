//! A thread waits for sockets, until another one rings.

use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::net::UnixStream as Bell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::SmallVec;

#[cfg(not(unix))]
use self::udp::Bell;

/// How long to wait where there is no socket that could ring, since the system has no more.
const NAP: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Alarm {
    /// What rings, and what is heard; opened when it is first needed. `None`: the system had none.
    bells: OnceBox<Option<[Bell; 2]>>,
    /// Whether a thread waits, or is about to.
    is_awaited: AtomicBool,
    has_rung: AtomicBool,
}

impl Alarm {
    /// Waits for one of these, for the alarm, or until `by`. Answers which are ready, by their places: all of them if the alarm
    /// has rung.
    pub(super) fn wait(&self, sockets: &[PollFd<'_>], by: Option<Instant>) -> SmallVec<[usize; 4]> {
        let all = || (0..sockets.len()).collect();
        self.is_awaited.store(true, Ordering::SeqCst);
        if self.has_rung.swap(false, Ordering::SeqCst) {
            self.is_awaited.store(false, Ordering::SeqCst);
            return all();
        }
        let bells = self.bells();
        let left = by.map(|by| by.saturating_duration_since(Instant::now()));
        let left = if bells.is_some() { left } else { Some(left.map_or(NAP, |left| left.min(NAP))) };
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut polled: SmallVec<[PollFd<'_>; 4]> = sockets.iter().cloned().collect();
        polled.extend(bells.map(|[_, heard]| PollFd::new(heard, PollFlags::IN)));
        // A signal ends it early, which does no harm: the caller looks for what there is.
        let _ = poll(&mut polled, timeout.as_ref());
        self.is_awaited.store(false, Ordering::SeqCst);
        if self.has_rung.swap(false, Ordering::SeqCst) {
            self.silence();
            return all();
        }
        (0..sockets.len()).filter(|&at| !polled[at].revents().is_empty()).collect()
    }

    /// Ends a wait, or the next one.
    pub(super) fn ring(&self) {
        self.has_rung.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst)
            && let Some([ringing, _]) = self.bells()
        {
            // One that takes no more has rung.
            let _ = (&mut &*ringing).write(&[1]);
        }
    }

    fn silence(&self) {
        if let Some([_, heard]) = self.bells() {
            let _ = (&mut &*heard).read(&mut [0; 64]);
        }
    }

    fn bells(&self) -> Option<&[Bell; 2]> {
        self.bells.get_or_init(|| Box::new(bells().ok())).as_ref()
    }
}

#[cfg(unix)]
fn bells() -> io::Result<[Bell; 2]> {
    let (ringing, heard) = Bell::pair()?;
    ringing.set_nonblocking(true)?;
    heard.set_nonblocking(true)?;
    Ok([ringing, heard])
}

#[cfg(not(unix))]
use self::udp::bells;

/// Where there is no pair of sockets that are files: datagrams within the machine.
#[cfg(not(unix))]
mod udp {
    use std::io::{self, Read, Write};
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::windows::io::{AsSocket, BorrowedSocket};

    pub(super) struct Bell(UdpSocket);

    pub(super) fn bells() -> io::Result<[Bell; 2]> {
        let [ringing, heard] =
            [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?];
        ringing.connect(heard.local_addr()?)?;
        heard.connect(ringing.local_addr()?)?;
        ringing.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        Ok([Bell(ringing), Bell(heard)])
    }

    impl AsSocket for Bell {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            self.0.as_socket()
        }
    }

    impl Read for &Bell {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.recv(buffer)
        }
    }

    impl Write for &Bell {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_wait_ends_when_another_thread_rings() {
        let alarm = Alarm::default();
        let start = Instant::now();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| alarm.wait(&[], Some(start + LONG)));
            while !alarm.is_awaited.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            alarm.ring();
            waiting.join().unwrap();
        });
        assert!(start.elapsed() < LONG);
        // It has rung once.
        assert!(!alarm.has_rung.load(Ordering::SeqCst));
    }

    #[test]
    fn who_comes_late_has_heard_it() {
        let alarm = Alarm::default();
        alarm.ring();
        let start = Instant::now();
        alarm.wait(&[], Some(start + LONG));
        assert!(start.elapsed() < LONG);
    }
}
