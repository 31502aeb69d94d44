//! What the way to the server costs: TLS against plain, a Cluster against one server, a server that does not answer.

mod deadlines;
mod driver;
mod silent;

use std::sync::Arc;

use sluicegate::RateLimiter;
use sluicegate_test_servers::{Cluster, Options as ServerOptions, Redis, Transport};

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;
use crate::time::processor_time_of;
use driver::{Driver, IN_FLIGHT};

pub(crate) use silent::run as silent;

const CALLS_ALONE: usize = 4_000;
const CALLS_TOGETHER: usize = 40_000;
const MANY_KEYS: usize = 10_000;
/// The first nodes of a Cluster are its primaries.
const PRIMARIES: usize = 3;

/// What one way may take, as a part of the other: of the time of a call made alone, of the calls per second with 64 in
/// flight.
struct Case {
    keys: usize,
    alone: f64,
    together: f64,
}

/// One way to a server, or to several.
struct Way {
    name: &'static str,
    drivers: [Driver; 2],
    servers: Vec<u32>,
}

/// The two ways by one limiter, and their figures.
struct Contest<'a> {
    case: &'a Case,
    drivers: [&'a Driver; 2],
    alone: [Samples; 2],
    together: [Samples; 2],
    /// Processor time of the servers for one of the calls together, in microseconds.
    servers: [Samples; 2],
}

/// TLS against plain, on the two ports of one server.
pub(crate) fn tls(options: &Options) -> Result<()> {
    let server = Redis::with(&ServerOptions { transport: Transport::Tls, ..ServerOptions::default() })?;
    let ca = server.certificates().ok_or("a server with TLS has certificates")?.ca_pem();
    let plain = Driver::both(|| RateLimiter::builder((*server).url()))?;
    let tls = Driver::both(|| RateLimiter::builder(server.url()).tls_ca(&ca))?;
    println!("\n## TLS\n\nTLS against plain, on two ports of one server.\n");
    let way = |name, drivers| Way { name, drivers, servers: server.pid().into_iter().collect() };
    compare(options, &[way("plain", plain), way("TLS", tls)], &[Case { keys: 1, alone: 1.2, together: 0.75 }])
}

/// A Cluster of three primaries against one server.
pub(crate) fn cluster(options: &Options) -> Result<()> {
    let (server, cluster) = (Redis::start()?, Cluster::start()?);
    // Replicas would take their share of the machine.
    cluster.nodes()[PRIMARIES..].iter().for_each(|replica| replica.kill());
    let one = Driver::both(|| RateLimiter::builder(server.url()))?;
    let three = Driver::both(|| RateLimiter::builder(cluster.url()))?;
    println!("\n## Cluster\n\nA Cluster of three primaries against one server, all on this machine.\n");
    let cases =
        [Case { keys: 1, alone: 1.25, together: 0.75 }, Case { keys: MANY_KEYS, alone: 1.25, together: 0.6 }];
    let one = Way { name: "one server", drivers: one, servers: server.pid().into_iter().collect() };
    let primaries = cluster.nodes()[..PRIMARIES].iter().filter_map(|node| node.pid()).collect();
    compare(options, &[one, Way { name: "Cluster", drivers: three, servers: primaries }], &cases)
}

fn compare(options: &Options, ways: &[Way; 2], cases: &[Case]) -> Result<()> {
    let [first, second] = ways.each_ref().map(|way| &way.drivers);
    let pairs = first.iter().zip(second);
    let mut contests: Vec<_> = pairs
        .flat_map(|(first, second)| cases.iter().map(move |case| ([first, second], case)))
        .map(|(drivers, case)| Contest {
            case,
            drivers,
            alone: Default::default(),
            together: Default::default(),
            servers: Default::default(),
        })
        .collect();
    let (alone, together) = (options.size(CALLS_ALONE), options.size(CALLS_TOGETHER).max(IN_FLIGHT));
    for round in 0..=options.rounds() {
        for contest in &mut contests {
            let keys: Arc<[String]> = (0..contest.case.keys).map(|number| format!("user:{number}")).collect();
            for (way, driver) in contest.drivers.into_iter().enumerate() {
                let time_alone = driver.alone(&keys, alone)?;
                let before = processor_time_of(&ways[way].servers)?;
                let rate = driver.together(&keys, together)?;
                let served = processor_time_of(&ways[way].servers)? - before;
                // The first round opens connections.
                if round > 0 {
                    contest.alone[way].push(time_alone);
                    contest.together[way].push(rate);
                    contest.servers[way].push(served.as_secs_f64() * 1e6 / together as f64);
                }
            }
        }
    }
    println!("{}", table(ways, &contests));
    Ok(())
}

fn table(ways: &[Way; 2], contests: &[Contest<'_>]) -> Table {
    let [first, second] = ways.each_ref().map(|way| way.name);
    let us = |way: &str| format!("{way}: p50, us");
    let rate = |way: &str| format!("{way}: 64 in flight, calls/s");
    let columns =
        ["".to_owned(), us(first), us(second), "ratio".into(), "at most".into(), rate(first), rate(second)];
    let rest = ["ratio".to_owned(), "at least".to_owned(), "64: servers' CPU, us per call".to_owned()];
    let columns: Vec<_> = columns.into_iter().chain(rest).collect();
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for Contest { case, drivers, alone, together, servers } in contests {
        let (slower, faster) = (alone[1].over(&alone[0]), together[1].over(&together[0]));
        let keys = if case.keys == 1 { "1 key".to_owned() } else { format!("{} keys", case.keys) };
        let is_fast = (faster.median() * 100.0).round() >= (case.together * 100.0).round();
        table.row([
            format!("{}, {keys}", drivers[0].name()),
            format!("{:.1}", alone[0]),
            format!("{:.1}", alone[1]),
            slower.to_string(),
            verdict(slower.median(), case.alone),
            format!("{:.0}", together[0]),
            format!("{:.0}", together[1]),
            faster.to_string(),
            format!("{:.2} {}", case.together, if is_fast { "met" } else { "NOT MET" }),
            format!("{:.1}, {:.1}", servers[0].median(), servers[1].median()),
        ]);
    }
    table
}
