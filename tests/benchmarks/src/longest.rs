//! The longest that one script holds a server: with as many reservations as a key may have, or entries as a call may write.

use std::time::Duration;

use redis::{Connection, Value, cmd};
use sluicegate::{CheckOptions, ManualClock, RateLimiter, Rules};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::options::Options;
use crate::samples::verdict;
use crate::table::Table;

/// The most reservations of a key.
const HELD: usize = 10_000;
const LEASE: Duration = Duration::from_secs(20);
/// The most that a `sliding_log` has, and so one charge adds.
const ENTRIES: u64 = 100_000;
/// Milliseconds that a script may take.
const MILLIS_TARGET: f64 = 20.0;

const KINDS: [(&str, &str); 9] = [
    ("gcra", r#""algorithm": "gcra", "window_size_seconds": 3600"#),
    ("fixed_window", r#""algorithm": "fixed_window", "window_size_seconds": 3600"#),
    (
        "fixed_window from the first request",
        r#""algorithm": "fixed_window", "window_start": "first_request", "window_size_seconds": 3600"#,
    ),
    ("sliding_window", r#""algorithm": "sliding_window", "window_size_seconds": 3600"#),
    ("sliding_buckets", r#""algorithm": "sliding_buckets", "window_size_seconds": 3600"#),
    ("sliding_log, list", r#""algorithm": "sliding_log", "window_size_seconds": 3600"#),
    (
        "sliding_log, sorted_set",
        r#""algorithm": "sliding_log", "structure": "sorted_set", "window_size_seconds": 3600"#,
    ),
    ("decay", r#""algorithm": "decay", "resolution_seconds": 100"#),
    ("concurrency", r#""algorithm": "concurrency""#),
];

pub(crate) fn run(options: &Options) -> Result<()> {
    println!("\n## The longest script\n");
    println!(
        "Milliseconds of the server, by its own slow log, for the longest script of a call: {HELD} leases of one key, of cost {}, have ended \
         (`peek`); 100 have, beside what else is counted, {ENTRIES} entries in all; or all are taken to end earlier after the server's clock has stepped back (`reserve`); a charge of {ENTRIES} entries.\n",
        ENTRIES / HELD as u64
    );
    let held = options.size(HELD);
    let mut table = Table::new(&[
        "rule",
        "`peek`, all have ended",
        "`peek`, 100 have",
        "`reserve`, clock back",
        "at most",
    ]);
    for (name, fields) in KINDS {
        let ended = settling(fields, held)?;
        let few = looking(fields)?;
        let healed = healing(fields, held)?;
        let target = verdict(ended.max(few).max(healed), MILLIS_TARGET);
        table.row([
            name.to_owned(),
            format!("{ended:.1}"),
            format!("{few:.1}"),
            format!("{healed:.1}"),
            target,
        ]);
    }
    println!("{table}");
    let mut table = Table::new(&["rule", "a charge of 100,000"]);
    for (name, fields) in &KINDS[5..7] {
        table.row([(*name).to_owned(), format!("{:.1}", charging(fields)?)]);
    }
    println!("{table}");
    Ok(())
}

/// A server with one rule, and a limiter by a clock of its own.
struct Bench {
    _redis: Redis,
    connection: Connection,
    limiter: RateLimiter,
    clock: ManualClock,
}

impl Bench {
    fn new(fields: &str) -> Result<Self> {
        let redis = Redis::start()?;
        let mut connection = redis.client()?;
        for (setting, value) in [("slowlog-log-slower-than", "0"), ("slowlog-max-len", "100")] {
            let () = cmd("CONFIG").arg("SET").arg(setting).arg(value).query(&mut connection)?;
        }
        let reservations = if fields.contains("concurrency") { "" } else { r#""reservations": true, "# };
        let lease = LEASE.as_secs();
        let rules = format!(
            r#"[{{"rule_id": "r", "limit": {ENTRIES}, {reservations}"lease_seconds": {lease}, {fields}}}]"#
        );
        let clock = ManualClock::new(1_700_000_000_000_000);
        let limiter = RateLimiter::builder(redis.url())
            .rules(Rules::from_json(&rules)?)
            .clock(clock.clone())
            .response_timeout(Duration::from_secs(30))
            .build()?;
        Ok(Self { _redis: redis, connection, limiter, clock })
    }

    fn hold(&self, held: usize) -> Result<()> {
        let cost = CheckOptions::new().cost(ENTRIES / HELD as u64);
        for _ in 0..held {
            if !self.limiter.reserve_with("r", "k", cost)?.allowed {
                return Err("a reservation was denied".into());
            }
        }
        Ok(())
    }

    /// Milliseconds of the longest script of a call.
    fn longest(&mut self, call: impl FnOnce(&RateLimiter) -> sluicegate::Result<()>) -> Result<f64> {
        let () = cmd("SLOWLOG").arg("RESET").query(&mut self.connection)?;
        call(&self.limiter)?;
        let log: Vec<Vec<Value>> = cmd("SLOWLOG").arg("GET").arg(-1).query(&mut self.connection)?;
        let micros = |entry: &Vec<Value>| match entry.get(2) {
            Some(Value::Int(micros)) => *micros,
            _ => 0,
        };
        Ok(log.iter().map(micros).max().unwrap_or(0) as f64 / 1e3)
    }
}

fn settling(fields: &str, held: usize) -> Result<f64> {
    let mut bench = Bench::new(fields)?;
    bench.hold(held)?;
    bench.clock.advance(LEASE);
    bench.longest(|limiter| limiter.peek("r", "k").map(drop))
}

fn looking(fields: &str) -> Result<f64> {
    let mut bench = Bench::new(fields)?;
    bench.hold(100)?;
    if !fields.contains("concurrency") {
        bench.limiter.charge_with(
            "r",
            "k",
            CheckOptions::new().cost(ENTRIES - 100 * (ENTRIES / HELD as u64)),
        )?;
    }
    bench.clock.advance(LEASE);
    bench.longest(|limiter| limiter.peek("r", "k").map(drop))
}

fn healing(fields: &str, held: usize) -> Result<f64> {
    let mut bench = Bench::new(fields)?;
    bench.hold(held)?;
    bench.clock.set_us(1_700_000_000_000_000 - 3_600_000_000);
    bench.longest(|limiter| limiter.reserve("r", "k").map(drop))
}

fn charging(fields: &str) -> Result<f64> {
    let mut bench = Bench::new(fields)?;
    let options = CheckOptions::new().cost(ENTRIES);
    bench.longest(|limiter| limiter.charge_with("r", "k", options).map(drop))
}
