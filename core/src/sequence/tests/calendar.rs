//! Windows of the calendar, by clocks that disagree: the server's counts.

use super::super::{CallSettings, Clocks, DecisionSequence, ScriptSequence};
use super::server::{Server, catalog, check};
use crate::algorithm::Micros;
use crate::decision::Decision;
use crate::error::ErrorKind;
use crate::plan::{Form, Op, Plan};
use crate::request::Check;

const RULES: &str = r#"[
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 5, "window": "day"},
    {"rule_id": "both", "algorithm": "fixed_window",
     "limits": [{"limit": 9, "window_size_seconds": 10}, {"limit": 5, "window": "day"}]}
]"#;
const HOUR: Micros = 3_600_000_000;
const DAY: Micros = 24 * HOUR;
/// Noon of a day.
const NOON: Micros = 20_000 * DAY + 12 * HOUR;

/// The time of the server, which the test chooses, and that of the caller.
fn at(sequence: &DecisionSequence<'_>, now: Micros) -> Clocks {
    Clocks { manual: Some(now), server_now: sequence.server_now }
}

/// One call by the time of the server, of a caller whose clock shows another; also how often it asked.
fn call(server: &mut Server, op: Op, checks: &[Check<'_>], now: Micros, caller: Micros) -> (Decision, usize) {
    let catalog = catalog(RULES);
    let plan = Plan::new(&catalog, checks, Op::Peek).unwrap();
    let wire = CallSettings { cluster: false, ..server.wire.clone() };
    let mut sequence = DecisionSequence::new(&plan, &wire, op, None);
    sequence.server_now = Some(caller);
    let mut calls = 0;
    while let Some(call) = sequence.next_by(at(&sequence, now)) {
        sequence.feed(Ok(server.send(&call)));
        calls += 1;
    }
    (sequence.decision(Form::Single).unwrap(), calls)
}

#[test]
fn a_clock_wrong_by_a_day_counts_in_the_window_of_the_server() {
    let mut server = Server::start();
    for (number, wrong) in [0, -DAY, DAY, -2 * DAY, 365 * DAY].into_iter().enumerate() {
        let (decision, calls) = call(&mut server, Op::Check, &[check("day", "k", 1)], NOON, NOON + wrong);
        assert_eq!((decision.allowed, decision.remaining), (true, 4 - number as u64), "{wrong}");
        assert_eq!(decision.reset_after.as_micros(), 12 * HOUR as u128);
        // Neighbours are named in advance; for what is further away it asks once more.
        assert_eq!(calls, if wrong.abs() <= DAY { 1 } else { 2 });
    }
    let (denied, _) = call(&mut server, Op::Check, &[check("day", "k", 1)], NOON, NOON - 3 * DAY);
    assert_eq!((denied.allowed, denied.retry_after.as_micros()), (false, 12 * HOUR as u128));
}

#[test]
fn what_asks_once_more_has_done_nothing_before() {
    let mut server = Server::start();
    let both = [check("both", "k", 2)];
    for op in [Op::Check, Op::Charge, Op::Refund, Op::Peek] {
        let (decision, calls) = call(&mut server, op, &both, NOON, NOON - 9 * DAY);
        let left = match op {
            Op::Check => 3,
            Op::Charge => 1,
            Op::Refund | Op::Peek | Op::Reserve => 3,
        };
        assert_eq!((decision.remaining, calls), (left, 2), "{op:?}");
    }
    let (decision, calls) =
        call(&mut server, Op::Check, &[check("both", "k", 1), check("day", "l", 1)], NOON, NOON + 9 * DAY);
    assert_eq!((decision.remaining, calls), (2, 2));
}

/// The server's clock leaps by more than two days while it is asked.
#[test]
fn it_asks_once_more_and_not_again() {
    let mut server = Server::start();
    let catalog = catalog(RULES);
    let checks = [check("day", "k", 1)];
    let plan = Plan::new(&catalog, &checks, Op::Peek).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
    for now in [NOON - 9 * DAY, NOON] {
        sequence.server_now.get_or_insert(0);
        let call = sequence.next_by(at(&sequence, now)).unwrap();
        sequence.feed(Ok(server.send(&call)));
    }
    assert!(sequence.next().is_none());
    assert_eq!(sequence.decision(Form::Single).unwrap_err().kind(), ErrorKind::Server);
    assert!(server.stored().is_empty());
}
