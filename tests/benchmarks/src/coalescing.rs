//! Checks that wait together: of one key, and of many.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use redis::{Connection, cmd};
use sluicegate::{AsyncRateLimiter, Rules};
use sluicegate_test_servers::Redis;
use tokio::runtime::Runtime;

use crate::Result;
use crate::options::Options;
use crate::recording::key;
use crate::samples::Samples;
use crate::table::Table;
use crate::time::processor_time;

const CALLS: usize = 400_000;
const CALLS_ALONE: usize = 20_000;

/// The limit is so high that all checks are admitted, or so low that nearly all are denied.
const RULES: [(&str, &str); 4] = [
    ("gcra, admitted", r#""algorithm": "gcra", "rate": "1000000000/s""#),
    ("gcra, 1,000/s admitted", r#""algorithm": "gcra", "rate": "1000/s""#),
    ("fixed_window, admitted", r#""algorithm": "fixed_window", "rate": "1000000000/s""#),
    ("sliding_window, admitted", r#""algorithm": "sliding_window", "rate": "1000000000/s""#),
];

/// How many calls are under way at a time, on how many keys.
const LOADS: [(usize, usize); 3] = [(64, 1), (1, 1), (64, 10_000)];

#[derive(Default)]
struct Row {
    per_second: Samples,
    client: Samples,
    server: Samples,
    together: Samples,
}

/// How many scripts the server has run.
fn scripts(connection: &mut Connection) -> Result<f64> {
    let info: String = cmd("INFO").arg("commandstats").query(connection)?;
    let count = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<f64>().ok();
    Ok(info.lines().filter(|line| line.starts_with("cmdstat_eval")).filter_map(count).sum())
}

/// Microseconds of processor time that the server took so far.
pub(crate) fn spent(connection: &mut Connection) -> Result<f64> {
    let info: String = cmd("INFO").arg("cpu").query(connection)?;
    let seconds = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        Ok::<f64, Box<dyn std::error::Error + Send + Sync>>(line.ok_or("INFO names no time")?.trim().parse()?)
    };
    Ok((seconds("used_cpu_user:")? + seconds("used_cpu_sys:")?) * 1e6)
}

pub(crate) async fn many(
    limiter: &Arc<AsyncRateLimiter>,
    names: &Arc<Vec<String>>,
    in_flight: usize,
    calls: usize,
) -> Result<()> {
    let tasks = (0..in_flight).map(|task| {
        let (limiter, names) = (Arc::clone(limiter), Arc::clone(names));
        tokio::spawn(async move {
            let mut place = task;
            for _ in 0..calls / in_flight {
                // A step that is prime to the number of keys.
                place = (place + 7_919) % names.len();
                black_box(limiter.check("twelve-bytes", &names[place]).await?);
            }
            Result::Ok(())
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await??;
    }
    Ok(())
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let server = Redis::start()?;
    let mut connection = server.client()?;
    let runtime = Runtime::new()?;
    println!("\n## Checks that wait together\n");
    println!(
        "Tokio, one process. Microseconds of processor time per check, of the client and of Redis (`INFO cpu`).\n"
    );
    let mut table =
        Table::new(&["rule", "keys", "in flight", "checks/s", "client us", "Redis us", "checks a script"]);
    for (name, rule) in RULES.iter().filter(|(name, _)| options.has(name)) {
        let rules = Rules::from_json(&format!(r#"[{{"rule_id": "twelve-bytes", {rule}}}]"#))?;
        let builder = AsyncRateLimiter::builder(server.url()).prefix(name.replace([' ', ','], "-"));
        let limiter = Arc::new(runtime.block_on(builder.rules(rules).connect())?);
        let mut rows: Vec<Row> = LOADS.iter().map(|_| Row::default()).collect();
        for _ in 0..options.rounds() {
            for ((in_flight, keys), row) in LOADS.into_iter().zip(&mut rows) {
                let names = Arc::new((0..keys).map(key).collect::<Vec<_>>());
                let calls = options.size(if in_flight == 1 { CALLS_ALONE } else { CALLS });
                let before = scripts(&mut connection)?;
                let (start, client, redis) = (Instant::now(), processor_time(), spent(&mut connection)?);
                runtime.block_on(many(&limiter, &names, in_flight, calls))?;
                let (elapsed, calls) = (start.elapsed().as_secs_f64(), calls as f64);
                let redis = spent(&mut connection)? - redis;
                row.together.push(calls / (scripts(&mut connection)? - before));
                row.per_second.push(calls / elapsed);
                row.client.push((processor_time() - client).as_secs_f64() * 1e6 / calls);
                row.server.push(redis / calls);
            }
        }
        for ((in_flight, keys), row) in LOADS.into_iter().zip(rows) {
            table.row([
                (*name).to_owned(),
                keys.to_string(),
                in_flight.to_string(),
                format!("{:.0}", row.per_second),
                row.client.to_string(),
                row.server.to_string(),
                row.together.to_string(),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}
