//! A denial that is remembered against a denied check in memory.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use sluicegate::{Builder, RateLimiter, Rules, Source};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::options::Options;
use crate::recording::key;
use crate::samples::{Samples, verdict};
use crate::table::Table;

const CALLS: usize = 1_000_000;
const RULES: [&str; 3] = ["gcra", "fixed_window", "sliding_window"];
const KEYS: [usize; 2] = [1, 5_000];
const TARGET: f64 = 1.1;

#[derive(Default)]
struct Row {
    in_memory: Samples,
    remembered: Samples,
}

fn built(builder: Builder, algorithm: &str) -> Result<Builder> {
    let rule = format!(r#"[{{"rule_id": "twelve-bytes", "algorithm": "{algorithm}", "rate": "1/d"}}]"#);
    Ok(builder.rules(Rules::from_json(&rule)?))
}

/// Uses up every key, until its denial comes from where it is to be measured.
fn deny(limiter: &RateLimiter, names: &[String], source: Source) -> Result<()> {
    for name in names {
        (0..2).try_for_each(|_| limiter.check("twelve-bytes", name).map(drop))?;
        let last = limiter.check("twelve-bytes", name)?;
        if last.allowed || last.source != source {
            return Err(format!("{name} is not denied by {}", source.name()).into());
        }
    }
    Ok(())
}

/// Processor time of a denied check, in nanoseconds.
fn nanos(limiter: &RateLimiter, names: &[String], calls: usize) -> Result<f64> {
    let clock = ClockId::ThreadCPUTime;
    let (begun, mut place, mut admitted) = (clock_gettime(clock), 0_usize, 0);
    for _ in 0..calls {
        // A linear congruential generator: an order that no cache foresees.
        place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let decision = limiter.check("twelve-bytes", &names[((place >> 33) * names.len()) >> 31])?;
        admitted += usize::from(black_box(&decision).allowed);
    }
    let ended = clock_gettime(clock);
    if admitted > 0 {
        return Err("a check was admitted that was to be denied".into());
    }
    let nanos = (ended.tv_sec - begun.tv_sec) as f64 * 1e9 + (ended.tv_nsec - begun.tv_nsec) as f64;
    Ok(nanos / calls as f64)
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let server = Redis::start()?;
    let calls = options.size(CALLS);
    println!("\n## A remembered denial\n");
    println!(
        "Nanoseconds of processor time per denied check, blocking, one thread: `remember_denials` on a server beside `memory://`.\n"
    );
    let mut table = Table::new(&["rule", "keys", "in memory", "remembered", "ratio", "target"]);
    for algorithm in RULES {
        for keys in KEYS {
            let names: Vec<String> = (0..keys).map(key).collect();
            let day = std::time::Duration::from_secs(86_400);
            let own = RateLimiter::builder(server.url()).prefix(format!("{algorithm}-{keys}"));
            let own = built(own.remember_denials(day), algorithm)?.build()?;
            let memory = built(RateLimiter::builder("memory://"), algorithm)?.build()?;
            deny(&own, &names, Source::Cache)?;
            deny(&memory, &names, Source::Memory)?;
            let mut row = Row::default();
            for _ in 0..options.rounds() {
                row.in_memory.push(nanos(&memory, &names, calls)?);
                row.remembered.push(nanos(&own, &names, calls)?);
            }
            let ratio = row.remembered.over(&row.in_memory);
            let cells = [
                algorithm.to_owned(),
                keys.to_string(),
                format!("{:.0}", row.in_memory),
                format!("{:.0}", row.remembered),
                format!("{ratio:.2}"),
                verdict(ratio.median(), TARGET),
            ];
            table.row(cells);
        }
    }
    println!("{table}");
    Ok(())
}
