//! A thread waits for sockets, until another one rings.

use std::io::{self, Read, Write};
#[cfg(unix)]
use std::os::unix::net::UnixStream as Bell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smallvec::SmallVec;

#[cfg(not(unix))]
use self::udp::Bell;
use crate::sync::lock::Mutex;

/// How long to wait where there is no socket that could ring, since the system has no more.
const NAP: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Alarm {
    /// What rings, and what is heard; opened when a thread first waits.
    bells: Mutex<Option<Arc<[Bell; 2]>>>,
    /// Whether a thread waits, or is about to.
    is_awaited: AtomicBool,
    has_rung: AtomicBool,
    /// Whether the bells are closed as soon as no thread waits.
    is_retired: AtomicBool,
}

impl Alarm {
    /// Waits for one of these, for the alarm, or until `by`. Answers which are ready, by their places: all of them if the alarm
    /// has rung.
    pub(super) fn wait(&self, sockets: &[PollFd<'_>], by: Option<Instant>) -> SmallVec<[usize; 4]> {
        self.is_awaited.store(true, Ordering::SeqCst);
        let bells = self.open_bells();
        // One that rang before there were bells is heard here.
        let mut has_rung = self.has_rung();
        let ready = if has_rung { SmallVec::new() } else { listen(sockets, bells.as_deref(), by) };
        self.is_awaited.store(false, Ordering::SeqCst);
        has_rung |= self.has_rung();
        if self.is_retired.load(Ordering::SeqCst) {
            *self.bells.lock() = None;
        }
        if has_rung { (0..sockets.len()).collect() } else { ready }
    }

    /// Ends a wait, or the next one.
    pub(super) fn ring(&self) {
        self.has_rung.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst)
            && let Some([ringing, _]) = self.bells.lock().as_deref()
        {
            // One that takes no more has rung.
            let _ = (&mut &*ringing).write(&[1]);
        }
    }

    /// Closes the bells, now or when the thread that waits has ended its wait. Who waits afterwards opens some for as long.
    pub(super) fn retire(&self) {
        self.is_retired.store(true, Ordering::SeqCst);
        let mut bells = self.bells.lock();
        if !self.is_awaited.load(Ordering::SeqCst) {
            *bells = None;
        }
    }

    /// Closes what a forked child inherited. Where a thread holds a lock, or waits, that does not exist there, it stays open,
    /// unused.
    pub(super) fn disown(&self) {
        if let Ok(mut bells) = self.bells.try_lock() {
            *bells = None;
        }
    }

    fn has_rung(&self) -> bool {
        self.has_rung.swap(false, Ordering::SeqCst)
    }

    /// `None`: the system has no more.
    fn open_bells(&self) -> Option<Arc<[Bell; 2]>> {
        let mut bells = self.bells.lock();
        if bells.is_none() {
            *bells = pair_of_bells().ok().map(Arc::new);
        }
        bells.clone()
    }
}

/// Waits for sockets and for the bell, until `by`. Answers which sockets are ready, by their places.
fn listen(sockets: &[PollFd<'_>], bells: Option<&[Bell; 2]>, by: Option<Instant>) -> SmallVec<[usize; 4]> {
    let left = by.map(|by| by.saturating_duration_since(Instant::now()));
    let left = if bells.is_some() { left } else { Some(left.map_or(NAP, |left| left.min(NAP))) };
    let timeout = left.and_then(|left| Timespec::try_from(left).ok());
    let mut polled: SmallVec<[PollFd<'_>; 4]> = sockets.iter().cloned().collect();
    polled.extend(bells.map(|[_, heard]| PollFd::new(heard, PollFlags::IN)));
    // A signal ends it early, which does no harm: the caller looks for what there is.
    let _ = poll(&mut polled, timeout.as_ref());
    // Whoever rings may do so after the wait for which it rang.
    if let Some([_, heard]) = bells
        && !polled[sockets.len()].revents().is_empty()
    {
        let _ = (&mut &*heard).read(&mut [0; 64]);
    }
    (0..sockets.len()).filter(|&at| !polled[at].revents().is_empty()).collect()
}

#[cfg(unix)]
fn pair_of_bells() -> io::Result<[Bell; 2]> {
    let (ringing, heard) = Bell::pair()?;
    ringing.set_nonblocking(true)?;
    heard.set_nonblocking(true)?;
    Ok([ringing, heard])
}

#[cfg(not(unix))]
use self::udp::pair_of_bells;

/// Where there is no pair of sockets that are files: datagrams within the machine.
#[cfg(not(unix))]
mod udp {
    use std::io::{self, Read, Write};
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::windows::io::{AsSocket, BorrowedSocket};

    pub(super) struct Bell(UdpSocket);

    pub(super) fn pair_of_bells() -> io::Result<[Bell; 2]> {
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
    fn retired_it_keeps_no_bells_and_still_rings() {
        let alarm = Alarm::default();
        alarm.wait(&[], Some(Instant::now()));
        assert!(alarm.bells.lock().is_some());
        alarm.retire();
        assert!(alarm.bells.lock().is_none());
        let start = Instant::now();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| alarm.wait(&[], Some(start + LONG)));
            while !alarm.is_awaited.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            alarm.retire();
            alarm.ring();
            waiting.join().unwrap();
        });
        assert!(start.elapsed() < LONG);
        alarm.wait(&[], Some(Instant::now()));
        assert!(alarm.bells.lock().is_none());
    }

    #[test]
    fn a_bell_that_rings_late_is_silenced() {
        let alarm = Alarm::default();
        alarm.wait(&[], Some(Instant::now()));
        let bells = alarm.open_bells().unwrap();
        (&mut &bells[0]).write_all(&[1]).unwrap();
        alarm.wait(&[], Some(Instant::now() + LONG));
        let nothing = (&mut &bells[1]).read(&mut [0; 8]).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
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
