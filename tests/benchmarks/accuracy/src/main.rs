//! What limiters of several processes admit beyond the limit, and how many checks they make a second: `run` beside this crate starts it.

mod contender;
mod fleet;
mod worker;

use std::env;

use contender::{NAMES, has_burst};
use fleet::{Fleet, Outcome};
use sluicegate_test_servers::Redis;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) const LIMIT: u64 = 10_000;
/// Of those that have one.
pub(crate) const BURST: u64 = 500;
pub(crate) const PROCESSES: usize = 4;
/// What all ask for together.
const OFFERED: f64 = 2.0;

fn row(name: &str, outcome: &Outcome) {
    let allowed = if has_burst(name) { LIMIT + BURST } else { LIMIT };
    let beyond = outcome.fullest as f64 - allowed as f64;
    let percent = |part: f64, whole: f64| part / whole * 100.0;
    println!(
        "| {name} | {:+.1} % | {:.1} % | {:.4} | {:.0} | {:.2} |",
        percent(beyond, LIMIT as f64),
        percent(outcome.admitted as f64, outcome.seconds * LIMIT as f64),
        outcome.server_calls as f64 / outcome.checks.max(1) as f64,
        outcome.per_second,
        outcome.cpu_us,
    );
}

fn compare(only: Option<&str>) -> Result<()> {
    println!(
        "{PROCESSES} processes offer {OFFERED} times a limit of {LIMIT} a second (burst {BURST}, where there is one) to one key.\n"
    );
    println!(
        "| | beyond the limit: fullest second, % of the limit | admitted, % of the limit | server calls for each check | \
         at full speed: checks/s of all processes | client CPU per check, us |\n|---|---|---|---|---|---|"
    );
    for name in NAMES.into_iter().filter(|name| only.is_none_or(|only| name.contains(only))) {
        // Each has a server without anything of the others.
        let server = Redis::start()?;
        match Fleet::start(name, server.url()).and_then(|mut fleet| fleet.measure(server.url(), OFFERED)) {
            Ok(outcome) => row(name, &outcome),
            Err(error) => println!("| {name} | does not run: {error} | | | | |"),
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<_> = env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["worker", name, url, ports, number] => {
            let ports: Vec<_> = ports.split(',').map(str::to_owned).collect();
            worker::run(name, url, &ports, number.parse()?)
        }
        [] => compare(None),
        [only] => compare(Some(only)),
        _ => Err("usage: run [PART OF A NAME]".into()),
    }
}
