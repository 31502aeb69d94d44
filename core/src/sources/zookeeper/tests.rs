//! Answers that real servers give seldom, or to few.

use std::io::{ErrorKind as IoErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::super::tests::until;
use super::ZooKeeperSource;
use super::wire::PING;
use crate::RateLimiter;

/// The kinds of requests.
const CHILDREN: i32 = 8;
const PINGED: i32 = 11;

/// What a server sends when it is asked.
enum Answer {
    Code(i32),
    /// The body of an answer that ends the connection.
    LastBody(Vec<u8>),
}

/// Starts a server that has one client at a time, and answers by the kind of the request. It ends with the
/// process.
fn server(answer: impl FnMut(i32) -> Answer + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut answer = answer;
    thread::spawn(move || {
        for client in listener.incoming() {
            // A client may go away whenever it likes.
            let _ = serve(client?, &mut answer);
        }
        Ok::<_, std::io::Error>(())
    });
    address
}

fn serve(mut client: TcpStream, answer: &mut impl FnMut(i32) -> Answer) -> Result<()> {
    frame(&mut client)?;
    // Protocol, timeout, session and its password.
    send(&mut client, &[&[0; 4], &6_000_i32.to_be_bytes(), &[0; 8], &text(&[0; 16])])?;
    loop {
        let request = frame(&mut client)?;
        let (xid, kind) = request.split_at_checked(4).ok_or(IoErrorKind::InvalidData)?;
        let kind = kind.first_chunk().map_or(0, |kind| i32::from_be_bytes(*kind));
        if kind == PINGED {
            send(&mut client, &[&PING.to_be_bytes(), &[0; 12]])?;
            continue;
        }
        match answer(kind) {
            Answer::Code(code) => send(&mut client, &[xid, &[0; 8], &code.to_be_bytes()])?,
            Answer::LastBody(body) => return send(&mut client, &[xid, &[0; 12], &body]),
        }
    }
}

fn frame(client: &mut TcpStream) -> Result<Vec<u8>> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut frame = vec![0; u32::from_be_bytes(length) as usize];
    client.read_exact(&mut frame)?;
    Ok(frame)
}

fn send(client: &mut TcpStream, parts: &[&[u8]]) -> Result<()> {
    client.write_all(&text(&parts.concat()))
}

/// Bytes after their length, as texts and frames are.
fn text(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
}

fn names(names: &[&str]) -> Vec<u8> {
    let count = (names.len() as u32).to_be_bytes().to_vec();
    names.iter().fold(count, |bytes, name| [bytes, text(name.as_bytes())].concat())
}

fn source(servers: &[SocketAddr]) -> ZooKeeperSource {
    let servers: Vec<_> = servers.iter().map(SocketAddr::to_string).collect();
    ZooKeeperSource::new(&format!("zookeeper://{}/rules", servers.join(","))).unwrap()
}

fn limiter(servers: &[SocketAddr]) -> RateLimiter {
    RateLimiter::builder("memory://").rules(source(servers)).build().unwrap()
}

/// Whoever asked the same one again would wait for it once more, if it hangs.
#[test]
fn another_server_is_asked_when_one_is_lost() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let servers = [0, 1].map(|number| {
        let heard = Arc::clone(&asked);
        server(move |kind| {
            if kind != CHILDREN {
                return Answer::Code(0);
            }
            heard.lock().unwrap().push(number);
            Answer::LastBody(names(&[]))
        })
    });
    let limiter = limiter(&servers);
    until(&limiter, |_| asked.lock().unwrap().len() >= 8);
    let asked = asked.lock().unwrap();
    assert!(asked.windows(2).all(|two| two[0] != two[1]), "{asked:?}");
}
