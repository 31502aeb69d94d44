//! Ports for servers.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Error, Result};

/// Servers listen on 10000..20000 and Cluster buses on 20000..30000. Both lie below the ports that systems give
/// to outgoing connections, so that a server that is restarted finds its port still free.
const FIRST: u16 = 10_000;
const COUNT: u16 = 10_000;

/// Redis puts the bus of a Cluster node this far above its port.
const BUS_OFFSET: u16 = 10_000;

/// A port that is free, as is its Cluster bus, and that this process has not handed out lately.
///
/// Another process may still take it first. The server then fails to bind and exits, and the code that starts it
/// comes back for the next port.
pub(crate) fn free_port() -> Result<u16> {
    (0..COUNT)
        .map(|_| candidate())
        .find(|&port| is_free(port) && is_free(port + BUS_OFFSET))
        .ok_or_else(|| Error::new("no free port for a server"))
}

/// The ports in turn, from a random one on, so that two test programs do not walk in step.
fn candidate() -> u16 {
    static TURN: LazyLock<AtomicU32> =
        LazyLock::new(|| AtomicU32::new(RandomState::new().build_hasher().finish() as u32));
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % u32::from(COUNT);
    FIRST + turn as u16
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
