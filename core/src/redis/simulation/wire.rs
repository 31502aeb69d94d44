//! The model of the network: bytes are split, delayed and lost; they arrive in order on one connection only.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use super::network::{Connection, Frame, Pipe};
use super::protocol::{self, ServerCommand};
use super::world::{Event, Shared, World};

/// The driver's end of a connection.
pub(super) struct Wire {
    world: Shared,
    pub(super) connection: usize,
}

impl Wire {
    pub(super) fn open(world: &Shared, server: usize) -> Self {
        let mut inner = world.get();
        let opened_at = inner.now;
        inner.connections.push(Connection {
            server,
            opened_at,
            to_server: Pipe::default(),
            to_client: Pipe::default(),
            frames: VecDeque::new(),
            framed: 0,
            begun: None,
            begun_by_caching: None,
            asking: false,
            caching: false,
            confessed_at: None,
            confession_read: None,
            is_dead: false,
            is_silent: false,
            is_closed: false,
        });
        Self { connection: inner.connections.len() - 1, world: world.clone() }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let mut world = self.world.get();
        // What is on its way arrives all the same.
        world.connections[self.connection].is_closed = true;
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut world = self.world.get();
        let (now, step) = (world.now, world.step);
        let reset = world.random.percent(50);
        let connection = &mut world.connections[self.connection];
        let pipe = &mut connection.to_client;
        let arrived = pipe.arrive(now);
        let ready = &pipe.bytes[pipe.taken..arrived];
        if ready.is_empty() {
            return match pipe.is_over() {
                true if reset => Err(io::ErrorKind::ConnectionReset.into()),
                true => Ok(0),
                false => Err(io::ErrorKind::WouldBlock.into()),
            };
        }
        let size = ready.len().min(buffer.len());
        buffer[..size].copy_from_slice(&ready[..size]);
        pipe.taken += size;
        if connection.confessed_at.is_some_and(|end| end <= pipe.taken) {
            connection.confession_read.get_or_insert(step);
        }
        Ok(size)
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.world.get().send(self.connection, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl World {
    /// The driver sends bytes; answers how many of them the connection takes.
    fn send(&mut self, id: usize, bytes: &[u8]) -> io::Result<usize> {
        let (now, step, capacity) = (self.now, self.step, self.plan.capacity);
        let is_refused = self.random.percent(50);
        let pipe = &mut self.connections[id].to_server;
        if pipe.is_cut() && is_refused {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = capacity.saturating_sub(pipe.bytes.len() - pipe.arrive(now));
        if room == 0 || now < self.stalled_until {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let most = room.min(bytes.len());
        let size = if self.random.percent(15) { 1 + self.random.index(most) } else { most };
        self.connections[id].to_server.bytes.extend(&bytes[..size]);
        self.note(|_| format!("{size} of {} bytes on {id}", bytes.len()));
        self.deliver(id, true);
        self.frame(id, step);
        Ok(size)
    }

    /// Finds the requests in what was sent.
    fn frame(&mut self, id: usize, step: u64) {
        loop {
            let connection = &mut self.connections[id];
            let rest = &connection.to_server.bytes[connection.framed..];
            if rest.is_empty() {
                return;
            }
            let begun = *connection.begun.get_or_insert(step);
            match protocol::request(rest) {
                Ok(None) => return,
                Ok(Some((command, size))) => {
                    connection.framed += size;
                    connection.begun = None;
                    // A call goes behind the request to watch its keys, although nobody may want it any more.
                    let begun = connection.begun_by_caching.take().unwrap_or(begun);
                    if command == ServerCommand::Caching {
                        connection.begun_by_caching = Some(begun);
                    }
                    let frame = Frame { command, end: connection.framed, begun };
                    self.note(|_| format!("sent on {id}: {:?}", frame.command));
                    self.check_sent(id, &frame);
                    self.connections[id].frames.push_back(frame);
                }
                Err(()) => {
                    let text = String::from_utf8_lossy(rest).into_owned();
                    return self.ledger.malformed(id, &text);
                }
            }
        }
    }

    /// The server sends bytes. Answers where they end.
    pub(super) fn respond(&mut self, id: usize, text: &str) -> usize {
        self.connections[id].to_client.bytes.extend(text.as_bytes());
        self.deliver(id, false);
        self.connections[id].to_client.bytes.len()
    }

    /// Says when the bytes that are not on their way yet arrive, in one piece or in several.
    fn deliver(&mut self, id: usize, at_server: bool) {
        let connection = &mut self.connections[id];
        let pipe = if at_server { &mut connection.to_server } else { &mut connection.to_client };
        let (length, is_cut) = (pipe.bytes.len(), pipe.is_cut() || connection.is_silent);
        let (mut due, mut place) = pipe.under_way.back().copied().unwrap_or((0, pipe.arrived));
        while place < length && !is_cut {
            let size = length - place;
            place = if self.random.percent(20) { place + 1 + self.random.index(size) } else { length };
            due = due.max(self.now + self.latency());
            let connection = &mut self.connections[id];
            let pipe = if at_server { &mut connection.to_server } else { &mut connection.to_client };
            pipe.under_way.push_back((due, place));
            self.schedule(due, if at_server { Event::AtServer(id) } else { Event::AtClient(id) });
        }
    }

    /// Bytes have arrived at the server.
    pub(super) fn at_server(&mut self, id: usize) -> usize {
        let now = self.now;
        self.connections[id].to_server.arrive(now)
    }

    /// Whether there is something for the driver to read, be it the end.
    pub(super) fn has_come(&mut self, id: usize) -> bool {
        let now = self.now;
        let pipe = &mut self.connections[id].to_client;
        pipe.arrive(now) > pipe.taken || pipe.is_over()
    }

    /// Ends a connection at any byte in either direction.
    pub(super) fn cut(&mut self, id: usize) {
        self.note(|_| format!("cut {id}"));
        let now = self.now;
        for at_server in [true, false] {
            let connection = &mut self.connections[id];
            let pipe = if at_server { &mut connection.to_server } else { &mut connection.to_client };
            let arrived = pipe.arrive(now);
            let lost = pipe.bytes.len() - arrived;
            if !pipe.is_cut() {
                pipe.end = Some(arrived + self.random.index(lost + 1));
            }
        }
        let due = self.connections[id].to_client.under_way.back().map_or(now, |(due, _)| *due);
        self.schedule(due, Event::AtClient(id));
    }

    /// The connections that may still carry something.
    pub(super) fn live(&self, server: Option<usize>) -> Vec<usize> {
        let is_live = |connection: &Connection| {
            !connection.is_closed
                && !connection.to_client.is_cut()
                && server.is_none_or(|server| server == connection.server)
        };
        self.connections.iter().enumerate().filter(|(_, it)| is_live(it)).map(|(id, _)| id).collect()
    }
}
