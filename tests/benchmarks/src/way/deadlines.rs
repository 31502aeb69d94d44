//! How long calls take at most whose servers do not answer, in whatever they wait for them.

use std::time::Duration;

use sluicegate::RateLimiter;
use sluicegate_test_servers::{Cluster, Node, Redis, Sentinel};

use super::driver::Driver;
use crate::Result;
use crate::options::Options;
use crate::table::Table;

const CALLS: u32 = 50;
/// Of each call: less than servers have to connect and to answer, so that nothing else ends it.
const TIMEOUT: Duration = Duration::from_millis(100);
/// Each as soon as the one before has ended.
const AT_ONCE: Duration = Duration::from_micros(1);
/// What a call may take beyond its time, for the scheduler of an idle machine.
const BEYOND_MS: f64 = 5.0;

/// Servers of which none answers: calls without a connection wait to connect, to discover, or to be led elsewhere.
pub(super) fn run(options: &Options) -> Result<()> {
    let (redis, cluster, sentinel) = (Redis::start()?, Cluster::start()?, Sentinel::start()?);
    let mut table = Table::new(&["", "servers", "longest call, ms", "beyond its time, ms", "at most"]);
    let all = || sentinel.servers().iter().chain(sentinel.sentinels());
    let calls = options.size(CALLS as usize).max(10) as u32;
    silenced(&mut table, "one", redis.url(), calls, [&*redis])?;
    silenced(&mut table, "Cluster", &cluster.url(), calls, cluster.nodes())?;
    silenced(&mut table, "Sentinel", &sentinel.url(), calls, all())?;
    let time = TIMEOUT.as_millis();
    println!(
        "\n## Deadlines\n\n{calls} calls of {time} ms each, to servers that a signal stopped, without a circuit breaker.\n\n{table}"
    );
    Ok(())
}

fn silenced<'a>(
    table: &mut Table,
    servers: &str,
    url: &str,
    calls: u32,
    nodes: impl IntoIterator<Item = &'a Node>,
) -> Result<()> {
    let drivers = Driver::both(|| RateLimiter::builder(url).breaker_failures(0))?;
    for driver in &drivers {
        driver.paced(AT_ONCE, 1, None)?;
    }
    nodes.into_iter().try_for_each(Node::pause)?;
    for driver in &drivers {
        let (micros, failed) = driver.paced(AT_ONCE, calls, Some(TIMEOUT))?;
        if failed != calls {
            return Err(format!("{servers}: {} calls of {calls} were answered", calls - failed).into());
        }
        let longest = micros.last().copied().unwrap_or(f64::NAN) / 1e3;
        let beyond = longest - TIMEOUT.as_secs_f64() * 1e3;
        let verdict = if beyond <= BEYOND_MS { "met" } else { "NOT MET" };
        table.row([
            driver.name().to_owned(),
            servers.to_owned(),
            format!("{longest:.1}"),
            format!("{beyond:.1}"),
            format!("{BEYOND_MS} {verdict}"),
        ]);
    }
    Ok(())
}
