//! Connections of the simulated network, and what is on its way on them.

use std::collections::VecDeque;

use super::plan::Time;
use super::protocol::ServerCommand;

/// One direction of a connection.
#[derive(Default)]
pub(super) struct Pipe {
    /// Everything that was ever sent.
    pub(super) bytes: Vec<u8>,
    /// Bytes that have arrived.
    pub(super) arrived: usize,
    /// Bytes that were read.
    pub(super) taken: usize,
    /// When bytes up to which place arrive.
    pub(super) under_way: VecDeque<(Time, usize)>,
    /// Where it was cut, and what comes after it is lost.
    pub(super) end: Option<usize>,
}

impl Pipe {
    /// Takes note of the time; answers up to which place bytes have arrived.
    pub(super) fn arrive(&mut self, now: Time) -> usize {
        while let Some((_, end)) = self.under_way.pop_front_if(|(due, _)| *due <= now) {
            self.arrived = end.min(self.end.unwrap_or(end));
        }
        self.arrived
    }

    pub(super) fn is_cut(&self) -> bool {
        self.end.is_some()
    }

    /// Whether all has arrived that ever will.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.arrived >= end)
    }
}

/// A request, as the bytes say.
pub(super) struct Frame {
    pub(super) command: ServerCommand,
    /// Where it ends in the bytes that were sent.
    pub(super) end: usize,
    /// The step in which its first byte was sent.
    pub(super) begun: u64,
}

pub(super) struct Connection {
    pub(super) server: usize,
    pub(super) opened_at: Time,
    pub(super) to_server: Pipe,
    pub(super) to_client: Pipe,
    /// Requests that the server has yet to carry out.
    pub(super) frames: VecDeque<Frame>,
    /// Bytes of whole requests.
    pub(super) framed: usize,
    pub(super) begun: Option<u64>,
    /// The step in which the request was begun to watch the keys of the next one.
    pub(super) begun_by_caching: Option<u64>,
    /// The next command may touch a key that is being moved to the server.
    pub(super) asking: bool,
    /// The keys of the next command are to be watched.
    pub(super) caching: bool,
    /// Where the reply ends by which the server says that it is a replica, and the step in which that was read.
    pub(super) confessed_at: Option<usize>,
    pub(super) confession_read: Option<u64>,
    /// The server has died, or the client has closed the connection.
    pub(super) is_dead: bool,
    /// Nothing arrives any more, in either direction.
    pub(super) is_silent: bool,
    pub(super) is_closed: bool,
}
