//! How much `local` admits on top of the server, however outages fall, processes come and go, and whatever number of them is
//! stated.

use proptest::prelude::*;
use sluicegate::{RateLimiter, Rules, Source};
use sluicegate_conformance::Driver;

use crate::bounds::{Admitted, Most, any_window, within};
use crate::history::{Jump, any_start};
use crate::holds;
use crate::rules::{RandomRule, plain_rule};
use crate::world::{KEYS, RULE, World, fits, one, options};

const PROCESSES: usize = 5;

/// What happens before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happening {
    Nothing,
    /// An outage begins or ends, for all processes.
    Outage,
    /// The circuit breaker of one process opens or closes, while others still reach the server or do not.
    Flap,
    /// A process is replaced by another one, which knows nothing.
    Restart,
}

/// What happens, and a call that follows.
#[derive(Debug, Clone)]
struct Event {
    happening: Happening,
    place: usize,
    jump: Jump,
    /// The part of what a process may admit at once by itself.
    part: f64,
}

/// Processes that ask for all that they can get.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let happenings = prop_oneof![
        20 => Just(Happening::Nothing),
        2 => Just(Happening::Outage),
        1 => Just(Happening::Flap),
        1 => Just(Happening::Restart),
    ];
    let jumps = prop_oneof![
        8 => Just(Jump::None),
        4 => (0.0..0.1).prop_map(Jump::Windows),
        1 => (0.0..1.5).prop_map(Jump::Windows),
        1 => any::<bool>().prop_map(|early| Jump::ToRetry { early }),
    ];
    let parts = prop_oneof![Just(1.0), 0.0..1.0];
    let event = (happenings, 0..PROCESSES, jumps, parts).prop_map(|(happening, place, jump, part)| Event {
        happening,
        place,
        jump,
        part,
    });
    prop::collection::vec(event, 20..100)
}

/// A process that has lost the server.
struct Process {
    limiter: RateLimiter,
    flaps: bool,
    has_decided: bool,
}

impl Process {
    fn start(rule: &RandomRule, server: &World, instances: u32) -> Self {
        let rules = Rules::from_json(&one(rule).to_string()).unwrap();
        // Nothing listens there.
        let builder = RateLimiter::builder("redis://127.0.0.1:1").rules(rules).clock(server.clock.clone());
        let limiter = builder.fallback("local").instances(instances).build().unwrap();
        Self { limiter, flaps: false, has_decided: false }
    }
}

#[test]
fn local_admits_a_part_of_the_bound_on_top_of_the_server() {
    let values = (plain_rule(), any_start(), events(), 1..=2 * PROCESSES as u32);
    holds(150, values, |(rule, start, events, instances)| {
        let share = rule.most() as f64 / f64::from(instances);
        let mut server = World::new(Driver::Blocking, "memory://", &one(&rule), start);
        let anew = |server: &World| Process::start(&rule, server, instances);
        let mut processes: Vec<_> = (0..PROCESSES).map(|_| anew(&server)).collect();
        let (mut is_away, mut decided, mut admitted) = (false, 0, Vec::new());
        for Event { happening, place, jump, part } in events {
            match happening {
                Happening::Nothing => {}
                Happening::Outage => is_away = !is_away,
                Happening::Flap => processes[place].flaps ^= true,
                Happening::Restart => processes[place] = anew(&server),
            }
            server.jump(&jump, rule.longest_us());
            let cost = ((share * part) as u64).max(1);
            let process = &mut processes[place];
            let decision = if is_away == process.flaps {
                server.check(&rule, cost)
            } else {
                let decision = process.limiter.check_with(RULE, KEYS[0], options(&rule, cost, 0)).unwrap();
                prop_assert_eq!(decision.source, Source::Fallback);
                decided += u64::from(!std::mem::replace(&mut process.has_decided, true));
                decision
            };
            if fits(&decision) {
                admitted.push(Admitted { at: server.clock.now_us(), cost: cost as f64 });
            }
            server.note(Ok(decision)).unwrap();
        }
        let most = beside(&rule, decided as f64, f64::from(instances));
        if rule.option() == Some("first_request") {
            // Windows of several processes begin at several times.
            return any_window(&admitted, 2.0 * most.limit, rule.longest_us());
        }
        within(&rule, &admitted, most)
    });
}

/// The bound of the server, and that of processes which decide by themselves.
fn beside(rule: &RandomRule, processes: f64, instances: f64) -> Most {
    let (limit, at_once) = (rule.bounded(rule.limits[0].limit) as f64, rule.most() as f64);
    // Limits of `decay` have a quarter more.
    let more = if rule.algorithm() == "decay" { 0.25 } else { 0.0 };
    Most {
        limit: limit + processes * (limit + more) / instances,
        // A burst that is divided is at least 1.
        at_once: at_once + processes * (at_once / instances).max(1.0),
    }
}
