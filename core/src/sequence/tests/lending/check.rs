//! What has to be true of every history.

use std::collections::BTreeMap;

use super::plan::Plan;
use super::world::{Call, Story, Told};

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
    denied_near(plan, story)
}

/// In any interval at most the burst, what leaks in it, and what leaks while a loan lasts; and a burst for every loss of what
/// the region in charge knew. A clock that steps back prolongs loans by the step.
fn in_any_interval(plan: &Plan, admitted: &[&Call]) -> Result<(), Broken> {
    let losses = plan.losses.iter().filter(|(region, _)| *region == 0).count() as f64;
    let stepped: f64 = plan.steps_back.iter().map(|(_, _, step)| step).sum();
    let lent = plan.per_us() * (plan.max_age + stepped);
    // What was lent in the interval before may be as much as there was.
    let bound = plan.burst * (1.0 + losses) + lent;
    let (mut before, mut least) = (0.0, f64::INFINITY);
    for call in admitted {
        least = f64::min(least, before - plan.per_us() * call.at);
        before += call.cost;
        let most = before - plan.per_us() * call.at - least;
        if most > bound + 1e-6 {
            return Err((
                "bound",
                format!("{most} units and what leaked, where {bound} are allowed, at {}", call.at),
            ));
        }
    }
    Ok(())
}

/// In each window of the region in charge at most the limit, and once more for every loss.
fn in_windows(plan: &Plan, admitted: &[&Call]) -> Result<(), Broken> {
    let window = |at: f64| (plan.clock(0, at) / plan.window).floor() as u64;
    let mut counts: BTreeMap<u64, f64> = BTreeMap::new();
    for call in admitted {
        *counts.entry(window(call.at)).or_default() += call.cost;
    }
    let is_stepped = !plan.steps_back.is_empty();
    for (number, count) in counts {
        let is_lost = |(region, at): &&(usize, f64)| *region == 0 && window(*at) == number;
        let losses = plan.losses.iter().filter(is_lost).count() as f64;
        // What a clock that steps back prolongs may be spent in the next window.
        let bound = plan.limit * (1.0 + losses + f64::from(u8::from(is_stepped)));
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
