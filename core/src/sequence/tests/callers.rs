//! Callers of one key who are decided by one call of a script: each has the decision that it would have had if they had
//! been decided one after the other at that instant, in every field, and so have those who come later.

use std::cell::RefCell;

use proptest::prelude::*;

use super::super::{DecisionSequence, ScriptSequence};
use super::histories::{
    Act, Event, FIRST_REQUEST, InRust, KINDS, Rule, START, asked, histories, rules, said,
};
use super::server::{Server, check};
use crate::algorithm::Micros;
use crate::callers::divide;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::plan::{Form, Op, Outcome, Plan};
use crate::script::ScriptCall;

/// Callers who come together.
#[derive(Debug, Clone)]
struct Together {
    op: Op,
    cost: u64,
    /// How many ask for each of several keys.
    callers: Vec<usize>,
    /// In percent of the limit of the history: it may have been changed since.
    limit: u64,
    /// When they come, and when somebody looks afterwards, in windows.
    jumps: [f64; 2],
}

fn together() -> impl Strategy<Value = Together> {
    let jump = || prop_oneof![3 => Just(0.0), 3 => 0.0..0.3, 2 => 0.3..2.5, 1 => -1.0..0.0];
    let callers = prop::collection::vec(prop_oneof![1..=4_usize, 1..=64_usize], 1..=3);
    let op = prop_oneof![5 => Just(Op::Check), 1 => Just(Op::Peek)];
    let cost = prop_oneof![4 => Just(1_u64), 2 => 2..=7_u64];
    let limit = prop_oneof![3 => Just(100_u64), 1 => 30..=300_u64, 2 => 1_000..=5_000_u64];
    (op, cost, callers, limit, jump(), jump()).prop_map(|(op, cost, callers, limit, first, second)| {
        Together { op, cost, callers, limit, jumps: [first, second] }
    })
}

/// A call about one key, from beginning to end.
fn one(server: &mut Server, catalog: &Catalog, key: &str, (op, cost): (Op, u64), now: Micros) -> Decision {
    decided(server, catalog, key, (op, cost), now, |server, call| server.send(&call))
}

/// The decision from a reply that `send` gets.
fn decided(
    server: &mut Server,
    catalog: &Catalog,
    key: &str,
    (op, cost): (Op, u64),
    now: Micros,
    mut send: impl FnMut(&mut Server, ScriptCall) -> redis::Value,
) -> Decision {
    let checks = [check("r", key, cost)];
    let plan = Plan::new(catalog, &checks, op).unwrap();
    let wire = server.wire.clone();
    let mut sequence = DecisionSequence::new(&plan, &wire, op, Some(now));
    while let Some(call) = sequence.next() {
        let reply = send(server, call);
        sequence.feed(Ok(reply));
    }
    sequence.decision(Form::Single).unwrap()
}

/// What all callers are answered by one script, key by key.
fn merged(
    server: &mut Server,
    catalog: &Catalog,
    keys: &[String],
    together: &Together,
    now: Micros,
) -> Vec<Vec<Decision>> {
    let asked = (together.op, together.cost);
    let mut replies: Option<Vec<Vec<redis::Value>>> = None;
    let mut decisions = Vec::new();
    for (place, (key, callers)) in keys.iter().zip(&together.callers).enumerate() {
        let of_key = (0..*callers).map(|caller| {
            decided(server, catalog, key, asked, now, |server, call| {
                let replies = replies.get_or_insert_with(|| send_once(server, call, keys, together));
                replies[place][caller].clone()
            })
        });
        decisions.push(of_key.collect());
    }
    decisions
}

fn send_once(
    server: &mut Server,
    call: ScriptCall,
    keys: &[String],
    together: &Together,
) -> Vec<Vec<redis::Value>> {
    let own = call.keys[0].clone();
    let names = keys.iter().map(|key| own.replace(&format!("{{{}}}", keys[0]), &format!("{{{key}}}")));
    let counts = together.callers.iter().map(|count| count.to_string().into_bytes().into());
    let call = ScriptCall {
        script: call.script.up_to.as_deref().unwrap(),
        keys: names.collect(),
        args: call.args.iter().cloned().chain(counts).collect(),
        registration: None,
    };
    let redis::Value::Array(lists) = server.send(&call) else { panic!("no list of replies") };
    lists.into_iter().zip(&together.callers).map(|(list, callers)| divide(list, *callers)).collect()
}

