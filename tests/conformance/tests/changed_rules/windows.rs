//! Several windows of one rule in use at the same time, as in a rolling update: what is held is held under each of them,
//! whoever reserved it.
//!
//! On a server each window has a limiter of its own; in memory one limiter changes its rules before every step.

use std::cell::Cell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sluicegate::{Check, CheckOptions, Decision, Reservation, Usage};
use sluicegate_conformance::Backend;

use crate::world::World;

/// `WINDOW` stands for a window that is not in use otherwise.
const KINDS: [&str; 12] = [
    r#""algorithm": "fixed_window", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "fixed_window", "window_start": "first_request", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "fixed_window", "limit": 10, "window": "day", "time_zone": "Etc/GMT-WINDOW""#,
    r#""algorithm": "sliding_window", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "sliding_log", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "sliding_log", "structure": "sorted_set", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "sliding_buckets", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "gcra", "limit": 10, "window_size_seconds": WINDOW"#,
    r#""algorithm": "token_bucket", "burst": 12, "limit": 5, "window_size_seconds": WINDOW"#,
    r#""algorithm": "decay", "limit": 10, "resolution_seconds": WINDOW"#,
    r#""algorithm": "gcra", "limits": [{"limit": 10, "window_size_seconds": WINDOW}, {"limit": 15, "window_size_seconds": 24}]"#,
    r#""algorithm": "concurrency", "limit": 10"#,
];
const WINDOWS: [u64; 3] = [12, 6, 3];
const OTHERS: [&str; 3] = ["", r#", "shadow": true"#, r#", "overrides": true, "block": {"seconds": 1}"#];
const LEASE: Duration = Duration::from_secs(5);

/// A rule at one window, with another that the calls about several rules are about too.
fn rules(kind: &str, window: u64, others: &str) -> String {
    let others = match kind {
        places if places.contains("concurrency") => "",
        several if several.contains("limits") => &others.replace(r#""overrides": true, "#, ""),
        _ => others,
    };
    let reserving = if kind.contains("concurrency") { "" } else { r#", "reservations": true"# };
    let kind = kind.replace("WINDOW", &window.to_string());
    format!(
        r#"[{{"rule_id": "r", {kind}{reserving}, "lease_seconds": 5{others}}},
            {{"rule_id": "other", "rate": "20/10s", "reservations": true, "lease_seconds": 5}}]"#
    )
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Check,
    CheckBoth,
    Peek,
    Charge,
    Refund,
    Reserve,
    ReserveBoth,
    Commit,
    Release,
    Renew,
    Reset,
}

#[derive(Debug, Clone)]
struct Step {
    /// By which of the windows.
    by: usize,
    act: Act,
    cost: u64,
    limit: Option<u64>,
    /// Which of the reservations is ended.
    which: usize,
    /// The time that passes before it, in leases.
    after: f64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let acts = prop_oneof![
        4 => Just(Act::Check),
        1 => Just(Act::CheckBoth),
        2 => Just(Act::Peek),
        1 => Just(Act::Charge),
        1 => Just(Act::Refund),
        5 => Just(Act::Reserve),
        1 => Just(Act::ReserveBoth),
        4 => Just(Act::Commit),
        2 => Just(Act::Release),
        2 => Just(Act::Renew),
        1 => Just(Act::Reset),
    ];
    let limits = prop_oneof![12 => Just(None), 1 => (3..=20_u64).prop_map(Some)];
    let after = prop_oneof![6 => Just(0.0), 4 => 0.0..0.3, 2 => 0.3..2.0];
    let step = (0..WINDOWS.len(), acts, 1..=4_u64, limits, 0..8_usize, after);
    let step =
        step.prop_map(|(by, act, cost, limit, which, after)| Step { by, act, cost, limit, which, after });
    prop::collection::vec(step, 1..25)
}

/// A place where the windows are in use.
struct Side {
    /// One for each window, or one that changes its rules.
    worlds: Vec<World>,
    rules: Vec<String>,
    in_force: Cell<usize>,
    reserved: Vec<Reservation>,
}

impl Side {
    fn new(url: &str, prefix: &str, rules: &[String]) -> Self {
        let own = if url == "memory://" { 1 } else { rules.len() };
        let worlds = rules.iter().take(own).map(|rules| World::new(url, prefix, rules)).collect();
        Self { worlds, rules: rules.to_vec(), in_force: Cell::new(0), reserved: Vec::new() }
    }

    fn world(&self, by: usize) -> &World {
        if let [only] = self.worlds.as_slice() {
            if self.rules[self.in_force.replace(by)] != self.rules[by] {
                only.change(&self.rules[by]);
            }
            return only;
        }
        &self.worlds[by]
    }

    /// Plays a step, and says all that is the same on every side.
    fn play(&mut self, step: &Step) -> String {
        let &Step { by, act, cost, limit, which, after } = step;
        let by = by % self.rules.len();
        self.worlds.iter().for_each(|world| world.clock.advance(LEASE.mul_f64(after)));
        let limiter = &self.world(by).limiter;
        let mut options = CheckOptions::new().cost(cost);
        options.limit = limit.filter(|_| !self.rules[by].contains("limits"));
        let both = [Check::new("other", "k"), Check::new("r", "k").with(options)];
        let decided = match act {
            Act::Check => limiter.check_with("r", "k", options),
            Act::CheckBoth => limiter.check_all(&both),
            Act::Peek => limiter.peek_with("r", "k", options),
            Act::Charge => limiter.charge_with("r", "k", options),
            Act::Refund => limiter.refund_with("r", "k", options),
            Act::Reserve | Act::ReserveBoth => {
                let reserved = match act {
                    Act::Reserve => limiter.reserve_with("r", "k", options),
                    _ => limiter.reserve_all(&both),
                };
                match reserved {
                    Ok(reserved) => {
                        let said = format!("{:?} {}", reserved.token(), said(&reserved));
                        self.reserved.push(reserved);
                        return said;
                    }
                    Err(error) => Err(error),
                }
            }
            Act::Commit | Act::Release | Act::Renew => {
                let Some(latest) = self.reserved.len().checked_sub(1) else { return String::new() };
                let reserved = &self.reserved[latest - which.min(latest)];
                let ended = match act {
                    Act::Commit => limiter.commit(reserved, Usage::Cost(cost)),
                    Act::Release => limiter.release(reserved),
                    _ => limiter.renew(reserved),
                };
                return format!("{:?}", ended.map_err(|error| error.kind()));
            }
            Act::Reset => return format!("{:?}", limiter.reset("r", "k").map_err(|error| error.kind())),
        };
        decided.map_or_else(|error| format!("{:?}", error.kind()), |decision| said(&decision))
    }
}

fn said(decision: &Decision) -> String {
    let Decision { allowed, limit, remaining, retry_after, reset_after, shadow_denied, blocked, .. } =
        decision;
    format!("{allowed} {limit} {remaining} {retry_after:?} {reset_after:?} {shadow_denied} {blocked}")
}

/// Every plain way in which what is held changes under one window, and a check under another that had looked before.
fn sees_at_once(backend: &Backend) {
    let rules: Vec<_> = WINDOWS.iter().map(|window| rules(KINDS[7], *window, "")).collect();
    let side = Side::new(&backend.url(), "at-once", &rules);
    let [a, b, c] = [0, 1, 2].map(|by| side.world(by));
    let everywhere = |remaining: [u64; 3]| {
        assert_eq!([a, b, c].map(World::remaining), remaining);
        // What is held is in the way of none by less than it weighs.
        for (world, remaining) in [a, b, c].into_iter().zip(remaining) {
            let more = CheckOptions::new().cost(remaining + 1);
            assert!(!world.limiter.check_with("r", "k", more).unwrap().allowed);
        }
    };
    a.limiter.check("r", "k").unwrap();
    let first = a.reserve(1);
    everywhere([8, 9, 9]);
    let second = b.reserve(5);
    everywhere([3, 4, 4]);
    b.limiter.check("r", "k").unwrap();
    a.limiter.check("r", "k").unwrap();
    everywhere([2, 3, 4]);
    assert!(c.limiter.release(&first).unwrap());
    everywhere([3, 4, 5]);
    assert!(c.limiter.renew(&second).unwrap());
    assert!(a.limiter.commit(&second, Usage::Cost(2)).unwrap());
    everywhere([6, 9, 10]);
    let _third = c.reserve(4);
    b.limiter.reset("r", "k").unwrap();
    everywhere([6, 10, 10]);
}

#[test]
fn a_check_sees_at_once_what_is_held_under_another_window() {
    sees_at_once(&Backend::redis());
    sees_at_once(&Backend::cluster());
}

fn decides_as_in_memory(backend: &Backend, cases: u32) {
    let kind = || prop::sample::select(&KINDS[..]);
    // Nearly always one algorithm.
    let kinds = prop_oneof![
        4 => kind().prop_map(|kind| [kind; 3]),
        1 => [kind(), kind(), kind()],
    ];
    let histories = (kinds, 2..=WINDOWS.len(), prop::sample::select(&OTHERS[..]), steps());
    let number = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let found = runner.run(&histories, |(kinds, windows, others, steps)| {
        number.set(number.get() + 1);
        let rules: Vec<_> = kinds
            .iter()
            .zip(WINDOWS)
            .take(windows)
            .map(|(kind, window)| rules(kind, window, others))
            .collect();
        let prefix = format!("windows{}", number.get());
        let [mut on_server, mut in_memory] =
            [&backend.url(), "memory://"].map(|url| Side::new(url, &prefix, &rules));
        for (number, step) in steps.iter().enumerate() {
            prop_assert_eq!(on_server.play(step), in_memory.play(step), "step {}: {:?}", number, step);
        }
        Ok(())
    });
    if let Err(failure) = found {
        panic!("{failure}");
    }
    assert_eq!(backend.immortal_keys(), Vec::<String>::new());
}

#[test]
fn every_window_sees_what_is_held_under_the_others() {
    decides_as_in_memory(&Backend::redis(), 400);
}

#[test]
fn every_window_sees_what_is_held_under_the_others_on_a_cluster() {
    decides_as_in_memory(&Backend::cluster(), 60);
}
