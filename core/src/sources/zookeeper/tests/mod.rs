//! Answers that real servers give seldom, or to few.

mod fuzz;

use std::io::{ErrorKind as IoErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tokio::runtime;

use super::super::tests::{rule, until};
use super::ZooKeeperSource;
use super::wire::{EVENT, NO_AUTH, NO_NODE, NODE_EXISTS, PING};
use crate::{ErrorKind, RateLimiter};

/// The kinds of requests.
const CREATE: i32 = 1;
const EXISTS: i32 = 3;
const DATA: i32 = 4;
const SET: i32 = 5;
const CHILDREN: i32 = 8;
const PINGED: i32 = 11;
const CLOSE: i32 = -11;

/// A server that is too busy, for a request that waited for too long.
const THROTTLED: i32 = -127;

/// What a server sends when it is asked.
enum FakeReply {
    Code(i32),
    Body(Vec<u8>),
    /// The body of an answer, and then an event.
    BodyAndEvent(Vec<u8>),
    /// The body of an answer that ends the connection.
    LastBody(Vec<u8>),
    /// The end of the connection.
    Nothing,
}

/// Starts a server that has one client at a time, and answers by the kind of the request. It ends with the
/// process.
fn server(answer: impl FnMut(i32) -> FakeReply + Send + 'static) -> SocketAddr {
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

fn serve(mut client: TcpStream, answer: &mut impl FnMut(i32) -> FakeReply) -> Result<()> {
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
            FakeReply::Code(code) => send(&mut client, &[xid, &[0; 8], &code.to_be_bytes()])?,
            FakeReply::Body(body) => send(&mut client, &[xid, &[0; 12], &body])?,
            FakeReply::BodyAndEvent(body) => {
                send(&mut client, &[xid, &[0; 12], &body])?;
                // Its kind and the state of the session are nothing to us.
                send(&mut client, &[&EVENT.to_be_bytes(), &[0; 12], &[0; 8], &text(b"/rules")])?;
            }
            FakeReply::LastBody(body) => return send(&mut client, &[xid, &[0; 12], &body]),
            FakeReply::Nothing => return Ok(()),
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

fn wait_for<T>(future: impl Future<Output = T>) -> T {
    runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

#[test]
fn a_result_is_returned_however_the_session_ends() {
    let done = server(|kind| if kind == CLOSE { FakeReply::Nothing } else { FakeReply::Code(0) });
    wait_for(source(&[done]).put("a", "{}")).unwrap();
    assert!(wait_for(source(&[done]).delete("a")).unwrap());
    let refused = server(|kind| if kind == CLOSE { FakeReply::Nothing } else { FakeReply::Code(NO_AUTH) });
    let error = wait_for(source(&[refused]).delete("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
}

#[test]
fn a_rule_that_comes_and_goes_meanwhile_is_put() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let busy = server(move |kind| {
        let mut heard = heard.lock().unwrap();
        heard.push(kind);
        match (kind, heard.len()) {
            (SET, 1 | 3) => FakeReply::Code(NO_NODE),
            (CREATE, 2) => FakeReply::Code(NODE_EXISTS),
            _ => FakeReply::Code(0),
        }
    });
    wait_for(source(&[busy]).put("a", "{}")).unwrap();
    assert_eq!(*asked.lock().unwrap(), [SET, CREATE, SET, CREATE, CLOSE]);
}

/// A retry on the same server would wait for it once more, if it hangs.
#[test]
fn another_server_is_asked_when_one_is_lost() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let servers = [0, 1].map(|number| {
        let heard = Arc::clone(&asked);
        server(move |kind| {
            if kind != CHILDREN {
                return FakeReply::Code(0);
            }
            heard.lock().unwrap().push(number);
            FakeReply::LastBody(names(&[]))
        })
    });
    let limiter = limiter(&servers);
    until(&limiter, |_| asked.lock().unwrap().len() >= 8);
    let asked = asked.lock().unwrap();
    assert!(asked.windows(2).all(|two| two[0] != two[1]), "{asked:?}");
}

/// How the list of a common znode is answered that goes as soon as it was seen.
fn gone_for_a_while(times: usize) -> FakeReply {
    match times {
        1 => FakeReply::BodyAndEvent(names(&[])),
        2 => FakeReply::Code(NO_NODE),
        _ => FakeReply::Body(names(&[])),
    }
}

#[test]
fn a_znode_that_comes_back_without_rules_is_reachable() {
    let listed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&listed);
    let address = server(move |kind| {
        if kind != CHILDREN {
            return FakeReply::Code(0);
        }
        let mut count = count.lock().unwrap();
        *count += 1;
        gone_for_a_while(*count)
    });
    let limiter = limiter(&[address]);
    // Before the third answer it is known to be gone.
    until(&limiter, |status| *listed.lock().unwrap() >= 3 && status.reachable);
}

#[test]
fn what_a_server_does_not_watch_for_is_not_waited_for() {
    let mut listed = 0;
    let address = server(move |kind| match kind {
        CHILDREN if listed < 2 => {
            listed += 1;
            gone_for_a_while(listed)
        }
        CHILDREN => FakeReply::Body(names(&["a"])),
        EXISTS => FakeReply::Code(THROTTLED),
        DATA => FakeReply::Body(text(rule("a", 1).as_bytes())),
        _ => FakeReply::Code(0),
    });
    until(&limiter(&[address]), |status| status.rules == 1);
}
