//! Compensations in random histories: Lua does what Rust does, and nobody is admitted wrongly.

use std::cell::RefCell;

use proptest::prelude::*;

use super::super::{Clocks, Step, protocol};
use super::server::{Server, catalog, check};
use crate::algorithm::{Demand, Micros, Policy, State};
use crate::catalog::Catalog;
use crate::effort::by_day;
use crate::plan::{Charge, Op, Outcome, Plan};

pub(super) const KINDS: [&str; 13] = [
    r#""algorithm": "fixed_window""#,
    r#""algorithm": "fixed_window", "count_denied": true"#,
    r#""algorithm": "sliding_window""#,
    r#""algorithm": "sliding_window", "count_denied": true"#,
    r#""algorithm": "sliding_log""#,
    r#""algorithm": "sliding_log", "structure": "sorted_set""#,
    r#""algorithm": "sliding_buckets""#,
    r#""algorithm": "sliding_buckets", "count_denied": true"#,
    r#""algorithm": "gcra""#,
    CALENDAR,
    r#""algorithm": "fixed_window", "window": "day", "count_denied": true"#,
    DECAY,
    r#""algorithm": "decay", "decay_factor": 3.7, "count_denied": true"#,
];
const CALENDAR: &str = r#""algorithm": "fixed_window", "window": "day", "time_zone": "Europe/Berlin""#;
const DAY: Micros = 86_400_000_000;
const DECAY: &str = r#""algorithm": "decay", "decay_factor": 3.7"#;
/// Its windows begin with whoever comes first, be it somebody who is denied later.
pub(super) const FIRST_REQUEST: &str = r#""algorithm": "fixed_window", "window_start": "first_request""#;
pub(super) const START: Micros = 1_700_000_000_123_456;

#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    Check,
    /// A check whose charge may be taken back later.
    Tentative,
    /// Takes back one of those, if there is any.
    Compensate(usize),
    Refund,
    Charge,
}

#[derive(Debug, Clone)]
pub(super) struct Event {
    /// In windows.
    pub(super) jump: f64,
    pub(super) act: Act,
    pub(super) cost: u64,
}

/// A rule of one limit.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) limit: u64,
    pub(super) window: Micros,
}

impl Rule {
    /// The limit of `decay` is one that no sum of charges comes near, whatever the rounding.
    pub(super) fn catalog(&self) -> Catalog {
        let Self { kind, limit, window } = self;
        let decay = kind.contains("decay");
        let (fraction, span) =
            if decay { (".25", "resolution_seconds") } else { ("", "window_size_seconds") };
        let window = *window as f64 / 1e6;
        let span = if is_of_calendar(kind) { String::new() } else { format!(r#", "{span}": {window}"#) };
        catalog(&format!(r#"[{{"rule_id": "r", {kind}, "limit": {limit}{fraction}{span}}}]"#))
    }
}

fn is_of_calendar(kind: &str) -> bool {
    kind.contains("\"window\"")
}

pub(super) fn rules(kinds: &[&'static str]) -> impl Strategy<Value = Rule> + use<> {
    (prop::sample::select(kinds.to_vec()), 1..=20_u64, 1_000..=100_000_000_i64).prop_map(
        |(kind, limit, window)| Rule { kind, limit, window: if is_of_calendar(kind) { DAY } else { window } },
    )
}

pub(super) fn histories(
    acts: impl Strategy<Value = Act>,
    least_jump: f64,
) -> impl Strategy<Value = Vec<Event>> {
    let jump = prop_oneof![3 => Just(0.0), 5 => 0.0..0.3, 2 => 0.3..3.0, 1 => least_jump..0.001];
    let event = (jump, acts, prop_oneof![3 => 1..=2_u64, 2 => 1..=20_u64]);
    prop::collection::vec(event.prop_map(|(jump, act, cost)| Event { jump, act, cost }), 1..30)
}

fn checks_and_compensations() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Check),
        3 => Just(Act::Tentative),
        3 => (0..4_usize).prop_map(Act::Compensate),
    ]
}

/// A charge that may be taken back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tentative {
    at: Micros,
    cost: u64,
}

/// What an event asks of a limit: the operation, its cost, and when the cost was charged.
pub(super) fn asked(event: &Event, open: &mut Vec<Tentative>) -> Option<(Op, u64, Option<Micros>)> {
    match event.act {
        Act::Check | Act::Tentative => Some((Op::Check, event.cost, None)),
        Act::Refund => Some((Op::Refund, event.cost, None)),
        Act::Charge => Some((Op::Charge, event.cost, None)),
        Act::Compensate(_) if open.is_empty() => None,
        Act::Compensate(number) => {
            let Tentative { at, cost } = open.remove(number % open.len());
            Some((Op::Refund, cost, Some(at)))
        }
    }
}

/// A limit as it is kept in the process.
pub(super) struct InRust<'a> {
    pub(super) policy: &'a Policy,
    pub(super) state: Option<State>,
}

impl<'a> InRust<'a> {
    pub(super) fn new(policy: &'a Policy) -> Self {
        Self { policy, state: None }
    }

