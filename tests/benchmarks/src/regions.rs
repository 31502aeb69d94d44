//! What a limit over several regions costs: at home, and near with an allotment in hand, against a limiter without regions.

use std::time::{Duration, Instant};

use sluicegate::{Builder, Decision, RateLimiter, Rules, Source};
use sluicegate_test_servers::{Redis, Relay};

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, percentile, verdict};
use crate::table::Table;

/// Of the second one nothing is lent.
const RULES: &str = r#"[{"rule_id": "lent", "rate": "1000000000/minute", "global": {}},
    {"rule_id": "owned", "rate": "1000000000/minute", "global": {}, "overrides": true}]"#;
const TRIP: Duration = Duration::from_millis(40);
/// Blocks of a round, in turn, and the calls of each: few, as the machine may change its pace at any time.
const BLOCKS: usize = 1000;
const CALLS: usize = 20;
/// Calls of a round that take a far round trip.
const FAR_CALLS: usize = 20;
/// Until loans are as large as callers need them.
const WARM: Duration = Duration::from_secs(3);
const HOME_TARGET: f64 = 1.03;
const NEAR_TARGET: f64 = 1.15;

/// Checks of one rule and key.
struct Checks<'a> {
    limiter: &'a RateLimiter,
    rule: &'a str,
    key: &'a str,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (near, far) = (Redis::start()?, Redis::start()?);
    let relay = Relay::start(far.port(), TRIP)?;
    let rules = Rules::from_json(RULES)?;
    let regions = [("far", format!("redis://127.0.0.1:{}", relay.port())), ("near", near.url().to_owned())];
    let with_regions =
        || RateLimiter::builder("").rules(rules.clone()).regions(regions.clone()).region("near");
    let alone = &RateLimiter::builder(near.url()).rules(rules.clone()).build()?;
    let limiter = &with_regions().build()?;
    let home = &key(with_regions(), |decision, _| decision.source == Source::Server, "lent")?;
    let away = &key(with_regions(), |decision, _| decision.source == Source::Allotment, "lent")?;
    let owned = &key(with_regions(), |_, took| took > TRIP / 2, "owned")?;
    warm(limiter, away)?;
    let contenders = [
        Checks { limiter: alone, rule: "lent", key: home },
        Checks { limiter, rule: "lent", key: home },
        Checks { limiter, rule: "lent", key: away },
    ];
    let far = Checks { limiter, rule: "owned", key: owned };
    let mut micros = [(); 4].map(|()| Samples::default());
    let mut lent = Samples::default();
    for _ in 0..options.rounds() {
        let mut calls = [(); 4].map(|()| Calls::default());
        for _ in 0..BLOCKS {
            for (calls, checks) in calls.iter_mut().zip(&contenders) {
                calls.make(options.size(CALLS), checks)?;
            }
        }
        calls[3].make(options.size(FAR_CALLS), &far)?;
        lent.push(calls[2].by_allotment as f64 / calls[2].micros.len() as f64);
        for (micros, calls) in micros.iter_mut().zip(calls) {
            micros.push(calls.median());
        }
    }
    println!(
        "\n## Regions\n\nThe other region is {TRIP:?} away, there and back; one call at a time.\n\n{}",
        table(&micros)
    );
    println!("Of the calls elsewhere, {:.2} % were decided by an allotment.", lent.median() * 100.0);
    Ok(())
}

fn table([alone, home, away, far]: &[Samples; 4]) -> Table {
    let mut table = Table::new(&["a check", "p50 us", "of a check without regions", "at most"]);
    for (name, own, target) in [
        ("without regions", alone, Some(1.0)),
        ("at home", home, Some(HOME_TARGET)),
        ("elsewhere, by an allotment", away, Some(NEAR_TARGET)),
        ("elsewhere, by the region in charge", far, None),
    ] {
        let ratio = own.over(alone);
        let verdict = target.map_or_else(String::new, |target| verdict(ratio.median(), target));
        table.row([name.to_owned(), format!("{own:.1}"), format!("{ratio:.2}"), verdict]);
    }
    table
}

/// A key that is decided so after a while.
fn key(builder: Builder, is_it: impl Fn(&Decision, Duration) -> bool, rule: &str) -> Result<String> {
    let limiter = builder.build()?;
    for number in 0..20 {
        let key = format!("tenant-{number}");
        for _ in 0..200 {
            limiter.check(rule, &key)?;
        }
        let start = Instant::now();
        let decision = limiter.check(rule, &key)?;
        if is_it(&decision, start.elapsed()) {
            return Ok(key);
        }
    }
    Err("one region is in charge of all keys".into())
}

fn warm(limiter: &RateLimiter, key: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < WARM {
        limiter.check("lent", key)?;
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
    fn make(&mut self, count: usize, checks: &Checks<'_>) -> Result<()> {
        for _ in 0..count {
            let start = Instant::now();
            let decision = checks.limiter.check(checks.rule, checks.key)?;
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
