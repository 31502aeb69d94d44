//! Looks up host names, with an end: the system's resolver has none.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use once_cell::race::OnceBox;

use super::deadline::Deadline;
use crate::sync::permits::Permits;

/// The most look-ups under way in this process: one that hangs keeps its thread.
const MOST: usize = 16;

/// How many there are.
static UNDER_WAY: OnceBox<Permits> = OnceBox::new();

fn permits() -> &'static Permits {
    UNDER_WAY.get_or_init(|| Box::new(Permits::new(MOST)))
}

/// The addresses of a host. The look-up happens on a thread of its own, which outlives a caller that gives up.
pub(in crate::redis) fn resolve(
    host: &str,
    port: u16,
    deadline: Deadline<'_>,
) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    let Some(slot) = permits().take() else {
        return Err(io::Error::other("too many look-ups of host names are under way"));
    };
    let (found, finding) = channel();
    let host = host.to_owned();
    let thread = thread::Builder::new().name("sluicegate-resolve".to_owned());
    let spawned = thread.spawn(move || {
        // The caller may have given up.
        let _ = found.send((host.as_str(), port).to_socket_addrs().map(Iterator::collect));
        drop(slot);
    });
    // Its own error, "Resource temporarily unavailable", would seem to be about the server.
    spawned.map_err(|err| io::Error::other(format!("cannot start a thread: {err}")))?;
    loop {
        match finding.recv_timeout(deadline.next()?) {
            Ok(addresses) => return addresses,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("the look-up failed")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::tests::in_child;

    #[test]
    fn look_ups_that_a_parent_has_under_way_leave_its_child_all_permits() {
        let _under_way = permits().take().unwrap();
        assert!(in_child(|| {
            let taken: Vec<_> = (0..MOST).map_while(|_| permits().take()).collect();
            taken.len() == MOST && permits().take().is_none()
        }));
    }
}
