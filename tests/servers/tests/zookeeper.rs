//! The ensemble starts, survives, and can be steered; znodes and sessions too.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use sluicegate_test_servers::{Error, Result, ZooKeeper};

const DEADLINE: Duration = Duration::from_secs(30);

/// ZooKeeper's own client, which shares no code with ours, at its prompt. It ends with its input.
struct Client {
    child: Child,
    output: Receiver<String>,
}

impl Client {
    fn connect(ensemble: &ZooKeeper) -> Result<Self> {
        let mut child = Command::new("java")
            .args(["-cp", "/usr/share/java/zookeeper.jar", "org.apache.zookeeper.ZooKeeperMain"])
            .args(["-timeout", "4000", "-server", &ensemble.hosts()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (sender, output) = channel();
        let lines = child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
        thread::spawn(move || lines.map_while(|line| line.ok()).try_for_each(|line| sender.send(line)));
        let client = Self { child, output };
        assert!(client.says("state:SyncConnected"));
        Ok(client)
    }

    /// Whether a further line has this text, within a deadline.
    fn says(&self, text: &str) -> bool {
        let end = Instant::now() + DEADLINE;
        while let Ok(line) = self.output.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(text) {
                return true;
            }
        }
        false
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message<T>(result: Result<T>) -> String {
    result.err().map(|error: Error| error.to_string()).unwrap_or_default()
}

#[test]
fn znodes_are_made_changed_read_and_removed() -> Result<()> {
    let start = Instant::now();
    let ensemble = ZooKeeper::start()?;
    println!("three servers started in {:?}", start.elapsed());
    assert_eq!(ensemble.hosts().split(',').count(), 3);

    let admin = ensemble.admin();
    assert_eq!(admin.get("/limits/api")?, None);
    admin.create("/limits/api", "10/s")?;
    admin.create("/limits/login", "")?;
    assert_eq!(admin.get("/limits/api")?.as_deref(), Some(&b"10/s"[..]));
    assert_eq!(admin.get("/limits")?.as_deref(), Some(&b""[..]));
    admin.set("/limits/api", "20/s")?;
    assert_eq!(admin.get("/limits/api")?.as_deref(), Some(&b"20/s"[..]));
    assert_eq!(admin.children("/limits")?, ["api", "login"]);

    assert!(message(admin.create("/limits/api", "")).contains("already there"));
    assert!(message(admin.delete("/limits")).contains("has children"));
    admin.delete("/limits/login")?;
    assert!(message(admin.set("/limits/login", "")).contains("no such znode"));

    let alice = admin.with_digest("alice:secret");
    alice.create("/secret/api", "30/s")?;
    alice.set("/secret/api", "40/s")?;
    assert_eq!(alice.get("/secret/api")?.as_deref(), Some(&b"40/s"[..]));
    for stranger in [admin.clone(), admin.with_digest("alice:guess")] {
        assert!(message(stranger.get("/secret/api")).contains("not permitted"));
        assert!(message(stranger.set("/secret/api", "")).contains("not permitted"));
    }
    Ok(())
}

#[test]
fn znodes_survive_every_server() -> Result<()> {
    let ensemble = ZooKeeper::start()?;
    let admin = ensemble.admin();
    admin.create("/color", "green")?;

    let start = Instant::now();
    let old = ensemble.leader()?;
    ensemble.kill(old);
    ensemble.wait_until_serving()?;
    println!("new leader after a kill in {:?}", start.elapsed());
    assert_ne!(ensemble.leader()?, old);
    admin.set("/color", "blue")?;
    let start = Instant::now();
    ensemble.restart(old)?;
    println!("restarted in {:?}", start.elapsed());

    let start = Instant::now();
    let hangs = ensemble.leader()?;
    ensemble.pause(hangs)?;
    ensemble.wait_until_serving()?;
    println!("new leader after a pause in {:?}", start.elapsed());
    assert_ne!(ensemble.leader()?, hangs);
    admin.set("/color", "red")?;
    ensemble.resume(hangs)?;
    ensemble.wait_until_serving()?;

    (0..3).for_each(|index| ensemble.kill(index));
    assert!(ensemble.pids().is_empty() && ensemble.pause(0).is_err() && ensemble.leader().is_err());
    (0..3).try_for_each(|index| ensemble.restart(index))?;
    assert_eq!(admin.get("/color")?.as_deref(), Some(&b"red"[..]));
    Ok(())
}

#[test]
fn the_session_of_another_client_can_be_expired() -> Result<()> {
    let ensemble = ZooKeeper::start()?;
    let client = Client::connect(&ensemble)?;
    let [(session, server)] = ensemble.sessions()?[..] else { panic!("there is one client") };

    // The session moves to another server and stays the same.
    ensemble.kill(server);
    assert!(client.says("state:Disconnected"));
    assert!(client.says("state:SyncConnected"));
    assert!(ensemble.server_of(session)?.is_some_and(|other| other != server));
    ensemble.restart(server)?;

    let start = Instant::now();
    ensemble.expire(session)?;
    println!("expired in {:?}", start.elapsed());
    // What a leader lists that is busy may be out of date; the client hears it from the servers.
    assert!(client.says("state:Disconnected"));
    assert!(client.says("state:Expired"));
    assert_eq!(ensemble.server_of(session)?, None);
    Ok(())
}
