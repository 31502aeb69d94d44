//! What a denial in a later slot takes back: its own charge, and nobody else's.

use super::super::{DecisionSequence, ScriptSequence};
use super::server::{Server, catalog, check};
use crate::algorithm::Micros;
use crate::catalog::Catalog;
use crate::plan::{Form, Op, Plan};
use crate::request::Check;

const SECOND: Micros = 1_000_000;
/// A second before a minute ends.
const CHARGED_AT: Micros = 1_760_000_040 * SECOND - SECOND;
/// What is charged tentatively, and by the third caller: half the limit each.
const COST: u64 = 2;

/// A way of counting 4 per minute.
struct Kind {
    name: &'static str,
    fields: &'static str,
    /// When a third caller is charged, after the charge that is taken back: so late that the latter counts
    /// no more, or elsewhere.
    third: Micros,
    /// When only the third caller's charge can be left, after that.
    later: Micros,
}

const KINDS: [Kind; 9] = [
    Kind {
        name: "aligned",
        fields: r#""algorithm": "fixed_window", "limit": 4, "window_size_seconds": 60"#,
        third: 2 * SECOND,
        later: 50 * SECOND,
    },
    Kind {
        name: "first_request",
        fields: r#""algorithm": "fixed_window", "limit": 4, "window_size_seconds": 60, "window_start": "first_request""#,
        third: 60 * SECOND,
        later: 59 * SECOND,
    },
    Kind {
        name: "sliding_window",
        fields: r#""algorithm": "sliding_window", "limit": 4, "window_size_seconds": 60"#,
        third: 2 * SECOND,
        later: 58 * SECOND,
    },
    Kind {
        name: "list",
        fields: r#""algorithm": "sliding_log", "limit": 4, "window_size_seconds": 60"#,
        third: 1,
        later: 60 * SECOND - 1,
    },
    Kind {
        name: "sorted_set",
        fields: r#""algorithm": "sliding_log", "limit": 4, "window_size_seconds": 60, "structure": "sorted_set""#,
        third: 1,
        later: 60 * SECOND - 1,
    },
    Kind {
        name: "buckets",
        fields: r#""algorithm": "sliding_buckets", "limit": 4, "window_size_seconds": 60"#,
        third: SECOND,
        later: 59 * SECOND,
    },
    Kind {
        name: "gcra",
        fields: r#""algorithm": "gcra", "limit": 4, "window_size_seconds": 60"#,
        third: 30 * SECOND,
        later: 0,
    },
    Kind {
        name: "decay",
        fields: r#""algorithm": "decay", "limit": 4, "resolution_seconds": 60"#,
        third: 60 * SECOND,
        later: 0,
    },
    Kind {
        name: "decay_by_3",
        fields: r#""algorithm": "decay", "limit": 4, "resolution_seconds": 1, "decay_factor": 3"#,
        third: 3 * SECOND,
        later: 0,
    },
];

