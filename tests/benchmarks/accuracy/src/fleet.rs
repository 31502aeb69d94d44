//! The processes that share a limit, and what comes of their checks.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::contender::is_of_node;
use crate::{LIMIT, PROCESSES, Result};

/// Not counted: limiters learn how busy a key is, and spend its burst.
const WARM_UP_MS: usize = 2_000;
const MEASURED_MS: usize = 4_000;
const FULL_MS: usize = 1_500;
const SECOND_MS: usize = 1_000;

/// What comes of a contender's checks.
pub(crate) struct Outcome {
    pub(crate) checks: u64,
    pub(crate) admitted: u64,
    pub(crate) seconds: f64,
    /// The most that was surely admitted in a second.
    pub(crate) fullest: u64,
    pub(crate) server_calls: u64,
    /// At full speed, of all processes.
    pub(crate) per_second: f64,
    pub(crate) cpu_us: f64,
}

struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

pub(crate) struct Fleet(Vec<Worker>);

impl Worker {
    fn start(name: &str, url: &str, ports: &str, number: usize) -> Result<Self> {
        let mut command = if is_of_node(name) {
            let mut node = Command::new("node");
            node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../bindings-node/benchmarks/accuracy.mjs"));
            node
        } else {
            Command::new(env::current_exe()?)
        };
        command.args(["worker", name, url, ports, &number.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, input, output })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.output.read_line(&mut line)? {
            0 => Err("a process ended early".into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ports that nobody listens on; they are free again when this returns.
fn free_ports() -> Result<String> {
    let sockets =
        (0..PROCESSES).map(|_| UdpSocket::bind("127.0.0.1:0")).collect::<std::io::Result<Vec<_>>>()?;
    let port = |socket: &UdpSocket| socket.local_addr().map(|address| address.port().to_string());
    Ok(sockets.iter().map(port).collect::<std::io::Result<Vec<_>>>()?.join(","))
}

/// Calls of scripts so far, by all clients.
fn server_calls(url: &str) -> Result<u64> {
    let mut connection = redis::Client::open(url)?.get_connection()?;
    let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut connection)?;
    let scripts = ["cmdstat_evalsha:", "cmdstat_eval:", "cmdstat_fcall:"];
    let of_scripts = |line: &&str| scripts.iter().any(|script| line.starts_with(script));
    let calls = |line: &str| line.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok();
    Ok(stats.lines().filter(of_scripts).filter_map(calls).sum())
}

impl Fleet {
    pub(crate) fn start(name: &str, url: &str) -> Result<Self> {
        let ports = free_ports()?;
        let workers = (0..PROCESSES).map(|number| Worker::start(name, url, &ports, number));
        let mut fleet = Self(workers.collect::<Result<_>>()?);
        fleet.0.iter_mut().try_for_each(|worker| worker.line().map(drop))?;
        Ok(fleet)
    }

    /// Has every process do the same, and reads what each says.
    fn ask(&mut self, line: &str) -> Result<Vec<String>> {
        for worker in &mut self.0 {
            writeln!(worker.input, "{line}")?;
        }
        self.0.iter_mut().map(Worker::line).collect()
    }

    /// Checks at a rate, and answers how many there were, with what was admitted by when it began and when it ended.
    fn paced(&mut self, ms: usize, offered: f64) -> Result<(u64, Vec<u64>, Vec<u64>)> {
        // Fixed windows begin then, too.
        let start = (SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() + 1) * SECOND_MS as u64;
        let rate = offered * LIMIT as f64 / PROCESSES as f64;
        let (mut checks, mut begun, mut ended) = (0, vec![0; ms], vec![0; ms]);
        for line in self.ask(&format!("paced {start} {ms} {rate}"))? {
            let words: Vec<_> = line.split(' ').collect();
            let [count, begins, ends] = words[..] else { return Err("a process says too little".into()) };
            checks += count.parse::<u64>()?;
            for (sums, counts) in [(&mut begun, begins), (&mut ended, ends)] {
                for (sum, count) in sums.iter_mut().zip(counts.split(',')) {
                    *sum += count.parse::<u64>()?;
                }
            }
        }
        Ok((checks, begun, ended))
    }

    pub(crate) fn measure(&mut self, url: &str, offered: f64) -> Result<Outcome> {
        self.paced(WARM_UP_MS, offered)?;
        let before = server_calls(url)?;
        let (checks, begun, ended) = self.paced(MEASURED_MS, offered)?;
        let server_calls = server_calls(url)? - before;
        let mut full = (0.0, 0.0);
        for line in self.ask(&format!("full {FULL_MS}"))? {
            let (count, cpu) = line.split_once(' ').ok_or("a process says too little")?;
            full = (full.0 + count.parse::<f64>()?, full.1 + cpu.parse::<f64>()?);
        }
        Ok(Outcome {
            checks,
            admitted: ended.iter().sum(),
            seconds: MEASURED_MS as f64 / 1e3,
            fullest: fullest(&begun, &ended),
            server_calls,
            per_second: full.0 / (FULL_MS as f64 / 1e3),
            cpu_us: full.1 / full.0,
        })
    }
}

/// The most that was admitted in a second: of what ended until its last millisecond, what began before it is not surely in it.
fn fullest(begun: &[u64], ended: &[u64]) -> u64 {
    let (mut until, mut before, mut most) = (0, 0, 0);
    for (at, count) in ended.iter().enumerate() {
        until += count;
        if at >= SECOND_MS {
            before += begun[at - SECOND_MS];
        }
        most = most.max(until.saturating_sub(before));
    }
    most
}
