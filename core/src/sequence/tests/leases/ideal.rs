//! How much of what a limiter admits that decides each call at once processes admit by what they borrow.

use super::setting::{Fault, MS, Setting, Spikes};
use super::{SECOND, World};

/// The cases of the design: even and skewed, half the limit to twice of it.
#[test]
fn nearly_all_is_admitted_and_few_calls_reach_the_server() {
    for (is_skewed, offered) in [(false, 0.5), (false, 0.9), (false, 2.0), (true, 0.5), (true, 2.0)] {
        let setting = Setting { offered, is_skewed, ..Setting::BUSY };
        let world = World::new(setting, 1).play(3 * SECOND);
        world.check_bound();
        let ideal = (3 * setting.limit + setting.burst).min(world.calls) as f64;
        let (part, calls) = (world.sum() as f64 / ideal, world.calls as f64 / world.requests as f64);
        assert!(calls > 5.0, "seed 1: requests: one for {calls} checks: {setting:?}");
        assert!(part >= 0.97, "seed 1: ideal: {part} of it: {setting:?}");
    }
}

/// Half of what is left, which a loan is at most, is no sign of others.
#[test]
fn one_process_that_asks_for_less_than_the_limit_is_denied_nothing() {
    for (algorithm, limit, age_ms, offered) in [
        ("fixed_window", 1_000, 1_000, 0.8),
        ("fixed_window", 1_000, 500, 0.8),
        ("fixed_window", 1_000, 20, 0.8),
        ("gcra", 1_000, 1_000, 0.8),
        ("gcra", 20_000, 20, 0.9),
    ] {
        let setting = Setting {
            algorithm,
            limit,
            burst: limit,
            age_ms,
            pace_ms: age_ms / 2,
            processes: 1,
            offered,
            ..Setting::BUSY
        };
        let world = World::new(setting, 1).play(5 * SECOND);
        assert!(
            world.by_lease * 2 > world.calls,
            "seed 1: {} of {}: {setting:?}",
            world.by_lease,
            world.calls
        );
        assert_eq!((world.denied_by_lease, world.sum()), (0, world.calls), "seed 1: {setting:?}");
    }
}

/// Demand that comes in spikes above the limit: with nothing between them, or with calls that need a part of what is there.
#[test]
fn spikes_admit_nearly_as_much_as_a_limiter_that_decides_each_call() {
    let spikes = [
        (0.97, 1.2, 1_000, (40, 300, 0.0)),
        (0.97, 1.5, 2_000, (100, 500, 0.0)),
        (0.97, 2.0, 10_000, (200, 1_500, 0.0)),
        (0.97, 3.0, 5_000, (300, 2_000, 0.0)),
        (0.97, 0.8, 1_000, (50, 1_200, 0.0)),
        (0.97, 1.5, 1_000, (100, 1_000, 0.6)),
        // Units that are not spent in time have leaked: what is lent between the spikes lacks in them.
        (0.87, 1.5, 1_000, (40, 200, 0.6)),
        (0.88, 1.2, 2_000, (40, 400, 0.8)),
        (0.91, 1.2, 2_000, (40, 400, 0.3)),
    ];
    for (is_skewed, (least, offered, burst, spikes)) in
        [false, true].into_iter().flat_map(|it| spikes.map(|of| (it, of)))
    {
        let (lasting, every, beside) = spikes;
        let setting = Setting {
            limit: 10_000,
            burst,
            offered,
            is_skewed,
            spikes: Some(Spikes { lasting: lasting * MS, every: every * MS, beside }),
            trip: 500,
            ..Setting::BUSY
        };
        let world = World::new(setting, 1).play(6 * SECOND);
        world.check_bound();
        let part = world.sum() as f64 / world.ideal as f64;
        assert!(part >= least, "seed 1: ideal: {part} of it: {setting:?}");
    }
}

/// A process crashes, stops or gives back once in 3,000 calls: all together, up to 13 times a second. One that hoards takes up to
/// half of what is there, at every pace: what it does not spend has leaked at the server as if it had.
#[test]
fn faults_cost_little_and_a_hoarder_about_what_it_borrows() {
    use Fault::{Crash, GiveBack, Stop};
    let cases: [(&str, &[Fault], bool, f64); 5] = [
        ("none", &[], false, 0.98),
        ("crashes", &[Crash], false, 0.98),
        ("stops", &[Stop], false, 0.98),
        ("gives back", &[GiveBack], false, 0.98),
        ("one hoards", &[], true, 0.83),
    ];
    for (name, faults, hoards, least) in cases {
        for (offered, is_skewed) in [0.5, 1.0, 2.0].into_iter().flat_map(|of| [(of, false), (of, true)]) {
            let setting = Setting { offered, is_skewed, faults, hoards, ..Setting::BUSY };
            let world = World::new(setting, 1).play(3 * SECOND);
            world.check_bound();
            let part = world.sum() as f64 / world.ideal as f64;
            println!("{name}, {offered} of the limit, skewed: {is_skewed}: {part:.3}");
            assert!(part >= least, "seed 1: {name}: {part} of the ideal: {setting:?}");
        }
    }
}