/// All kinds, and a rule that is decided after them.
fn rules() -> Catalog {
    let kinds = KINDS.iter().map(|Kind { name, fields, .. }| format!(r#"{{"rule_id": "{name}", {fields}}}"#));
    let last =
        r#"{"rule_id": "last", "algorithm": "gcra", "limit": 1, "window_size_seconds": 3600, "priority": 1}"#;
    catalog(&format!("[{}, {last}]", kinds.collect::<Vec<_>>().join(",")))
}

/// Checks some rules, and one that somebody else uses up between the look and the charge: what was charged is
/// taken back at another time, after `meanwhile` happened.
fn denied(
    server: &mut Server,
    catalog: &Catalog,
    rules: &[&str],
    compensated_at: Micros,
    meanwhile: impl FnOnce(&mut Server),
) {
    let mut checks: Vec<Check<'_>> = rules.iter().map(|rule| check(rule, "a", COST)).collect();
    let last = check("last", "b", 1);
    checks.push(last);
    let plan = Plan::new(catalog, &checks, Op::Peek).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
    for _ in ["looked at", "looked at", "charged"] {
        server.step(&mut sequence, CHARGED_AT);
    }
    meanwhile(server);
    assert!(server.check(catalog, last, CHARGED_AT).allowed);
    server.step(&mut sequence, compensated_at);
    server.step(&mut sequence, compensated_at);
    assert!(sequence.next().is_none());
    assert!(!sequence.decision(Form::WithParts).unwrap().allowed);
    server.forget("p:last:{b}:gt1h");
}

/// Callers who are denied all the time leave nothing behind.
#[test]
fn what_has_no_room_is_not_charged_elsewhere() {
    let (mut server, catalog) = (Server::start(), rules());
    assert!(server.check(&catalog, check("last", "b", 1), CHARGED_AT).allowed);
    let before = server.stored();
    let checks = [check("gcra", "a", COST), check("last", "b", 1), check("list", "c", COST)];
    let plan = Plan::new(&catalog, &checks, Op::Peek).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
    while sequence.next().is_some() {
        server.step(&mut sequence, CHARGED_AT);
        assert_eq!(server.stored(), before);
    }
    let decision = sequence.decision(Form::WithParts).unwrap();
    assert_eq!((decision.allowed, decision.rule.as_ref()), (false, "last"));
    assert_eq!(decision.parts.iter().map(|part| part.allowed).collect::<Vec<_>>(), [true, false, true]);
}

/// What was used up when it was looked at, and has room when it is asked, is charged with all others.
#[test]
fn room_that_comes_between_is_used() {
    let (mut server, catalog) = (Server::start(), rules());
    assert!(server.check(&catalog, check("last", "b", 1), CHARGED_AT).allowed);
    let checks = [check("gcra", "a", COST), check("last", "b", 1)];
    let plan = Plan::new(&catalog, &checks, Op::Peek).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
    for _ in ["looked at", "looked at"] {
        server.step(&mut sequence, CHARGED_AT);
    }
    server.forget("p:last:{b}:gt1h");
    while sequence.next().is_some() {
        server.step(&mut sequence, CHARGED_AT);
    }
    assert!(sequence.decision(Form::WithParts).unwrap().allowed);
    assert_eq!(server.stored().len(), 2);
}

#[test]
fn a_charge_is_taken_back() {
    let (mut server, catalog) = (Server::start(), rules());
    let names = KINDS.map(|kind| kind.name);
    denied(&mut server, &catalog, &names, CHARGED_AT + 5, |server| {
        assert_eq!(server.stored().len(), KINDS.len());
    });
    assert_eq!(server.stored(), []);
}

/// Both charges together are the limit, so where the third caller's were taken more than the limit would be
/// admitted at a time at which it still counts in full.
#[test]
fn what_others_were_charged_is_not() {
    let (mut server, catalog) = (Server::start(), rules());
    for Kind { name, third, later, .. } in KINDS {
        let third = CHARGED_AT + third;
        denied(&mut server, &catalog, &[name], third, |server| {
            assert!(server.check(&catalog, check(name, "a", COST), third).allowed, "{name}");
        });
        let more = (0..10).filter(|_| server.check(&catalog, check(name, "a", 1), third + later).allowed);
        assert_eq!(more.count(), 2, "{name}");
    }
}

/// A call with a time before that of the state, or of the charge, cannot know whether the charge still counts.
#[test]
fn nothing_is_touched_after_the_clock_stepped_back() {
    let (mut server, catalog) = (Server::start(), rules());
    for Kind { name, third, .. } in KINDS {
        for compensated_at in [CHARGED_AT, CHARGED_AT - 1] {
            server.clear();
            let mut before = Vec::new();
            denied(&mut server, &catalog, &[name], compensated_at, |server| {
                assert!(server.check(&catalog, check(name, "a", COST), CHARGED_AT + third).allowed);
                before = server.stored();
            });
            assert_eq!(server.stored(), before, "{name}");
        }
    }
}
