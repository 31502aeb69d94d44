//! A relay in front of a server that notes what clients send: so the calls that are measured are those that
//! the library makes, to the byte.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::{io, thread};

#[derive(Debug)]
pub(crate) struct Tap {
    address: String,
    sent: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    /// Relays to `server` for as long as the process lives.
    pub(crate) fn before(server: String) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let sent = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&sent);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if let Ok(server) = TcpStream::connect(&server) {
                    relay(client, server, &notes);
                }
            }
        });
        Ok(Self { address, sent })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// What was sent since this was asked last.
    pub(crate) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.sent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Copies both ways until either side closes.
fn relay(client: TcpStream, server: TcpStream, notes: &Arc<Mutex<Vec<u8>>>) {
    let (Ok(client_again), Ok(server_again)) = (client.try_clone(), server.try_clone()) else { return };
    let notes = Arc::clone(notes);
    thread::spawn(move || {
        copy(client, server, |bytes| notes.lock().unwrap_or_else(PoisonError::into_inner).extend(bytes));
    });
    thread::spawn(move || copy(server_again, client_again, |_| {}));
}

fn copy(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        // Noted before it is passed on: whoever has the reply finds the call here.
        note(&buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // The other side may be closed already.
    let _ = to.shutdown(Shutdown::Both);
}
