//! What real processes admit together by what they borrow: even and uneven ones, one that hoards, and some that are killed or
//! stopped meanwhile.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sluicegate::Source;
use sluicegate_conformance::patient;
use sluicegate_test_servers::Redis;

const RULE: &str = r#"[{"rule_id": "r", "limit": 1000, "window_size_seconds": 1, "burst": 200,
    "lease": {"max_age_ms": 100, "pace_ms": 25}}]"#;
const RATE: f64 = 1000.0;
const BURST: f64 = 200.0;
const AGE: f64 = 0.1;

const URL: &str = "SLUICEGATE_LEASES_URL";
const LASTS: &str = "SLUICEGATE_LEASES_MS";
const PAUSE: &str = "SLUICEGATE_LEASES_PAUSE_US";
const BURSTS: &str = "SLUICEGATE_LEASES_BURSTS";

/// An admitted call: when it began and ended, in seconds by the clock of the machine, and whether borrowed units paid for it.
type Call = (f64, f64, bool);

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

fn number(name: &str) -> u64 {
    env::var(name).unwrap().parse().unwrap()
}

/// Not a test, but what the processes of one do.
#[test]
#[ignore = "a part of the others"]
fn process() {
    let Ok(url) = env::var(URL) else { return };
    let limiter = patient(&url, RULE).build().unwrap();
    let (began, pause, bursts) = (Instant::now(), Duration::from_micros(number(PAUSE)), number(BURSTS));
    let lasts = Duration::from_millis(number(LASTS));
    while began.elapsed() < lasts {
        for _ in 0..bursts {
            let sent = now();
            let decision = limiter.check("r", "k").unwrap();
            if decision.allowed {
                println!("call {sent:.6} {:.6} {}", now(), decision.source == Source::Lease);
            }
        }
        thread::sleep(pause);
    }
    limiter.close();
}

struct Process {
    child: Child,
    calls: JoinHandle<Vec<Call>>,
}

impl Process {
    fn start(url: &str, (pause_us, bursts): (u64, u64), lasts: Duration) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "processes::process", "--ignored", "--nocapture"]).stdout(Stdio::piped());
        command.env(URL, url).env(LASTS, lasts.as_millis().to_string());
        let mut child =
            command.env(PAUSE, pause_us.to_string()).env(BURSTS, bursts.to_string()).spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        let calls = thread::spawn(move || said.lines().map_while(Result::ok).filter_map(call).collect());
        Self { child, calls }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn calls(mut self) -> Vec<Call> {
        self.child.wait().unwrap();
        self.calls.join().unwrap()
    }
}

/// A line that was written whole. (The harness begins one without an end before it.)
fn call(line: String) -> Option<Call> {
    let words: Vec<_> = line[line.find("call ")?..].split(' ').collect();
    let [_, sent, done, leased] = words.as_slice() else { return None };
    Some((sent.parse().ok()?, done.parse().ok()?, leased.parse().ok()?))
}

/// Calls that surely lie in an interval are at most the bound of one that is as long.
fn check_bound(calls: &[Call]) {
    let first = calls.iter().map(|call| call.0).fold(f64::INFINITY, f64::min);
    let last = calls.iter().map(|call| call.1).fold(0.0, f64::max);
    let steps = ((last - first) / 0.02) as usize + 1;
    for from in (0..steps).map(|step| first + step as f64 * 0.02) {
        let mut ends: Vec<_> = calls.iter().filter(|call| call.0 >= from).map(|call| call.1).collect();
        ends.sort_by(f64::total_cmp);
        for (before, end) in ends.iter().enumerate() {
            let (count, bound) = (before as f64 + 1.0, BURST + RATE * (end - from) + RATE * AGE);
            assert!(
                count <= bound + 1.0,
                "{count} in {} s from {} on, where {bound} is the bound",
                end - from,
                from - first
            );
        }
    }
}

/// Ten processes, which wait so long between calls; the last one spends all at once, again and again.
fn play(pauses_us: impl Fn(u64) -> u64, lasts: Duration) {
    let server = Redis::start().unwrap();
    let url = server.url();
    let start = |place: u64| Process::start(url, (pauses_us(place), 1), lasts);
    let mut processes: Vec<_> = (0..9).map(start).collect();
    processes.push(Process::start(url, (150_000, 150), lasts));
    let mut calls = Vec::new();
    for _ in 0..2 {
        thread::sleep(lasts / 4);
        processes[0].signal("STOP");
        processes[1].signal("KILL");
        calls.extend(processes.remove(1).calls());
        processes.insert(1, Process::start(url, (pauses_us(1), 1), lasts / 2));
        // A stopped process wakes with units whose time has passed.
        thread::sleep(Duration::from_millis(300));
        processes[0].signal("CONT");
    }
    processes.into_iter().for_each(|process| calls.extend(process.calls()));
    check_bound(&calls);
    let leased = calls.iter().filter(|call| call.2).count();
    println!("{} admitted, {leased} of them by leases", calls.len());
    assert!(leased > 100, "{leased} of {} by leases", calls.len());
}

#[test]
fn processes_keep_the_bound_though_some_are_killed_or_stopped() {
    play(|place| 2_000 + 500 * place, Duration::from_millis(3_000));
}

/// From half the limit to more than twice of it, even and uneven: by night.
#[test]
fn processes_keep_the_bound_whatever_they_ask_for() {
    if env::var_os("SLUICEGATE_LONG_TESTS").is_none() {
        return;
    }
    for pause_us in [18_000, 9_000, 4_000, 1_500] {
        play(|_| pause_us, Duration::from_secs(6));
        play(|place| pause_us * 2 / (place + 1), Duration::from_secs(6));
    }
}
