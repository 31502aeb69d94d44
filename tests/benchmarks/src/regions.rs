//! What a limit over several regions costs: at home, and near with an allotment in hand, against a limiter without regions.

use std::time::{Duration, Instant};

use sluicegate::{Builder, RateLimiter, Rules, Source};
use sluicegate_test_servers::{Redis, Relay};

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, percentile, verdict};
use crate::table::Table;

const RULES: &str = r#"[{"rule_id": "r", "rate": "1000000000/minute", "global": {}}]"#;
const TRIP: Duration = Duration::from_millis(40);
/// Blocks of a round, in turn, and the calls of each.
const BLOCKS: usize = 40;
const CALLS: usize = 500;
/// Until loans are as large as callers need them.
const WARM: Duration = Duration::from_secs(3);
const HOME_TARGET: f64 = 1.03;
const NEAR_TARGET: f64 = 1.15;

pub(crate) fn run(options: &Options) -> Result<()> {
    let (near, far) = (Redis::start()?, Redis::start()?);
    let relay = Relay::start(far.port(), TRIP)?;
    let rules = Rules::from_json(RULES)?;
    let regions = [("far", format!("redis://127.0.0.1:{}", relay.port())), ("near", near.url().to_owned())];
    let with_regions =
        || RateLimiter::builder("").rules(rules.clone()).regions(regions.clone()).region("near");
    let alone = RateLimiter::builder(near.url()).rules(rules.clone()).build()?;
    let (home, away) = (key(with_regions(), Source::Server)?, key(with_regions(), Source::Allotment)?);
    let limiter = with_regions().build()?;
    warm(&limiter, &away)?;
    let mut micros = [(); 3].map(|()| Samples::default());
    let mut lent = Samples::default();
    let contenders = [(&alone, &home), (&limiter, &home), (&limiter, &away)];
    for _ in 0..options.rounds() {
        let mut calls = [(); 3].map(|()| Calls::default());
        for _ in 0..BLOCKS {
            for (calls, (limiter, key)) in calls.iter_mut().zip(contenders) {
                calls.make(options.size(CALLS), limiter, key)?;
            }
        }
        lent.push(calls[2].by_allotment as f64 / calls[2].micros.len() as f64);
        for (micros, calls) in micros.iter_mut().zip(calls) {
            micros.push(calls.median());
        }
    }
    let mut table = Table::new(&["a check", "p50 us", "of a check without regions", "at most"]);
    let [alone, home, away] = &micros;
    for (name, own, target) in [
        ("without regions", alone, 1.0),
        ("at home", home, HOME_TARGET),
        ("elsewhere, by an allotment", away, NEAR_TARGET),
    ] {
        let ratio = own.over(alone);
        table.row([
            name.to_owned(),
            format!("{own:.1}"),
            format!("{ratio:.2}"),
            verdict(ratio.median(), target),
        ]);
    }
    println!(
        "\n## Regions\n\nThe other region is {TRIP:?} away, there and back; one call at a time.\n\n{table}"
    );
    println!("Of the calls elsewhere, {:.2} % were decided by an allotment.", lent.median() * 100.0);
    Ok(())
}

/// A key that is decided so after a while.
fn key(builder: Builder, source: Source) -> Result<String> {
    let limiter = builder.build()?;
    for number in 0..20 {
        let key = format!("tenant-{number}");
        for _ in 0..200 {
            limiter.check("r", &key)?;
        }
        if limiter.check("r", &key)?.source == source {
            return Ok(key);
        }
    }
    Err("one region is in charge of all keys".into())
}

fn warm(limiter: &RateLimiter, key: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < WARM {
        limiter.check("r", key)?;
    }
    Ok(())
}

/// How long calls took.
#[derive(Default)]
struct Calls {
    micros: Vec<f64>,
    by_allotment: usize,
}

impl Calls {
    fn make(&mut self, count: usize, limiter: &RateLimiter, key: &str) -> Result<()> {
        for _ in 0..count {
            let start = Instant::now();
            let decision = limiter.check("r", key)?;
            self.micros.push(start.elapsed().as_nanos() as f64 / 1e3);
            self.by_allotment += usize::from(decision.source == Source::Allotment);
        }
        Ok(())
    }

    fn median(mut self) -> f64 {
        self.micros.sort_by(f64::total_cmp);
        percentile(&self.micros, 0.5)
    }
}
