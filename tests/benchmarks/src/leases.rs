//! Checks that are decided by borrowed units: how many there are a second, and what several limiters admit together.

use std::hint::black_box;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{Builder, RateLimiter, Rules, Source};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::options::Options;
use crate::samples::Samples;
use crate::table::Table;

const THREADS: usize = 8;
const SECONDS: f64 = 2.0;
/// Checks a second, in millions.
const TARGET: f64 = 5.0;

const LIMITERS: usize = 10;
const LIMIT: f64 = 50_000.0;
const BURST: f64 = 5_000.0;
const AGE: f64 = 0.02;

fn built(builder: Builder, rule: &str) -> Result<RateLimiter> {
    Ok(builder.rules(Rules::from_json(&format!(r#"[{{"rule_id": "r", {rule}}}]"#))?).build()?)
}

/// What threads that share a limiter checked of one key: how much, and what part of it by borrowed units.
fn checked(limiter: &RateLimiter, seconds: f64) -> Result<(f64, f64)> {
    let began = Instant::now();
    let check_for_a_while = || -> sluicegate::Result<(u64, u64)> {
        let (mut calls, mut leased) = (0, 0);
        while began.elapsed().as_secs_f64() < seconds {
            for _ in 0..64 {
                let decision = limiter.check("r", "hot")?;
                calls += 1;
                leased += u64::from(black_box(&decision).source == Source::Lease);
            }
        }
        Ok((calls, leased))
    };
    let counts: sluicegate::Result<Vec<_>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(check_for_a_while)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Ok((0, 0)))).collect()
    });
    let sum = counts?.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    Ok((sum.0 as f64 / began.elapsed().as_secs_f64() / 1e6, sum.1 as f64 / sum.0 as f64))
}

fn hot_key(server: &Redis, options: &Options) -> Result<()> {
    println!(
        "\n## Leases\n\nMillions of checks a second of one key, blocking, {THREADS} threads of one limiter.\n"
    );
    let rate = r#""limit": 100000000, "window_size_seconds": 1, "burst": 50000000"#;
    let leased = format!(r#"{rate}, "lease": {{"max_age_ms": 20, "pace_ms": 10}}"#);
    let (memory, own) = (
        built(RateLimiter::builder("memory://"), rate)?,
        built(RateLimiter::builder(server.url()), &leased)?,
    );
    checked(&own, 1.0)?;
    let (mut in_memory, mut by_lease, mut part) =
        (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..options.rounds() {
        in_memory.push(checked(&memory, SECONDS)?.0);
        let (calls, leased) = checked(&own, SECONDS)?;
        by_lease.push(calls);
        part.push(leased * 100.0);
    }
    let mut table = Table::new(&["in memory", "by lease", "% by lease", "target"]);
    let verdict = if by_lease.median() >= TARGET { "met" } else { "NOT MET" };
    table.row([
        in_memory.to_string(),
        by_lease.to_string(),
        format!("{part:.1}"),
        format!("{TARGET:.0} {verdict}"),
    ]);
    println!("{table}");
    Ok(())
}

/// When each admitted check began and ended, how many checks there were, and how many the server decided.
#[derive(Default)]
struct Story {
    admitted: Vec<(f64, f64)>,
    checks: usize,
    requests: usize,
}

impl Story {
    /// The most that is admitted in any interval beyond the burst and what leaks in it.
    fn excess(&self) -> f64 {
        let mut ends: Vec<_> = self.admitted.iter().map(|call| call.1).collect();
        let mut begins: Vec<_> = self.admitted.iter().map(|call| call.0).collect();
        ends.sort_by(f64::total_cmp);
        begins.sort_by(f64::total_cmp);
        // Of calls that ended by a time, those that began before another one are not surely in between.
        let (mut least, mut worst, mut at) = (f64::INFINITY, 0.0, 0);
        for (count, end) in ends.iter().enumerate() {
            while at < begins.len() && begins[at] <= *end {
                least = f64::min(least, at as f64 - LIMIT * begins[at]);
                at += 1;
            }
            worst = f64::max(worst, count as f64 + 1.0 - LIMIT * end - least - BURST);
        }
        worst
    }
}

/// Limiters of their own, as so many processes have, which together ask for `offered` times the limit.
fn together(server: &Redis, prefix: &str, offered: f64, is_skewed: bool) -> Result<Story> {
    let weight = |place: usize| if is_skewed { place as f64 + 1.0 } else { 1.0 };
    let all: f64 = (0..LIMITERS).map(weight).sum();
    let rule = format!(
        r#""limit": {LIMIT}, "window_size_seconds": 1, "burst": {BURST}, "lease": {{"max_age_ms": {}, "pace_ms": 10}}"#,
        AGE * 1e3
    );
    let (story, began) = (Mutex::new(Story::default()), Instant::now());
    let passed = || began.elapsed().as_secs_f64();
    let play = |place: usize| -> Result<()> {
        let limiter = built(RateLimiter::builder(server.url()).prefix(prefix), &rule)?;
        let (rate, mut own) = (offered * LIMIT * weight(place) / all, Story::default());
        while passed() < SECONDS * 1.5 {
            while (own.checks as f64) < passed() * rate {
                let sent = passed();
                let decision = limiter.check("r", "hot")?;
                own.checks += 1;
                own.requests += usize::from(decision.source == Source::Server);
                if decision.allowed {
                    own.admitted.push((sent, passed()));
                }
            }
            thread::sleep(Duration::from_micros(500));
        }
        let mut story = story.lock().map_err(|_| "a thread ended early")?;
        story.admitted.append(&mut own.admitted);
        story.checks += own.checks;
        story.requests += own.requests;
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..LIMITERS)
            .map(|place| scope.spawn(move || play(place).map_err(|error| error.to_string())))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread ended early")?)
    })
    .map_err(|error: String| error)?;
    story.into_inner().map_err(|_| "a thread ended early".into())
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let server = Redis::start()?;
    hot_key(&server, options)?;
    println!("{LIMITERS} limiters, one thread each, a limit of {LIMIT} a second with a burst of {BURST}:\n");
    let mut table =
        Table::new(&["offered", "traffic", "% of the ideal", "checks a request", "excess, % of L", "bound"]);
    for offered in [0.5, 1.0, 2.0] {
        for is_skewed in [false, true] {
            let traffic = if is_skewed { "skewed" } else { "even" };
            let story = together(&server, &format!("{offered}-{traffic}"), offered, is_skewed)?;
            let ideal = (story.checks as f64).min(BURST + LIMIT * SECONDS * 1.5);
            let excess = story.excess() / LIMIT * 100.0;
            let is_kept = if excess <= AGE * 100.0 { "kept" } else { "EXCEEDED" };
            table.row([
                format!("{offered}"),
                traffic.to_owned(),
                format!("{:.1}", story.admitted.len() as f64 / ideal * 100.0),
                format!("{:.0}", story.checks as f64 / story.requests as f64),
                format!("{excess:.2}"),
                format!("{:.0} {is_kept}", AGE * 100.0),
            ]);
        }
    }
    println!("{table}");
    Ok(())
}
