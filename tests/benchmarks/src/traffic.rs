//! The lab: simulated checks a second, and the replay of a large access log.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sluicegate::Rules;
use sluicegate_lab::{Options as RunOptions, Traffic, compare, simulate};

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;

/// The argument by which this program is the tool: what is measured of it is a process of its own.
pub(crate) const TOOL: &str = "as-tool";
const ALGORITHMS: [&str; 6] =
    ["gcra", "fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "decay"];
const CHECKS: usize = 1_000_000;
const WINDOW_US: u64 = 10_000_000;
const SIMULATED_S: f64 = 1.0;
/// One log a run; a quick one is a hundredth.
const LOG_BYTES: usize = 1_000_000_000;
const REPLAYED_S: f64 = 30.0;
const REPLAYED_MB: f64 = 200.0;
const ADDRESSES: u64 = 100_000;
const RULES: &str = r#"[
    {"rule_id": "per_address", "algorithm": "gcra", "limit": 60, "window_size_seconds": 60,
     "identifier_type": "ip_address", "match": {"path_pattern": "*"}},
    {"rule_id": "login", "algorithm": "sliding_log", "limit": 5, "window_size_seconds": 60,
     "identifier_type": "ip_address", "match": {"path_pattern": "/login", "methods": ["POST"]}}
]"#;

pub(crate) fn run(options: &Options) -> Result<()> {
    println!("\n## Lab\n");
    simulated(options)?;
    replayed(options)
}

fn simulated(options: &Options) -> Result<()> {
    let checks = options.size(CHECKS);
    println!("{checks} simulated checks of one rule, 1,000 keys, binned; seconds by the clock.\n");
    let mut table = Table::new(&["algorithm", "s", "target"]);
    for name in ALGORITHMS {
        let rules = Rules::from_json(&compare(&[name], 10, WINDOW_US, None)?)?;
        let traffic = Traffic::parse(&[format!("steady:rate=1000/s,keys=1000,for={}ms", checks)], &rules)?;
        let mut samples = Samples::default();
        for _ in 0..options.rounds() {
            let began = Instant::now();
            let report = simulate(&rules, &traffic, RunOptions::default(), &mut ())?;
            samples.push(began.elapsed().as_secs_f64());
            ensure(report.strategies[0].calls() == checks as u64, "the lab made another number of calls")?;
        }
        table.row([name.to_owned(), samples.to_string(), verdict(samples.median(), SIMULATED_S)]);
    }
    println!("{table}");
    Ok(())
}

fn replayed(options: &Options) -> Result<()> {
    let log = Log::write(options.size(LOG_BYTES) as u64)?;
    println!(
        "An access log of {} MB, {} requests of up to {ADDRESSES} addresses, in the combined format, decided by two rules.\n",
        log.bytes / 1_000_000,
        log.lines
    );
    let (mut seconds, mut megabytes) = (Samples::default(), Samples::default());
    for _ in 0..options.rounds().min(3) {
        let (took, most) = tool(&["lab", RULES, "--replay", &log.path.to_string_lossy(), "--json"])?;
        seconds.push(took.as_secs_f64());
        megabytes.push(most);
    }
    let mut table = Table::new(&["replay", "", "target"]);
    table.row(["s".to_owned(), seconds.to_string(), verdict(seconds.median(), REPLAYED_S)]);
    table.row([
        "most MB in memory".to_owned(),
        megabytes.to_string(),
        verdict(megabytes.median(), REPLAYED_MB),
    ]);
    println!("{table}");
    Ok(())
}

/// How long the tool took, and the most that it had in memory, in MB.
fn tool(args: &[&str]) -> Result<(Duration, f64)> {
    let program = std::env::current_exe()?;
    let began = Instant::now();
    let mut child = Command::new(program).arg(TOOL).args(args).stdout(Stdio::null()).spawn()?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let (mut most, mut ended) = (0.0, None);
    while ended.is_none() {
        // The system keeps the most that there was, so it is enough to look now and then.
        most = peak_megabytes(&status).unwrap_or(most);
        std::thread::sleep(Duration::from_millis(10));
        ended = child.try_wait()?;
    }
    ensure(ended.is_some_and(|status| status.success()), "the tool failed")?;
    Ok((began.elapsed(), most))
}

fn peak_megabytes(status: &Path) -> Option<f64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1e3)
}

fn ensure(holds: bool, otherwise: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

/// A log in the folder for temporary files, which goes with this value.
struct Log {
    path: PathBuf,
    bytes: u64,
    lines: u64,
}

impl Log {
    fn write(size: u64) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("sluicegate-benchmarks-{}.log", std::process::id()));
        let mut log = Self { path, bytes: 0, lines: 0 };
        let mut file = BufWriter::new(File::create(&log.path)?);
        while log.bytes < size {
            let line = line(log.lines);
            file.write_all(line.as_bytes())?;
            log.bytes += line.len() as u64;
            log.lines += 1;
        }
        file.flush()?;
        Ok(log)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// 60 requests a second; a few addresses make most of them.
fn line(number: u64) -> String {
    // Far enough from any order for the caches.
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    let unit = random as f64 / (1u64 << 53) as f64;
    let address = (ADDRESSES as f64 * unit * unit) as u64;
    let (second, minute, hour) = (number / 60 % 60, number / 3_600 % 60, number / 216_000 % 24);
    let day = 1 + number / 5_184_000 % 28;
    let (method, path) = match number % 6 {
        0 => ("POST", "/login".to_owned()),
        1 => ("GET", "/".to_owned()),
        page => ("GET", format!("/api/orders/{}?page={page}", random % 9_999)),
    };
    format!(
        "10.{}.{}.{} - - [{day:02}/Oct/2025:{hour:02}:{minute:02}:{second:02} +0000] \"{method} {path} HTTP/1.1\" 200 {} \
         \"https://example.com/start\" \"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0\"\n",
        address >> 16,
        address >> 8 & 255,
        address & 255,
        random % 99_999
    )
}
