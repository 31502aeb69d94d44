//! Regions that lend to each other, simulated: what they admit together stays within the stated bound, whatever the network,
//! the servers, the clocks and the callers do.
//!
//! `SLUICEGATE_SIMULATION_HISTORIES` says how many histories are played, `SLUICEGATE_SIMULATION_SEED` plays one.

mod check;
mod demand;
mod event;
mod plan;
mod story;
mod world;

use std::env;

use check::check;
use demand::Demand;
use plan::Plan;
use story::Told;
use world::World;

use crate::effort::by_day;

/// By day a third.
const HISTORIES: u32 = 120;

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[test]
fn no_history_of_regions_exceeds_its_bound() {
    let only = setting("SLUICEGATE_SIMULATION_SEED");
    let histories = setting("SLUICEGATE_SIMULATION_HISTORIES")
        .map_or(by_day(HISTORIES).into(), |histories| histories.min(1_000));
    let seeds = only.map_or(0..histories, |seed| seed..seed + 1);
    let (mut near, mut by_part) = (0, 0);
    for seed in seeds {
        let plan = Plan::random(seed);
        let story = World::new(&plan, seed).play();
        near += story.count(Told::Near(true));
        by_part += story.count(Told::Part(true));
        if let Err((name, what)) = check(&plan, &story) {
            panic!("seed {seed}: {name}: {what}\n{plan:?}");
        }
    }
    assert!(near > 0, "nothing was ever spent near");
    assert!(by_part > 0 || only.is_some(), "no region was ever cut off");
}

/// A key that two regions are in charge of admits two bounds at most, and at times more than one.
#[test]
fn two_maps_at_once_add_one_full_bound() {
    let mut exceed_one = 0;
    for seed in 0..u64::from(by_day(HISTORIES)) / 2 {
        let plan = Plan::random(seed);
        let plan = Plan { second_map: Some(0.0..plan.lasts), losses: Vec::new(), ..plan };
        let story = World::new(&plan, seed).play();
        if let Err((name, what)) = check(&plan, &story) {
            panic!("seed {seed}: {name}: {what}\n{plan:?}");
        }
        exceed_one += usize::from(check(&Plan { second_map: None, ..plan }, &story).is_err());
    }
    assert!(exceed_one > 0, "two maps added nothing");
}

/// An answer that is on its way to a process that ends is lost, and what it has lent: the next process asks again.
#[test]
fn a_region_borrows_again_after_its_processes_were_restarted() {
    let demand = [Demand::None, Demand::Steady(1_000.0)];
    for trip in [40_000.0, 150_000.0] {
        let calm = Plan::calm(120_000.0, 60e6, trip, &demand, 10e6);
        let restarts = (2..9).map(|second| (1, f64::from(second) * 1e6 + trip / 2.0)).collect();
        let plan = Plan { restarts, ..calm };
        let story = World::new(&plan, 1).play();
        let far = story.far_after(1e6);
        if let Err((name, what)) = check(&plan, &story) {
            panic!("seed {trip}: {name}: {what}");
        }
        assert!(far < 0.1, "seed {trip}: stuck: {far} of the calls are decided by the region in charge");
    }
}

/// The share of what one server would admit, and of the calls elsewhere that the region in charge decided after the first
/// second.
fn shares(plan: &Plan) -> (f64, f64) {
    let story = World::new(plan, 1).play();
    check(plan, &story).unwrap();
    let ideal = f64::min(story.asked(), plan.burst + plan.per_us() * plan.lasts);
    (story.admitted() / ideal, story.far_after(1e6))
}

#[test]
fn nearly_all_is_admitted_wherever_it_is_asked_for() {
    let even = [Demand::Steady(1_000.0); 3];
    let elsewhere = [Demand::None, Demand::None, Demand::Steady(3_000.0)];
    let moving = [Demand::None, Demand::Moving(3_000.0, 0), Demand::Moving(3_000.0, 1)];
    let mut said = Vec::new();
    for trip in [40_000.0, 150_000.0] {
        for (name, demand, least) in
            [("even", even, 0.97), ("elsewhere", elsewhere, 0.97), ("moving", moving, 0.94)]
        {
            let calm = Plan::calm(120_000.0, 60e6, trip, &demand, 10e6);
            let (admitted, far) = shares(&Plan { burst: 2_000.0, ..calm });
            said.push((name, trip, admitted, far));
            assert!(admitted >= least, "{said:?}");
            assert!(name == "moving" || far < 0.01, "{said:?}");
        }
    }
}

#[test]
fn small_limits_and_quotas_are_used_up_too() {
    let hour = 3_600e6;
    let mut said = Vec::new();
    for (name, limit, window, demand, lasts) in [
        ("100 an hour, 0.1 a second", 100.0, hour, Demand::Steady(0.1), 2.0 * hour),
        ("1,000 an hour, 1 a second", 1_000.0, hour, Demand::Steady(1.0), 2.0 * hour),
        ("a quota of 1,000, in bursts of 20", 1_000.0, 1e3 * hour, Demand::Bursts(20.0), hour / 3.0),
    ] {
        let (admitted, _) = shares(&Plan::calm(limit, window, 40_000.0, &[Demand::None, demand], lasts));
        said.push((name, admitted));
        assert!(admitted >= 0.95, "{said:?}");
    }
}
