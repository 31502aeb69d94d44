//! A run: the same traffic to every rule, on one time axis.

use std::time::Duration;

use super::lane::Lane;
use super::report::{Ending, Report};
use super::tally::Tally;
use super::traffic::Traffic;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::Rules;

/// The time at which runs begin unless told otherwise: 2026-01-01 00:00 UTC, in microseconds since 1970.
pub const START_US: u64 = 1_767_225_600_000_000;

/// A run has about so many bins unless told otherwise, and never more than this.
const BINS: u64 = 600;
const MOST_BINS: u64 = 100_000;
/// All strategies are brought forward together, by this part of the whole.
const SLICES: u64 = 500;
/// Calls between two looks at whether the run is to end.
const CALLS_PER_LOOK: u32 = 16_384;

/// How a run is made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The backend. Default: `memory://`.
    pub url: String,
    /// What every name in Redis begins with. Default: the limiter's own.
    pub prefix: Option<String>,
    /// Whether time passes by itself, rather than being set. Default: no.
    pub real_time: bool,
    /// When the run begins, in microseconds since 1970. Default: [`START_US`].
    pub start_us: u64,
    /// Fixes what is random. Default: 1.
    pub seed: u64,
    /// Width of a bin in microseconds. Default: a round time, of which the run has about 600.
    pub bin_us: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        let url = "memory://".to_owned();
        Self { url, prefix: None, real_time: false, start_us: START_US, seed: 1, bin_us: None }
    }
}

/// One decision.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The number of the strategy, from 0.
    pub strategy: usize,
    /// The name of its rule.
    pub rule: &'a str,
    /// Microseconds since 1970.
    pub at_us: u64,
    /// Who called.
    pub key: &'a str,
    /// The resource, for a rule that limits one.
    pub resource: Option<&'a str>,
    /// What the call costs.
    pub cost: u64,
    /// Whether it was admitted.
    pub admitted: bool,
    /// The most that would still be admitted.
    pub remaining: u64,
    /// How long until it would be admitted; [`Duration::MAX`]: never.
    pub retry_after: Duration,
}

/// Watches a run. `()` watches nothing.
pub trait Observer {
    /// Sees every decision.
    fn decided(&mut self, _record: &Record<'_>) {}

    /// Lets real time pass until `at_us` microseconds after the beginning, and answers what time it is then.
    fn wait_until(&mut self, at_us: u64) -> u64 {
        at_us
    }

    /// Answers whether the run goes on; `done` of it, from 0 to 1, is over.
    fn go_on(&mut self, _done: f64) -> bool {
        true
    }
}

impl Observer for () {}

/// Sends the traffic to every rule, each alone.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`] for a `bin_us` so small that there would be more than 100,000 bins; what a
/// limiter on this backend answers.
pub fn simulate(
    rules: &Rules,
    traffic: &Traffic,
    options: Options,
    observer: &mut impl Observer,
) -> Result<Report> {
    traffic.ensure_durations(rules)?;
    let length_us = traffic.length_us();
    let width_us = width(length_us, options.bin_us)?;
    let lane = |(number, rule)| {
        let tally = Tally::new(rule, width_us, MOST_BINS as usize);
        Lane::new(number, rule, rules, traffic, &options, tally)
    };
    let mut lanes: Vec<_> = rules.iter().enumerate().map(lane).collect::<Result<_>>()?;
    let reached_us = match options.real_time {
        true => in_real_time(&mut lanes, length_us, observer)?,
        false => in_virtual_time(&mut lanes, length_us, observer)?,
    };
    lanes.iter_mut().try_for_each(Lane::release_all)?;
    let ending = Ending {
        specs: traffic.specs().to_vec(),
        start_us: options.start_us,
        length_us: reached_us,
        interrupted: reached_us < length_us,
        requests: None,
    };
    Ok(Report::new(lanes.into_iter().map(|lane| lane.tally).collect(), ending))
}

/// The width of bins for a length.
fn width(length_us: u64, wanted: Option<u64>) -> Result<u64> {
    match wanted {
        None => Ok(round_up(length_us / BINS)),
        Some(width) if width > 0 && length_us / width < MOST_BINS => Ok(width),
        Some(width) => {
            let least = length_us / MOST_BINS + 1;
            let reason = format!("bins of {width} us are too narrow for this run: use {least} us or more");
            Err(Error::new(ErrorKind::InvalidArgument, reason))
        }
    }
}

/// The next of 1, 2, 5, 10, 20, 50, ...
fn round_up(number: u64) -> u64 {
    let mut power = 1;
    loop {
        if let Some(round) = [1, 2, 5].into_iter().map(|digit| digit * power).find(|round| *round >= number) {
            return round;
        }
        power *= 10;
    }
}

fn in_virtual_time(lanes: &mut [Lane<'_>], length_us: u64, observer: &mut impl Observer) -> Result<u64> {
    let mut calls = 0;
    let mut reached = 0;
    for slice in 1..=SLICES {
        let end = (u128::from(length_us) * u128::from(slice) / u128::from(SLICES)) as u64;
        for lane in &mut *lanes {
            while let Some(at) = lane.next_us().filter(|at| *at < end) {
                lane.step(at, observer)?;
                calls += 1;
                if calls % CALLS_PER_LOOK == 0 && !observer.go_on((slice - 1) as f64 / SLICES as f64) {
                    return Ok(reached);
                }
            }
        }
        reached = end;
        if slice < SLICES && !observer.go_on(slice as f64 / SLICES as f64) {
            return Ok(reached);
        }
    }
    Ok(length_us)
}

fn in_real_time(lanes: &mut [Lane<'_>], length_us: u64, observer: &mut impl Observer) -> Result<u64> {
    let mut now = 0;
    loop {
        let next = |lane: &&mut Lane<'_>| lane.next_us().unwrap_or(u64::MAX);
        let Some(lane) = lanes.iter_mut().min_by_key(next) else { return Ok(length_us) };
        let Some(at) = lane.next_us().filter(|at| *at < length_us) else { return Ok(length_us) };
        now = observer.wait_until(at).max(now);
        if !observer.go_on(now as f64 / length_us as f64) {
            return Ok(now.min(length_us - 1));
        }
        lane.step(now, observer)?;
    }
}

#[cfg(test)]
mod concurrency;
#[cfg(test)]
mod tests;
