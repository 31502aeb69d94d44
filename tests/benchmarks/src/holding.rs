//! What reservations take in memory: time in the in-memory engine, and bytes on a server.

use std::hint::black_box;

use redis::{Connection, cmd};
use sluicegate::{RateLimiter, Rules, Usage};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;
use crate::time::processor_time;

const RULES: &str = r#"[
    {"rule_id": "tokens", "algorithm": "gcra", "limit": 1000000000, "window_size_seconds": 3600,
     "reservations": true, "lease_seconds": 60},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 1000000, "lease_seconds": 3600}
]"#;
const CALLS: usize = 200_000;
/// What a reserve and its commit may take together.
const NANOS_TARGET: f64 = 300.0;

const KEYS: usize = 1_000;
const HELD: [usize; 4] = [1, 10, 100, 1_000];
/// What a key may take, and what each of its reservations.
const KEY_BYTES: f64 = 200.0;
const RESERVATION_BYTES: f64 = 150.0;

pub(crate) fn run(options: &Options) -> Result<()> {
    let nanos = in_process(options)?;
    let target = verdict(nanos.median(), NANOS_TARGET);
    println!("\n## Reservations in memory\n");
    println!(
        "Nanoseconds of processor time for `reserve` and `commit` of gcra together, one key: {nanos:.0}; at most {target}.\n"
    );
    let mut table = Table::new(&["`concurrency`, held by a key", "bytes per key on the server", "at most"]);
    for held in HELD {
        let bytes = on_a_server(held, (options.size(KEYS) * 10 / held).max(10))?;
        let target = verdict(bytes, KEY_BYTES + RESERVATION_BYTES * held as f64);
        table.row([held.to_string(), format!("{bytes:.0}"), target]);
    }
    println!("{table}");
    Ok(())
}

fn in_process(options: &Options) -> Result<Samples> {
    let limiter = RateLimiter::builder("memory://").rules(Rules::from_json(RULES)?).build()?;
    let calls = options.size(CALLS);
    let mut nanos = Samples::default();
    for _ in 0..options.rounds() {
        let start = processor_time();
        for _ in 0..calls {
            let reservation = limiter.reserve("tokens", black_box("tenant"))?;
            limiter.commit(&reservation, Usage::AsReserved)?;
        }
        nanos.push((processor_time() - start).as_nanos() as f64 / calls as f64);
    }
    Ok(nanos)
}

/// Bytes per key, of so many reservations each.
fn on_a_server(held: usize, keys: usize) -> Result<f64> {
    let redis = Redis::start()?;
    let mut connection = redis.client()?;
    let limiter = RateLimiter::builder(redis.url()).rules(Rules::from_json(RULES)?).build()?;
    // Scripts are loaded before.
    let _ = limiter.reserve("places", "somebody")?;
    let before = used(&mut connection)?;
    for key in (0..keys).map(|number| format!("tenant-{number:05}")) {
        for _ in 0..held {
            let _ = limiter.reserve("places", &key)?;
        }
    }
    Ok((used(&mut connection)? - before) / keys as f64)
}

fn used(connection: &mut Connection) -> Result<f64> {
    let memory: String = cmd("INFO").arg("memory").query(connection)?;
    let line = memory.lines().find_map(|line| line.strip_prefix("used_memory:"));
    Ok(line.ok_or("INFO names no used_memory")?.parse()?)
}
