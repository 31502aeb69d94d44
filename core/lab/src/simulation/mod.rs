//! A run: the same traffic to every rule, on one time axis.

use sluicegate::Result;
use sluicegate::internal;
use sluicegate::rules::Rules;

use super::fleet::{Division, Fleet};
use super::lane::RuleRun;
use super::observer::Observer;
use super::options::Options;
use super::report::{Report, RunEnd};
use super::tally::Tally;
use super::traffic::Traffic;

/// A run has about so many bins by default, and never more than this.
const BINS: u64 = 600;
const MOST_BINS: u64 = 100_000;
/// All strategies are brought forward together, by this part of the whole.
const SLICES: u64 = 500;
/// Calls between two looks at whether the run is to end.
const CALLS_PER_LOOK: u32 = 16_384;

/// Sends the traffic to every rule, each alone.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`](sluicegate::ErrorKind::InvalidArgument)
/// for a `bin_us` so small that there would be more than 100,000 bins; what a
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
    let lane = |rule| {
        let tally = Tally::new(rule, width_us, MOST_BINS as usize);
        RuleRun::new(rule, rules, traffic, &options, tally)
    };
    let mut lanes = Vec::new();
    for rule in rules.iter() {
        lanes.push(lane(rule)?);
        for division in [Division::Even, Division::Skewed].into_iter().filter(|_| !options.real_time) {
            if let Some(fleet) = Fleet::new(rule, rules, (options.processes, division), options.seed)? {
                lanes.push(lane(rule)?.by_fleet(fleet));
            }
        }
    }
    (0..).zip(&mut lanes).for_each(|(number, lane)| lane.number = number);
    let reached_us = match options.real_time {
        true => in_real_time(&mut lanes, length_us, observer)?,
        false => in_virtual_time(&mut lanes, length_us, observer)?,
    };
    lanes.iter_mut().try_for_each(RuleRun::release_all)?;
    let ending = RunEnd {
        specs: traffic.specs().to_vec(),
        seed: options.seed,
        start_us: options.start_us,
        length_us: reached_us,
        interrupted: reached_us < length_us,
        requests: None,
    };
    Ok(Report::new(lanes.into_iter().map(|lane| lane.into_tally()).collect(), ending))
}

/// The width of bins for a length.
fn width(length_us: u64, wanted: Option<u64>) -> Result<u64> {
    match wanted {
        None => Ok(round_up(length_us / BINS)),
        Some(width) if width > 0 && length_us / width < MOST_BINS => Ok(width),
        Some(width) => {
            let least = length_us / MOST_BINS + 1;
            let reason = format!("bins of {width} us are too narrow for this run: use {least} us or more");
            Err(internal::invalid_argument(reason))
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

fn in_virtual_time(lanes: &mut [RuleRun<'_>], length_us: u64, observer: &mut impl Observer) -> Result<u64> {
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

fn in_real_time(lanes: &mut [RuleRun<'_>], length_us: u64, observer: &mut impl Observer) -> Result<u64> {
    let mut now = 0;
    loop {
        let next = |lane: &&mut RuleRun<'_>| lane.next_us().unwrap_or(u64::MAX);
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
mod leases;
#[cfg(test)]
mod tests;
