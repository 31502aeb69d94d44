//! Fake servers, which answer what a test says, and when it says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// The commands that a driver sends.
const NAMES: [&str; 7] = ["PING", "HELLO", "ROLE", "CLUSTER", "ASKING", "EVALSHA", "EVAL"];
const PONG: &str = "+PONG\r\n";
/// Of a question that travels with calls now and then.
const MASTER: &str = "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n";

/// Answers the commands that come together on a connection, which have numbers; `None` ends the connection.
fn serve(answer: impl Fn(usize, &str, &mut TcpStream) -> Option<()> + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let (mut stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || {
                let mut commands = vec![0; 1 << 20];
                while let Ok(length @ 1..) = stream.read(&mut commands) {
                    let commands = String::from_utf8_lossy(&commands[..length]);
                    if answer(number, &commands, &mut stream).is_none() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The names of the commands that come together, in their order: a busy machine may bring several batches at once.
fn names(commands: &str) -> impl Iterator<Item = &'static str> {
    let places = |name: &'static str| {
        let line = format!("\r\n{name}\r\n");
        commands.match_indices(&line).map(|(place, _)| (place, name)).collect::<Vec<_>>()
    };
    let mut found: Vec<_> = NAMES.into_iter().flat_map(places).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name)
}

/// The answers to commands in their order; those that every server answers alike need no text of `answer`.
fn answers<'a>(commands: &str, answer: impl Fn(&str) -> &'a str) -> String {
    names(commands)
        .map(|name| match name {
            "PING" => PONG,
            "ROLE" => MASTER,
            other => answer(other),
        })
        .collect()
}

/// The URL of a server that answers every command with the text that `answer` has for the number of the connection and
/// the command's name; `None` ends the connection.
pub(super) fn scripted(answer: impl Fn(usize, &str) -> Option<String> + Clone + Send + 'static) -> String {
    let address = serve(move |number, commands, stream| {
        for name in names(commands) {
            let answer = match name {
                "ROLE" => MASTER.to_owned(),
                // A script, by its text or by its digest.
                name => answer(number, if name == "PING" { name } else { "EVAL" })?,
            };
            let _ = stream.write_all(answer.as_bytes());
        }
        Some(())
    });
    format!("redis://{address}")
}

/// Answers a PING at once, and so many scripts as come together after a while.
pub(super) struct Slow {
    pub(super) url: String,
    /// Whether scripts that are called by their digests are unknown from now on.
    pub(super) forgets: Arc<AtomicBool>,
}

impl Slow {
    /// `answer` is the time for all scripts that come together by their digests, `whole` that for each that comes in
    /// full.
    pub(super) fn start(answer: Duration, whole: Duration) -> Self {
        let forgets = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&forgets);
        let address = serve(move |_, commands, stream| {
            let is_known = !flag.load(Ordering::Relaxed);
            if is_known && names(commands).any(|name| name == "EVALSHA") {
                thread::sleep(answer);
            }
            for name in names(commands) {
                if name == "EVAL" {
                    thread::sleep(whole);
                }
                let answer = match name {
                    "PING" => PONG,
                    "ROLE" => MASTER,
                    "EVALSHA" if !is_known => "-NOSCRIPT No matching script.\r\n",
                    _ => ":1\r\n",
                };
                let _ = stream.write_all(answer.as_bytes());
            }
            Some(())
        });
        Self { url: format!("redis://{address}"), forgets }
    }
}

/// The address of a server that takes a while until it answers on a connection.
pub(super) fn reluctant(delay: Duration) -> SocketAddr {
    serve(move |_, commands, stream| {
        if names(commands).any(|name| name == "PING") {
            thread::sleep(delay);
        }
        let answer = |name: &str| if name == "ASKING" { "+OK\r\n" } else { ":1\r\n" };
        stream.write_all(answers(commands, answer).as_bytes()).ok()
    })
}

/// The URL of a Cluster of one node, which sends every script to another server that owns nothing yet.
pub(super) fn moving_to(target: SocketAddr) -> String {
    let address = serve(move |_, commands, stream| {
        let port = stream.local_addr().ok()?.port();
        let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
        let moved = format!("-ASK 1 {target}\r\n");
        let answer = |name: &str| if name == "CLUSTER" { slots.as_str() } else { &moved };
        stream.write_all(answers(commands, answer).as_bytes()).ok()
    });
    format!("redis-cluster://{address}")
}

/// The address of a node of a Cluster that says that all slots belong to the node with this port.
pub(crate) fn node_led_by(owner: &Arc<AtomicU16>) -> SocketAddr {
    let owner = Arc::clone(owner);
    serve(move |_, commands, stream| {
        let port = owner.load(Ordering::SeqCst);
        let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
        let answer = |name: &str| if name == "CLUSTER" { slots.as_str() } else { "" };
        stream.write_all(answers(commands, answer).as_bytes()).ok()
    })
}

/// The URL of a Cluster of two nodes with two replicas each. Every other slot belongs to the second node; a script is answered
/// with the number of its node, from 0.
pub(super) fn scattered() -> String {
    let answer = Arc::new(OnceLock::<String>::new());
    let nodes = [0, 1].map(|number| {
        let slots = Arc::clone(&answer);
        serve(move |_, commands, stream| {
            let (slots, own) = (slots.get()?, format!(":{number}\r\n"));
            let answer = |name: &str| if name == "CLUSTER" { slots.as_str() } else { &own };
            stream.write_all(answers(commands, answer).as_bytes()).ok()
        })
    });
    let node = |address: SocketAddr| {
        format!("*4\r\n$9\r\n127.0.0.1\r\n:{}\r\n$40\r\n{:040}\r\n*0\r\n", address.port(), address.port())
    };
    let range = |slot: usize| format!("*5\r\n:{slot}\r\n:{slot}\r\n{}", node(nodes[slot % 2]).repeat(3));
    answer.get_or_init(|| "*16384\r\n".to_owned() + &(0..16384).map(range).collect::<String>());
    format!("redis-cluster://{}", nodes[0])
}

/// The URL of a server that answers a script with pushes, and no end of them.
pub(crate) fn flooding() -> String {
    let pushes = ">2\r\n+message\r\n$64\r\n".to_owned() + &"x".repeat(64) + "\r\n";
    let pushes = pushes.repeat(1000);
    let address = serve(move |_, commands, stream| {
        if commands.contains("\r\nEVAL") {
            while stream.write_all(pushes.as_bytes()).is_ok() {}
            return None;
        }
        let answer = |name: &str| if name == "HELLO" { "%0\r\n" } else { "" };
        stream.write_all(answers(commands, answer).as_bytes()).ok()
    });
    format!("redis://{address}?protocol=resp3")
}

/// The address of a server that answers a PING at once and all else without end, beginning with this.
pub(super) fn trickling(begun: &'static [u8]) -> SocketAddr {
    serve(move |_, commands, stream| {
        if commands.starts_with("*1\r\n$4\r\nPING") {
            return stream.write_all(b"+PONG\r\n").ok();
        }
        let _ = stream.write_all(begun);
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(50));
        }
        None
    })
}
