//! What has to be true of every history.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::story::{Call, Story, Told};

/// A rule that was broken, and how.
pub(super) type Broken = (&'static str, String);

pub(super) fn check(plan: &Plan, story: &Story) -> Result<(), Broken> {
    let mut admitted: Vec<&Call> = story.0.iter().filter(|call| call.is_admitted()).collect();
    admitted.sort_by(|one, other| one.at.total_cmp(&other.at));
    if plan.is_window {
        in_windows(plan, &admitted)?
    } else {
        in_any_interval(plan, &admitted)?
    }
    (0..plan.trips.len()).try_for_each(|region| by_part(plan, story, region))?;
    denied_near(plan, story)
}

/// In any interval at most the burst, what leaks in it, and what leaks while a loan lasts; and a burst for every loss of what
/// the region in charge knew. A clock that steps back prolongs loans by the step. Two maps add one full bound.
fn in_any_interval(plan: &Plan, admitted: &[&Call]) -> Result<(), Broken> {
    let maps = plan.maps() as f64;
    let losses = plan.losses.iter().filter(|(region, _)| *region < plan.maps()).count() as f64;
    let stepped: f64 = plan.steps_back.iter().map(|(_, _, step)| step).sum();
    let per_us = maps * plan.per_us();
    // What was lent in the interval before may be as much as there was.
    let bound = plan.burst * (maps + losses) + per_us * (plan.max_age + stepped);
    match exceeded(admitted, per_us, bound) {
        Some((most, at)) => Err(("bound", excess(most, bound, at))),
        None => Ok(()),
    }
}

/// How much is admitted in an interval beyond what leaks in it, where that is more than the bound, and when.
fn exceeded(admitted: &[&Call], per_us: f64, bound: f64) -> Option<(f64, f64)> {
    let (mut before, mut least) = (0.0, f64::INFINITY);
    admitted.iter().find_map(|call| {
        least = f64::min(least, before - per_us * call.at);
        before += call.cost;
        let most = before - per_us * call.at - least;
        (most > bound + 1e-6).then_some((most, call.at))
    })
}

fn excess(most: f64, bound: f64, at: f64) -> String {
    format!("{most} units and what leaked, where {bound} are allowed, at {at}")
}

/// A region that is cut off admits no more than its part of the limit, in addition to all else, and once more for every loss of
/// what it has counted: in any interval, or in each window of its own clock.
fn by_part(plan: &Plan, story: &Story, region: usize) -> Result<(), Broken> {
    let is_own = |call: &&Call| call.region == region && call.told == Told::Part(true);
    let mut admitted: Vec<&Call> = story.0.iter().filter(is_own).collect();
    admitted.sort_by(|one, other| one.at.total_cmp(&other.at));
    let part = |whole: f64| (whole * plan.part() + 1e-9).floor().max(1.0);
    let losses = plan.losses.iter().filter(|(place, _)| *place == region).count() as f64;
    let is_cut = plan.cuts.iter().any(|(place, ..)| *place == region);
    let most = if is_cut { part(if plan.is_window { plan.limit } else { plan.burst }) } else { 0.0 };
    if !plan.is_window {
        let bound = most * (1.0 + losses);
        return match exceeded(&admitted, part(plan.limit) / plan.window, bound) {
            Some((most, at)) => Err(("part", excess(most, bound, at))),
            None => Ok(()),
        };
    }
    // A clock that steps back may come to the same window again.
    let bound = most * (1.0 + losses + plan.steps_back.len() as f64);
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for call in admitted {
        *counts.entry((plan.clock(region, call.at) / plan.window) as u64).or_default() += call.cost;
    }
    match counts.into_iter().find(|(_, count)| *count > bound) {
        Some((number, count)) => Err((
            "part",
            format!("{count} units in window {number} of region {region}, where {bound} are allowed"),
        )),
        None => Ok(()),
    }
}

/// In each window of the region in charge at most the limit, and once more for every loss. A second one has windows of its own, of which
/// two lie in each of these.
fn in_windows(plan: &Plan, admitted: &[&Call]) -> Result<(), Broken> {
    let window = |at: f64| (plan.clock(0, at) / plan.window).floor() as u64;
    let of_others = if plan.maps() > 1 { 2.0 * (1.0 + plan.losses.len() as f64) } else { 0.0 };
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for call in admitted {
        *counts.entry(window(call.at)).or_default() += call.cost;
    }
    let is_stepped = !plan.steps_back.is_empty();
    for (number, count) in counts {
        let is_lost = |(region, at): &&(usize, f64)| *region == 0 && window(*at) == number;
        let losses = plan.losses.iter().filter(is_lost).count() as f64;
        // What a clock that steps back prolongs may be spent in the next window.
        let bound = plan.limit * (1.0 + losses + of_others + f64::from(u8::from(is_stepped)));
        if count > bound {
            return Err(("window", format!("{count} units in window {number}, where {bound} are allowed")));
        }
    }
    Ok(())
}

/// Nothing is denied near long after the region in charge was last heard.
fn denied_near(plan: &Plan, story: &Story) -> Result<(), Broken> {
    let stepped: f64 = plan.steps_back.iter().map(|(_, _, step)| step).sum();
    for call in story.0.iter().filter(|call| call.told == Told::Near(false)) {
        let most = plan.max_age.max(1e6).max(4.0 * plan.trips[call.region]) + stepped;
        if call.known_for > most {
            return Err((
                "denied",
                format!("by what was heard {} us before, at {}", call.known_for, call.at),
            ));
        }
    }
    Ok(())
}
