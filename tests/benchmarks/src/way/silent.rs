//! A server that hangs, under a thousand calls per second.

use std::time::Duration;

use sluicegate::RateLimiter;
use sluicegate_test_servers::Redis;

use super::deadlines;
use super::driver::Driver;
use crate::Result;
use crate::options::Options;
use crate::samples::percentile;
use crate::table::Table;
use crate::time::processor_time;

const EVERY: Duration = Duration::from_millis(1);
const CALLS: u32 = 3000;
/// More than open the circuit breaker.
const OPENING: u32 = 8;
/// What an error may take once it is open, in microseconds; what of a core is taken beyond the calls themselves.
const ERROR_US: f64 = 1000.0;
const BEYOND: f64 = 0.02;

/// The circuit breaker has opened: what an error takes, and what the limiter does beside.
pub(crate) fn run(options: &Options) -> Result<()> {
    let redis = Redis::start()?;
    let waits = Duration::from_millis(50);
    let remote = Driver::both(|| RateLimiter::builder(redis.url()).response_timeout(waits))?;
    let in_memory = Driver::both(|| RateLimiter::builder("memory://"))?;
    redis.pause()?;
    let columns = [
        "",
        "error: p50, us",
        "p99, us",
        "at most",
        "CPU, % of a core",
        "in memory, %",
        "beyond, %",
        "at most",
    ];
    let mut table = Table::new(&columns);
    let calls = if options.quick { 300 } else { CALLS };
    for (remote, in_memory) in remote.iter().zip(&in_memory) {
        remote.paced(EVERY, OPENING, None)?;
        let (micros, failed, own) = spent(remote, calls)?;
        let (_, _, base) = spent(in_memory, calls)?;
        if failed != calls {
            return Err(
                format!("{}: {} calls of {calls} were answered", remote.name(), calls - failed).into()
            );
        }
        let (p99, beyond) = (percentile(&micros, 0.99), own - base);
        let met = |is_met| if is_met { "met" } else { "NOT MET" };
        table.row([
            remote.name().to_owned(),
            format!("{:.1}", percentile(&micros, 0.5)),
            format!("{p99:.1}"),
            format!("{ERROR_US} {}", met(p99 <= ERROR_US)),
            format!("{:.1}", own * 100.0),
            format!("{:.1}", base * 100.0),
            format!("{:.1}", beyond * 100.0),
            format!("{} {}", BEYOND * 100.0, met(beyond <= BEYOND)),
        ]);
    }
    println!("\n## A silent server\n");
    println!(
        "The server was stopped by a signal; {calls} calls, one every millisecond, after the circuit breaker opened."
    );
    println!("Beyond: what the process takes more than with the same calls answered in memory.\n\n{table}");
    deadlines::run(options)
}

/// The sorted times of paced calls, how many failed, and the part of a core that the process took meanwhile.
fn spent(driver: &Driver, calls: u32) -> Result<(Vec<f64>, u32, f64)> {
    let before = processor_time();
    let (micros, failed) = driver.paced(EVERY, calls, None)?;
    let part = (processor_time() - before).as_secs_f64() / (EVERY * calls).as_secs_f64();
    Ok((micros, failed, part))
}
