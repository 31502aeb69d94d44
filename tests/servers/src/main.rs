//! Servers for test runners in other languages.
//!
//! `sluicegate-test-servers start redis|tls|cluster|sentinel|zookeeper|regions|all ...` prints one line of JSON with a URL
//! for each kind of server (for ZooKeeper: its hosts) and the ids of all processes, and keeps the servers until
//! its standard input ends. Until then it obeys [`commands`].

mod commands;

use std::any::Any;
use std::collections::HashMap;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sluicegate_test_servers::{
    Cluster, Node, Options, Redis, Regions, Result, Sentinel, Transport, ZooKeeper,
};

const USAGE: &str =
    "usage: sluicegate-test-servers start redis|tls|cluster|sentinel|zookeeper|regions|all ...";

/// A kind of server and how to start one.
type Kind = (&'static str, fn() -> Result<Started>);

const KINDS: [Kind; 6] = [
    ("redis", redis),
    ("tls", tls),
    ("cluster", cluster),
    ("sentinel", sentinel),
    ("zookeeper", zookeeper),
    ("regions", regions),
];

/// From the other regions to each, and back.
const TRIPS: [Duration; 3] =
    [Duration::from_millis(40), Duration::from_millis(80), Duration::from_millis(150)];

/// Servers that run until this is dropped, and what a runner needs to know of them.
struct Started {
    entries: Vec<(&'static str, String)>,
    pids: Vec<u32>,
    servers: Box<dyn Any + Send>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(kinds) = requested(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match serve(&kinds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The kinds asked for, or nothing if the arguments make no sense.
fn requested(arguments: &[String]) -> Option<Vec<Kind>> {
    let (command, names) = arguments.split_first()?;
    let is_known = |name: &String| name == "all" || KINDS.iter().any(|(kind, _)| kind == name);
    if command != "start" || names.is_empty() || !names.iter().all(is_known) {
        return None;
    }
    let is_wanted = |(kind, _): &Kind| names.iter().any(|name| name == kind || name == "all");
    Some(KINDS.into_iter().filter(is_wanted).collect())
}

fn serve(kinds: &[Kind]) -> Result<()> {
    let all = start(kinds)?;
    let entries = all.iter().flat_map(|started| &started.entries);
    let mut line: Map<String, Value> =
        entries.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    line.insert("pids".to_owned(), all.iter().flat_map(|started| started.pids.clone()).collect());
    println!("{}", Value::Object(line));
    commands::obey(
        all.iter().find_map(|started| started.servers.downcast_ref::<ZooKeeper>()),
        all.iter().find_map(|started| started.servers.downcast_ref::<Regions>()),
    )
}

/// Starts all kinds at once, since most of the time each of them waits.
fn start(kinds: &[Kind]) -> Result<Vec<Started>> {
    thread::scope(|scope| {
        let starts: Vec<_> = kinds.iter().map(|(_, start)| scope.spawn(start)).collect();
        starts.into_iter().map(|start| start.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

fn redis() -> Result<Started> {
    let server = Redis::start()?;
    let entries = vec![("redis", server.url().to_owned())];
    Ok(Started { entries, pids: pids([&*server]), servers: Box::new(server) })
}

fn tls() -> Result<Started> {
    let server = Redis::with(&Options { transport: Transport::MutualTls, ..Options::default() })?;
    let mut entries = vec![("tls", server.url().to_owned())];
    if let Some(certificates) = server.certificates() {
        entries.extend([
            ("tls_ca", certificates.ca_pem().display().to_string()),
            ("tls_cert", certificates.cert_pem().display().to_string()),
            ("tls_key", certificates.key_pem().display().to_string()),
        ]);
    }
    Ok(Started { entries, pids: pids([&*server]), servers: Box::new(server) })
}

fn cluster() -> Result<Started> {
    let servers = Cluster::start()?;
    let entries = vec![("cluster", servers.url())];
    Ok(Started { entries, pids: pids(servers.nodes()), servers: Box::new(servers) })
}

fn sentinel() -> Result<Started> {
    let servers = Sentinel::start()?;
    let entries = vec![("sentinel", servers.url())];
    let pids = pids(servers.servers().iter().chain(servers.sentinels()));
    Ok(Started { entries, pids, servers: Box::new(servers) })
}

fn zookeeper() -> Result<Started> {
    let servers = ZooKeeper::start()?;
    let entries = vec![("zookeeper", servers.hosts())];
    Ok(Started { entries, pids: servers.pids(), servers: Box::new(servers) })
}

/// For each region the URLs of all as it sees them, as JSON.
fn regions() -> Result<Started> {
    let servers = Regions::start(TRIPS)?;
    let seen = |place| servers.urls(place).into_iter().collect::<HashMap<_, _>>();
    let entries =
        Regions::NAMES.into_iter().enumerate().map(|(place, name)| (name, json!(seen(place)).to_string()));
    let entries = entries.collect();
    let pids = pids((0..Regions::NAMES.len()).map(|place| &**servers.server(place)));
    Ok(Started { entries, pids, servers: Box::new(servers) })
}

fn pids<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Vec<u32> {
    nodes.into_iter().filter_map(Node::pid).collect()
}
