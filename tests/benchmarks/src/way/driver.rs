//! The limiters, by either kind of call.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use sluicegate::{AsyncRateLimiter, Builder, CheckOptions, RateLimiter, Rules};
use tokio::runtime::Runtime;

use crate::Result;
use crate::samples::percentile;

const RULE: &str = "gcra";
/// No check is denied.
const RULES: &str =
    r#"[{"rule_id": "gcra", "algorithm": "gcra", "limit": 1000000000, "window_size_seconds": 3600}]"#;
/// Threads, or tasks.
pub(super) const IN_FLIGHT: usize = 64;

/// A limiter that is measured.
pub(super) enum Driver {
    Blocking(Box<RateLimiter>),
    Async(Runtime, Arc<AsyncRateLimiter>),
}

impl Driver {
    /// One of each kind, made alike.
    pub(super) fn both(make: impl Fn() -> Builder) -> Result<[Self; 2]> {
        let rules = || Rules::from_json(RULES);
        let runtime = Runtime::new()?;
        let asynchronous = runtime.block_on(make().rules(rules()?).connect())?;
        Ok([
            Self::Blocking(Box::new(make().rules(rules()?).build()?)),
            Self::Async(runtime, Arc::new(asynchronous)),
        ])
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Blocking(_) => "Rust, blocking",
            Self::Async(..) => "Rust, async",
        }
    }

    /// The median of one call's time, in microseconds, while nothing else is in flight.
    pub(super) fn alone(&self, keys: &[String], calls: usize) -> Result<f64> {
        let mut micros = Vec::with_capacity(calls);
        let keys = keys.iter().cycle().take(calls);
        match self {
            Self::Blocking(limiter) => {
                for key in keys {
                    let start = Instant::now();
                    black_box(limiter.check(RULE, key)?);
                    micros.push(start.elapsed().as_nanos() as f64 / 1e3);
                }
            }
            Self::Async(runtime, limiter) => runtime.block_on(async {
                for key in keys {
                    let start = Instant::now();
                    black_box(limiter.check(RULE, key).await?);
                    micros.push(start.elapsed().as_nanos() as f64 / 1e3);
                }
                Result::Ok(())
            })?,
        }
        micros.sort_by(f64::total_cmp);
        Ok(percentile(&micros, 0.5))
    }

    /// Calls per second with 64 in flight.
    pub(super) fn together(&self, keys: &Arc<[String]>, calls: usize) -> Result<f64> {
        let each = calls / IN_FLIGHT;
        // Callers begin in different places, or all would ask for one key after the other.
        let start_of = |caller: usize| caller * keys.len() / IN_FLIGHT;
        let start = Instant::now();
        match self {
            Self::Blocking(limiter) => thread::scope(|scope| {
                let spawn = |caller| {
                    let keys = keys.iter().cycle().skip(start_of(caller)).take(each);
                    scope.spawn(move || {
                        keys.into_iter().try_for_each(|key| limiter.check(RULE, key).map(drop))
                    })
                };
                let callers: Vec<_> = (0..IN_FLIGHT).map(spawn).collect();
                callers
                    .into_iter()
                    .try_for_each(|caller| Ok(caller.join().map_err(|_| "a thread panicked")??))
            }),
            Self::Async(runtime, limiter) => runtime.block_on(async {
                let spawn = |caller| {
                    let (limiter, keys, start) = (Arc::clone(limiter), Arc::clone(keys), start_of(caller));
                    tokio::spawn(async move {
                        for at in start..start + each {
                            limiter.check(RULE, &keys[at % keys.len()]).await?;
                        }
                        Result::Ok(())
                    })
                };
                for caller in (0..IN_FLIGHT).map(spawn).collect::<Vec<_>>() {
                    caller.await??;
                }
                Ok(())
            }),
        }
        .map(|()| (each * IN_FLIGHT) as f64 / start.elapsed().as_secs_f64())
    }

    /// Makes `calls` calls, one every so often, each with a time of its own if one is given; the time that each took, in
    /// microseconds, and how many failed.
    pub(super) fn paced(
        &self,
        every: Duration,
        calls: u32,
        timeout: Option<Duration>,
    ) -> Result<(Vec<f64>, u32)> {
        let mut options = CheckOptions::default();
        options.timeout = timeout;
        let (start, mut micros, mut failed) = (Instant::now(), Vec::new(), 0);
        let mut note = |began: Instant, is_failed| {
            micros.push(began.elapsed().as_nanos() as f64 / 1e3);
            failed += u32::from(is_failed);
        };
        match self {
            Self::Blocking(limiter) => {
                for number in 0..calls {
                    thread::sleep((start + every * number).saturating_duration_since(Instant::now()));
                    let began = Instant::now();
                    note(began, limiter.check_with(RULE, "k", options).is_err());
                }
            }
            Self::Async(runtime, limiter) => runtime.block_on(async {
                let mut ticks = tokio::time::interval(every);
                for _ in 0..calls {
                    ticks.tick().await;
                    let began = Instant::now();
                    note(began, limiter.check_with(RULE, "k", options).await.is_err());
                }
            }),
        }
        micros.sort_by(f64::total_cmp);
        Ok((micros, failed))
    }
}
