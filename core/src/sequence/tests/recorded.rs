//! Scripts that are sent again since their answers were lost.

use redis::Value;

use super::super::{CallSettings, DecisionSequence, ScriptSequence};
use super::server::{Server, catalog, check};
use crate::algorithm::Micros;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::Result;
use crate::plan::{Form, Op, Plan};
use crate::request::{Check, CheckOptions};

const DAY: Micros = 86_400_000_000;
const NOON: Micros = 20_000 * DAY + DAY / 2;
const RULES: &str = r#"[
    {"rule_id": "held", "algorithm": "fixed_window", "limit": 9, "window_size_seconds": 3600, "reservations": true},
    {"rule_id": "plain", "algorithm": "fixed_window", "limit": 9, "window_size_seconds": 3600, "priority": -1},
    {"rule_id": "late", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 3600, "priority": 1},
    {"rule_id": "day", "algorithm": "fixed_window", "limit": 5, "window": "day"}
]"#;

/// Sends every script twice, as when the first answer is lost.
fn twice(
    server: &mut Server,
    sequence: &mut DecisionSequence<'_>,
    mut before: impl FnMut(&mut Server, usize),
) {
    let mut step = 0;
    while let Some(call) = sequence.next() {
        assert!(sequence.may_repeat());
        before(server, step);
        server.send(&call);
        sequence.feed(Ok(server.send(&call)));
        step += 1;
    }
}

fn left(server: &mut Server, catalog: &Catalog, item: Check<'_>) -> u64 {
    let checks = [item];
    let plan = Plan::new(catalog, &checks, Op::Peek).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Peek, Some(NOON));
    sequence.feed(Ok(server.send(&sequence.next().unwrap())));
    sequence.decision(Form::Single).unwrap().remaining
}

#[test]
fn what_a_reservation_charges_at_once_in_another_slot_is_charged_once() {
    let (mut server, catalog) = (Server::start(), catalog(RULES));
    let items = [check("plain", "a", 2), check("held", "b", 3), check("late", "c", 2)];
    let plan = Plan::new(&catalog, &items, Op::Reserve).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::named(&plan, &wire, Op::Reserve, Some(NOON), [7; 16]);
    twice(&mut server, &mut sequence, |_, _| {});
    assert!(sequence.decision(Form::WithParts).unwrap().allowed);
    let left = items.map(|item| left(&mut server, &catalog, Check::new(item.rule, item.key)));
    assert_eq!(left, [7, 6, 0]);
}

#[test]
fn what_a_denial_gives_back_is_given_back_once() {
    let (mut server, catalog) = (Server::start(), catalog(RULES));
    let items = [check("plain", "a", 2), check("held", "b", 3), check("late", "c", 2)];
    server.check(&catalog, check("plain", "a", 4), NOON);
    let plan = Plan::new(&catalog, &items, Op::Reserve).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::named(&plan, &wire, Op::Reserve, Some(NOON), [7; 16]);
    // Somebody else comes between the looks and the last of the charges.
    let other = |server: &mut Server, step| {
        if step == 5 {
            server.check(&catalog, check("late", "c", 1), NOON);
        }
    };
    twice(&mut server, &mut sequence, other);
    assert!(!sequence.decision(Form::WithParts).unwrap().allowed);
    let left = items.map(|item| left(&mut server, &catalog, Check::new(item.rule, item.key)));
    assert_eq!(left, [5, 9, 1]);
}

/// One call with the id `id`, by the time of the server and that of the caller.
fn named(
    server: &mut Server,
    catalog: &Catalog,
    item: Check<'_>,
    caller: Micros,
) -> (Result<Decision>, usize) {
    let checks = [item];
    let plan = Plan::repeatable(catalog, &checks, (Op::Check, Form::Single), Some("id")).unwrap();
    let wire = CallSettings { cluster: false, ..server.wire.clone() };
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
    sequence.server_now = Some(caller);
    let mut calls = 0;
    while let Some(call) = {
        let clocks = super::super::Clocks { manual: Some(NOON), server_now: sequence.server_now };
        sequence.next_by(clocks)
    } {
        sequence.feed(Ok(server.send(&call)));
        calls += 1;
    }
    (sequence.decision(Form::Single), calls)
}

#[test]
fn what_cannot_tell_the_window_is_no_answer() {
    let (mut server, catalog) = (Server::start(), catalog(RULES));
    let item = check("day", "k", 2);
    let (first, calls) = named(&mut server, &catalog, item, NOON - 9 * DAY);
    assert_eq!((first.as_ref().unwrap().remaining, calls), (3, 2));
    // The id is known by now, whatever the caller's clock says.
    let (again, calls) = named(&mut server, &catalog, item, NOON + 9 * DAY);
    assert_eq!((again.unwrap(), calls), (first.unwrap(), 1));
}