    pub(super) fn run(&mut self, op: Op, cost: u64, charged_at: Option<Micros>, now: Micros) -> Outcome {
        let cost = cost as f64;
        let mut state = self.state.clone().unwrap_or_else(|| self.policy.fresh(now));
        let outcome = if let Some(at) = charged_at {
            let changed = at <= now && !self.policy.is_ahead(&state, now);
            self.policy.refund(&mut state, now, cost, charged_at);
            let seen = self.policy.decide(&mut state.clone(), Demand { op: Op::Peek, cost, now }, true);
            Outcome { changed, ..seen }
        } else {
            self.policy.decide(&mut state, Demand { op, cost, now }, true)
        };
        if outcome.changed {
            self.state = (outcome.figures.reset_after > 0).then_some(state);
        }
        outcome
    }

    /// Charges what another limit admitted.
    fn charge(&mut self, cost: u64, now: Micros) {
        let state = self.state.get_or_insert_with(|| self.policy.fresh(now));
        self.policy.charge(state, now, cost as f64);
    }

    fn remaining(&self, now: Micros) -> u64 {
        let fresh = || self.policy.fresh(now);
        let mut state = self.state.clone().unwrap_or_else(fresh);
        let look = Demand { op: Op::Peek, cost: 1.0, now };
        self.policy.decide(&mut state, look, true).figures.remaining
    }
}

fn in_lua(server: &mut Server, charge: &Charge<'_>, step: &Step, now: Micros) -> Outcome {
    let clocks = Clocks { manual: Some(now), server_now: None };
    let request = protocol::call(step, &[charge], clocks, &server.wire.prefix);
    let reply = protocol::read(&[charge], (step.op, false), server.send(&request)).unwrap().remove(0);
    reply.outcome(charge, step.op, true).0
}

pub(super) fn said(outcome: &Outcome) -> (bool, u64, Option<Micros>, Micros) {
    let figures = &outcome.figures;
    (outcome.fits, figures.remaining, figures.retry_after, figures.reset_after)
}

fn plays_alike(server: &mut Server, rule: &Rule, events: &[Event]) -> Result<(), TestCaseError> {
    server.clear();
    let catalog = rule.catalog();
    let (mut now, mut open) = (START, Vec::new());
    let policy =
        Plan::new(&catalog, &[check("r", "k", 1)], Op::Peek).unwrap().charges[0].policy.clone().into_owned();
    let mut in_rust = InRust::new(&policy);
    for (number, event) in events.iter().enumerate() {
        now += (event.jump * rule.window as f64) as Micros;
        let Some((op, cost, charged_at)) = asked(event, &mut open) else { continue };
        let checks = [check("r", "k", cost)];
        let plan = Plan::new(&catalog, &checks, Op::Peek).unwrap();
        let step = Step { op, charges: smallvec::smallvec![0], charged_at, is_again: false };
        let lua = in_lua(server, &plan.charges[0], &step, now);
        let rust = in_rust.run(op, cost, charged_at, now);
        prop_assert_eq!(said(&lua), said(&rust), "event {} at {}", number, now);
        if rust.fits && matches!(event.act, Act::Tentative) {
            open.push(Tentative { at: now, cost });
        }
    }
    Ok(())
}

#[test]
fn lua_takes_back_what_rust_does() {
    let server = RefCell::new(Server::start());
    let acts = prop_oneof![6 => checks_and_compensations(), 1 => Just(Act::Refund), 1 => Just(Act::Charge)];
    let kinds = [KINDS.as_slice(), &[FIRST_REQUEST]].concat();
    proptest!(ProptestConfig::with_cases(by_day(1_500)), |(rule in rules(&kinds), events in histories(acts, -2.0))| {
        plays_alike(&mut server.borrow_mut(), &rule, &events)?;
    });
}

/// Beside the limit that is charged and compensated stands one that is charged what the former admitted for
/// good. At no time is there more room than that one has.
fn admits_nobody_wrongly(rule: &Rule, events: &[Event]) -> Result<(), TestCaseError> {
    let catalog = rule.catalog();
    let policy =
        Plan::new(&catalog, &[check("r", "k", 1)], Op::Peek).unwrap().charges[0].policy.clone().into_owned();
    let (mut limit, mut alone) = (InRust::new(&policy), InRust::new(&policy));
    let (mut now, mut open) = (START, Vec::new());
    for (number, event) in events.iter().enumerate() {
        now += (event.jump * rule.window as f64) as Micros;
        let Some((op, cost, charged_at)) = asked(event, &mut open) else { continue };
        let fits = limit.run(op, cost, charged_at, now).fits;
        match event.act {
            Act::Check if fits => alone.charge(cost, now),
            Act::Tentative if fits => open.push(Tentative { at: now, cost }),
            _ => {}
        }
        let later = [0.0, 0.1, 0.5, 0.99, 1.0, 1.5].map(|part| now + (part * rule.window as f64) as Micros);
        for at in later {
            prop_assert!(limit.remaining(at) <= alone.remaining(at), "event {} seen at {}", number, at);
        }
    }
    Ok(())
}

#[test]
fn nobody_is_admitted_wrongly() {
    let histories = histories(checks_and_compensations(), 0.0);
    proptest!(ProptestConfig::with_cases(by_day(5_000)), |(rule in rules(&KINDS), events in histories)| {
        admits_nobody_wrongly(&rule, &events)?;
    });
}
