//! Fake servers, which answer what a test says, and when it says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// A question that travels with calls now and then, and its answer.
const ROLE: &str = "\r\nROLE\r\n";
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

fn roles(commands: &str) -> String {
    MASTER.repeat(commands.matches(ROLE).count())
}

/// The URL of a server that answers every command with the text that `answer` has for the number of the connection and
/// the command's name; `None` ends the connection.
pub(super) fn scripted(answer: impl Fn(usize, &str) -> Option<String> + Clone + Send + 'static) -> String {
    let address = serve(move |number, commands, stream| {
        // By its text or by its digest.
        let name = if commands.contains("PING") { "PING" } else { "EVAL" };
        let answer = answer(number, name)?;
        let answers = roles(commands) + &answer.repeat(commands.matches(&format!("\r\n{name}")).count());
        let _ = stream.write_all(answers.as_bytes());
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
            let [pings, digests, texts] = ["\r\nPING\r\n", "\r\nEVALSHA\r\n", "\r\nEVAL\r\n"]
                .map(|name| commands.matches(name).count());
            let mut answers = "+PONG\r\n".repeat(pings) + &roles(commands);
            if flag.load(Ordering::Relaxed) {
                answers += &"-NOSCRIPT No matching script.\r\n".repeat(digests);
            } else if digests > 0 {
                thread::sleep(answer);
                answers += &":1\r\n".repeat(digests);
            }
            let _ = stream.write_all(answers.as_bytes());
            for _ in 0..texts {
                thread::sleep(whole);
                let _ = stream.write_all(b":1\r\n");
            }
            Some(())
        });
        Self { url: format!("redis://{address}"), forgets }
    }
}

/// The address of a server that takes a while until it answers on a connection.
pub(super) fn reluctant(delay: Duration) -> SocketAddr {
    serve(move |_, commands, stream| {
        let [pings, askings, scripts] =
            ["\r\nPING\r\n", "\r\nASKING\r\n", "\r\nEVAL"].map(|name| commands.matches(name).count());
        if pings > 0 {
            thread::sleep(delay);
        }
        let answers = "+PONG\r\n".repeat(pings) + &roles(commands) + &"+OK\r\n".repeat(askings);
        stream.write_all((answers + &":1\r\n".repeat(scripts)).as_bytes()).ok()
    })
}

/// The URL of a Cluster of one node, which sends every script to another server that owns nothing yet.
pub(super) fn moving_to(target: SocketAddr) -> String {
    let address = serve(move |_, commands, stream| {
        let port = stream.local_addr().ok()?.port();
        let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
        let [pings, clusters, scripts] =
            ["\r\nPING\r\n", "\r\nCLUSTER\r\n", "\r\nEVAL"].map(|name| commands.matches(name).count());
        let answers = "+PONG\r\n".repeat(pings) + &roles(commands) + &slots.repeat(clusters);
        stream.write_all((answers + &format!("-ASK 1 {target}\r\n").repeat(scripts)).as_bytes()).ok()
    });
    format!("redis-cluster://{address}")
}

/// The address of a node of a Cluster that says that all slots belong to the node with this port.
pub(crate) fn node_led_by(owner: &Arc<AtomicU16>) -> SocketAddr {
    let owner = Arc::clone(owner);
    serve(move |_, commands, stream| {
        let port = owner.load(Ordering::SeqCst);
        let slots = format!("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n");
        let [pings, clusters] =
            ["\r\nPING\r\n", "\r\nCLUSTER\r\n"].map(|name| commands.matches(name).count());
        let answers = "+PONG\r\n".repeat(pings) + &roles(commands) + &slots.repeat(clusters);
        stream.write_all(answers.as_bytes()).ok()
    })
}

/// The URL of a Cluster of two nodes with two replicas each. Every other slot belongs to the second node; a script is answered
/// with the number of its node, from 0.
pub(super) fn scattered() -> String {
    let answer = Arc::new(OnceLock::<String>::new());
    let nodes = [0, 1].map(|number| {
        let slots = Arc::clone(&answer);
        serve(move |_, commands, stream| {
            let [pings, clusters, scripts] =
                ["\r\nPING\r\n", "\r\nCLUSTER\r\n", "\r\nEVAL"].map(|name| commands.matches(name).count());
            let answers = "+PONG\r\n".repeat(pings) + &roles(commands) + &slots.get()?.repeat(clusters);
            stream.write_all((answers + &format!(":{number}\r\n").repeat(scripts)).as_bytes()).ok()
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
        let [hellos, pings] = ["\r\nHELLO\r\n", "\r\nPING\r\n"].map(|name| commands.matches(name).count());
        let answers = "%0\r\n".repeat(hellos) + &"+PONG\r\n".repeat(pings) + &roles(commands);
        stream.write_all(answers.as_bytes()).ok()
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
