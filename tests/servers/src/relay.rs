//! A distance between a client and a server: bytes take their time, and the way can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;

/// Listens on a free port, and hands on what comes to a server. Ends when it is dropped.
pub struct Relay {
    port: u16,
    state: Arc<State>,
}

struct State {
    /// From one end to the other.
    delay: Duration,
    is_cut: AtomicBool,
    is_mute: AtomicBool,
    /// How many bytes came to the server.
    arrived: AtomicU64,
    is_over: AtomicBool,
    streams: Mutex<Vec<TcpStream>>,
}

impl Relay {
    /// To a server of this machine. There and back takes `trip`.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start(server: u16, trip: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(State {
            delay: trip / 2,
            is_cut: AtomicBool::new(false),
            is_mute: AtomicBool::new(false),
            arrived: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        let accepting = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if accepting.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let _ = accepting.connect(client, server);
            }
        });
        Ok(Self { port, state })
    }

    /// The port to connect to in place of the server's.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Swallows all that comes from now on, without a word to either side.
    pub fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
    }

    /// Holds back what the server answers, or passes it on again.
    pub fn mute(&self, is_mute: bool) {
        self.state.is_mute.store(is_mute, Ordering::SeqCst);
    }

    /// How many bytes have come to the server so far.
    pub fn arrived(&self) -> u64 {
        self.state.arrived.load(Ordering::SeqCst)
    }

    /// Ends the connections that lost something, and hands on what comes on others.
    pub fn heal(&self) {
        self.state.end_all();
        self.state.is_cut.store(false, Ordering::SeqCst);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        self.state.end_all();
        // Ends the wait for the next client.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl State {
    fn connect(self: &Arc<Self>, client: TcpStream, server: u16) -> Result<()> {
        let server = TcpStream::connect(("127.0.0.1", server))?;
        for stream in [&client, &server] {
            stream.set_nodelay(true)?;
        }
        for (from, to, answers) in [(&client, &server, false), (&server, &client, true)] {
            let (sender, receiver) = channel();
            let (from, to) = (from.try_clone()?, to.try_clone()?);
            let (reading, writing) = (Arc::clone(self), Arc::clone(self));
            thread::spawn(move || reading.read(from, &sender));
            thread::spawn(move || writing.write(to, &receiver, answers));
        }
        if let Ok(mut streams) = self.streams.lock() {
            streams.extend([client, server]);
        }
        Ok(())
    }

    fn read(&self, mut from: TcpStream, sender: &Sender<(Instant, Vec<u8>)>) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let due = Instant::now() + self.delay;
            if sender.send((due, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    }

    fn write(&self, mut to: TcpStream, receiver: &Receiver<(Instant, Vec<u8>)>, answers: bool) {
        while let Ok((due, bytes)) = receiver.recv() {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            while answers && self.is_mute.load(Ordering::SeqCst) && !self.is_over.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
            if self.is_cut.load(Ordering::SeqCst) {
                continue;
            }
            if to.write_all(&bytes).is_err() {
                break;
            }
            if !answers {
                self.arrived.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    }

    fn end_all(&self) {
        if let Ok(mut streams) = self.streams.lock() {
            for stream in streams.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}