/// The same in Rust, one after the other.
fn in_a_row(in_rust: &mut InRust<'_>, together: &Together, callers: usize, now: Micros) -> Vec<Outcome> {
    let before = in_rust.state.clone();
    let outcomes = (0..callers).map(|_| in_rust.run(together.op, together.cost, None, now)).collect();
    if together.op == Op::Peek {
        // It heals nothing.
        in_rust.state = before;
    }
    outcomes
}

fn figures(decision: &Decision) -> (bool, u64, Option<Micros>, Micros) {
    let micros = |span: std::time::Duration| span.as_micros() as Micros;
    let retry_after =
        (decision.retry_after != std::time::Duration::MAX).then(|| micros(decision.retry_after));
    (decision.allowed, decision.remaining, retry_after, micros(decision.reset_after))
}

fn decides_as_in_a_row(
    server: &mut Server,
    rule: &Rule,
    events: &[Event],
    together: &Together,
) -> Result<(), TestCaseError> {
    server.clear();
    let (before, limit) = (rule.catalog(), (rule.limit * together.limit).div_ceil(100));
    let after = Rule { limit, ..rule.clone() }.catalog();
    let policy_of = |catalog: &Catalog| {
        Plan::new(catalog, &[check("r", "k", 1)], Op::Peek).unwrap().charges[0].policy.clone().into_owned()
    };
    let (policy, later_policy) = (policy_of(&before), policy_of(&after));
    let keys = ["a", "b", "c"].map(str::to_owned);
    let keys = &keys[..together.callers.len()];
    let (mut now, mut in_rust) = (START, InRust::new(&policy));
    for event in events {
        now += (event.jump * rule.window as f64) as Micros;
        let Some((op, cost, _)) = asked(event, &mut Vec::new()) else { continue };
        in_rust.run(op, cost, None, now);
        for key in keys.iter().map(String::as_str).chain(["twin"]) {
            one(server, &before, key, (op, cost), now);
        }
    }
    now += (together.jumps[0] * rule.window as f64) as Micros;
    let later = now + (together.jumps[1] * rule.window as f64) as Micros;
    let decisions = merged(server, &after, keys, together, now);
    let mut twins = Vec::new();
    for ((decisions, callers), key) in decisions.iter().zip(&together.callers).zip(keys) {
        let mut in_rust = InRust { policy: &later_policy, state: in_rust.state.clone() };
        let outcomes = in_a_row(&mut in_rust, together, *callers, now);
        for (caller, (decision, outcome)) in decisions.iter().zip(&outcomes).enumerate() {
            prop_assert_eq!(figures(decision), said(outcome), "caller {} of {}", caller, key);
        }
        let seen = one(server, &after, key, (Op::Peek, 1), later);
        prop_assert_eq!(figures(&seen), said(&in_rust.run(Op::Peek, 1, None, later)), "seen later");
        twins.push((*callers, decisions, seen));
    }
    // The same in Lua: whole decisions.
    let Some((callers, decisions, seen)) = twins.first() else { return Ok(()) };
    let asked = (together.op, together.cost);
    let alone: Vec<_> = (0..*callers).map(|_| one(server, &after, "twin", asked, now)).collect();
    prop_assert_eq!(&alone, *decisions);
    prop_assert_eq!(&one(server, &after, "twin", (Op::Peek, 1), later), seen);
    Ok(())
}

#[test]
fn callers_together_are_decided_as_in_a_row() {
    let server = RefCell::new(Server::start());
    let acts = prop_oneof![6 => Just(Act::Check), 1 => Just(Act::Refund), 1 => Just(Act::Charge)];
    let kinds = [KINDS.as_slice(), &[FIRST_REQUEST]].concat();
    let cases = (rules(&kinds), histories(acts, -2.0), together());
    proptest!(ProptestConfig::with_cases(400), |((rule, events, together) in cases)| {
        decides_as_in_a_row(&mut server.borrow_mut(), &rule, &events, &together)?;
    });
}
