//! What the keys that are admitted cost a server which is asked to tell of denied ones.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::{AsyncRateLimiter, Builder, Rules};
use sluicegate_test_servers::Redis;
use tokio::runtime::Runtime;

use crate::Result;
use crate::coalescing::{many, spent};
use crate::options::Options;
use crate::recording::key;
use crate::samples::{Samples, verdict};
use crate::table::Table;

const RULES: &str = r#"[{"rule_id": "twelve-bytes", "rate": "1000000000/s"}]"#;
/// How many calls are under way at a time, on how many keys, and the calls of a block.
const LOADS: [(usize, usize, usize); 2] = [(64, 10_000, 10_000), (1, 1, 500)];
/// Pairs of blocks of a round, in turn: the machine may change its pace at any time.
const BLOCKS: usize = 50;
const TARGET: f64 = 1.02;

pub(crate) fn run(options: &Options) -> Result<()> {
    let server = Redis::start()?;
    let mut connection = server.client()?;
    let runtime = Runtime::new()?;
    let builder = || AsyncRateLimiter::builder(server.url());
    let rules = Rules::from_json(RULES)?;
    let connect = |builder: Builder| runtime.block_on(builder.rules(rules.clone()).connect());
    let plain = Arc::new(connect(builder())?);
    let told = Arc::new(connect(builder().remember_denials(Duration::from_secs(86_400)))?);
    println!("\n## Keys that are admitted, where denials are remembered\n");
    println!("Tokio, one process. Microseconds of processor time of Redis per check (`INFO cpu`).\n");
    let mut table = Table::new(&["keys", "in flight", "plain", "with `remember_denials`", "ratio", "target"]);
    for (in_flight, keys, calls) in LOADS {
        let names = Arc::new((0..keys).map(key).collect::<Vec<_>>());
        let [mut without, mut with] = [Samples::default(), Samples::default()];
        let mut block = |limiter, samples: &mut Samples| {
            let before = spent(&mut connection)?;
            runtime.block_on(many(limiter, &names, in_flight, options.size(calls)))?;
            samples.push((spent(&mut connection)? - before) / options.size(calls) as f64);
            Result::Ok(())
        };
        for _ in 0..options.rounds() * BLOCKS {
            block(&plain, &mut without)?;
            block(&told, &mut with)?;
        }
        let ratio = with.over(&without);
        let verdict = verdict(ratio.median(), TARGET);
        let loads = [keys.to_string(), in_flight.to_string()];
        let figures = [format!("{without:.2}"), format!("{with:.2}"), format!("{ratio:.3}"), verdict];
        table.row(loads.into_iter().chain(figures));
    }
    println!("{table}");
    Ok(())
}