#[test]
fn an_answer_is_given_again_when_the_limit_was_lowered_since() {
    let (mut server, catalog) = (Server::start(), catalog(RULES));
    let item = check("plain", "k", 8);
    let first = named(&mut server, &catalog, item, NOON).0.unwrap();
    assert_eq!(first.remaining, 1);
    let lowered = catalog
        .after(crate::rules::Rules::from_json(&RULES.replace("\"limit\": 9", "\"limit\": 4")).unwrap());
    let again = named(&mut server, &lowered, item, NOON).0.unwrap();
    assert_eq!(again, first);
}

#[test]
fn several_slots_have_no_record_in_common() {
    let catalog = catalog(RULES);
    let items = [Check::new("plain", "a"), Check::new("plain", "b")];
    let plan = Plan::repeatable(&catalog, &items, (Op::Check, Form::WithParts), Some("id")).unwrap();
    let wire = |cluster| CallSettings {
        prefix: "p".to_owned(),
        cluster,
        near_cluster: cluster,
        default_timeout: 1_500_000,
        request_lifetime: 60_000_000,
        regions: None,
    };
    let (cluster, single) = (wire(true), wire(false));
    let sequence = DecisionSequence::new(&plan, &cluster, Op::Check, None);
    assert!(sequence.next().is_none());
    let error = sequence.decision(Form::WithParts).unwrap_err();
    assert!(
        error.message().starts_with("rule \"plain\": request_id: the items lie in several hash slots"),
        "{error}"
    );
    let sequence = DecisionSequence::new(&plan, &single, Op::Check, None);
    assert_eq!(sequence.next().unwrap().keys.last().unwrap(), "p:plain:{a}:q-id");
}

#[test]
fn a_record_outlives_the_call() {
    let catalog = catalog(RULES);
    let keep = |timeout| {
        let check = [Check::new("plain", "a").with(CheckOptions::new().timeout(timeout))];
        let plan = Plan::repeatable(&catalog, &check, (Op::Check, Form::Single), Some("id")).unwrap();
        let wire = CallSettings {
            prefix: "p".to_owned(),
            cluster: false,
            near_cluster: false,
            default_timeout: 1_500_000,
            request_lifetime: 60_000_000,
            regions: None,
        };
        let call = DecisionSequence::new(&plan, &wire, Op::Check, None).next().unwrap();
        String::from_utf8(call.args[call.args.len() - 2].to_vec()).unwrap()
    };
    assert_eq!(keep(std::time::Duration::from_secs(1)), "60001");
    assert_eq!(keep(std::time::Duration::from_secs(3600)), "3600001");
}

#[test]
fn a_record_of_another_call_is_an_error_and_changes_nothing() {
    let (mut server, catalog) = (Server::start(), catalog(RULES));
    named(&mut server, &catalog, check("plain", "k", 2), NOON).0.unwrap();
    let before = server.stored();
    let error = named(&mut server, &catalog, check("plain", "k", 3), NOON).0.unwrap_err();
    assert!(error.message().starts_with("rule \"plain\": request_id: another call had it"), "{error}");
    assert_eq!(server.stored(), before);
}

/// Whatever stands where a record is looked for: an error, and no panic.
#[test]
fn a_damaged_record_is_an_error() {
    let catalog = catalog(RULES);
    let checks = [Check::new("plain", "k")];
    let plan = Plan::repeatable(&catalog, &checks, (Op::Check, Form::Single), Some("id")).unwrap();
    let wire = Server::start().wire;
    let wire = CallSettings { cluster: false, ..wire };
    let answer = |record: &[u8]| {
        let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, Some(NOON));
        sequence.feed(Ok(Value::BulkString(record.to_vec())));
        sequence.decision(Form::Single)
    };
    let call = DecisionSequence::new(&plan, &wire, Op::Check, Some(NOON)).next().unwrap();
    let numbers = [1.0, NOON as f64, NOON as f64, 3.0].map(f64::to_le_bytes).concat();
    let whole = [call.args.last().unwrap().as_slice(), b"s", &numbers].concat();
    assert_eq!(answer(&whole).unwrap().remaining, 5);
    for size in 0..whole.len() {
        assert!(answer(&whole[..size]).is_err(), "{size}");
    }
    // The fingerprint, and how long the terms are.
    for at in 20..40 {
        let mut other = whole.clone();
        other[at] ^= 0x80;
        assert!(answer(&other).is_err(), "{at}");
    }
}
