//! Conversations whose other side fails; what is taken back, in modules of their own.

mod allotment;
mod allotment_vectors;
mod calendar;
mod callers;
mod compensations;
mod histories;
mod leases;
mod lending;
mod recorded;
mod server;
mod together;

use redis::Value;

use super::{CallSettings, DecisionSequence, ScriptSequence};
use crate::algorithm::{HoldId, Micros};
use crate::catalog::{Catalog, Share};
use crate::decision::{Decision, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::keys::secret::SecretNames;
use crate::plan::{Form, Op, Plan, answer};
use crate::request::{Check, CheckOptions};
use crate::rules::Rules;

impl<'a> DecisionSequence<'a> {
    /// One that reserves nothing.
    pub(crate) fn new(plan: &'a Plan<'a>, wire: &'a CallSettings, op: Op, clock: Option<Micros>) -> Self {
        Self::named(plan, wire, op, clock, HoldId::default())
    }

    /// The decision, once there is nothing left to send.
    pub(crate) fn decision(mut self, form: Form) -> Result<Decision> {
        let plan = self.plan;
        Ok(answer(plan, &self.finish(false)?.outcomes, Source::Server.into(), form))
    }
}

/// What a script says of a fixed window: the grant, the time, when the window began, the count before.
fn reply(grant: f64) -> Value {
    let numbers = [grant, 1.0, 0.0, 0.0];
    Value::BulkString(numbers.iter().flat_map(|number: &f64| number.to_le_bytes()).collect())
}

fn failed(what: &str) -> Error {
    Error::new(ErrorKind::Connection, what)
}

#[test]
fn a_refund_that_fails_does_not_keep_others_from_being_made() {
    let rule = r#"{ "rule_id": "r", "algorithm": "fixed_window", "limit": 9, "window_size_seconds": 9 }"#;
    let catalog = Catalog::new(
        Rules::from_json(&format!("[{rule}]")).unwrap(),
        SecretNames::default(),
        Share::default(),
    );
    let wire = CallSettings {
        prefix: "p".to_owned(),
        cluster: true,
        near_cluster: true,
        default_timeout: 1_500_000,
        request_lifetime: 60_000_000,
        regions: None,
    };
    let checks = ["a", "b", "c", "d"].map(|key| Check::new("r", key));
    let plan = Plan::new(&catalog, &checks, Op::Peek).unwrap();
    let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, Some(1));

    // All four are looked at, and three are charged.
    for _ in 0..7 {
        sequence.feed(Ok(reply(1.0)));
    }
    sequence.feed(Ok(reply(0.0)));
    let keys = |sequence: &DecisionSequence<'_>| sequence.next().map(|next| next.keys.to_vec());
    let mut refunded = Vec::new();
    while let Some(keys) = keys(&sequence) {
        refunded.extend(keys);
        sequence.feed(Err(failed("first")));
    }
    assert_eq!(refunded, ["c", "b", "a"].map(|key| format!("p:r:{{{key}}}:f9s")));
    let error = sequence.decision(Form::WithParts).unwrap_err();
    // What could not be given back stays charged.
    assert_eq!(error.message(), "first; whether the call was carried out is not known");
}

/// What no script of ours says would overflow, or be believed.
#[test]
fn a_grant_that_leaves_more_than_can_be_counted_is_refused() {
    let rule = r#"[{ "rule_id": "r", "algorithm": "gcra", "limit": 9, "window_size_seconds": 9 }]"#;
    let catalog = Catalog::new(Rules::from_json(rule).unwrap(), SecretNames::default(), Share::default());
    let wire = CallSettings {
        prefix: "p".to_owned(),
        cluster: false,
        near_cluster: false,
        default_timeout: 1_500_000,
        request_lifetime: 60_000_000,
        regions: None,
    };
    let plan = Plan::new(&catalog, &[Check::new("r", "a")], Op::Peek).unwrap();
    for op in [Op::Check, Op::Peek, Op::Charge] {
        let answer = |interval: f64| {
            let mut sequence = DecisionSequence::new(&plan, &wire, op, None);
            // The grant, the time, the debt, the interval by which it was counted.
            let numbers = [1.0, 1e15, 1e6, interval];
            let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            sequence.feed(Ok(Value::BulkString(bytes)));
            sequence.decision(Form::Single)
        };
        assert!(answer(1e6).unwrap().allowed);
        assert_eq!(answer(1e-300).unwrap_err().kind(), ErrorKind::Server, "{op:?}");
    }
}

#[test]
fn a_reply_with_impossible_numbers_is_refused() {
    let rule = r#"[{ "rule_id": "r", "algorithm": "fixed_window", "limit": 9, "window_size_seconds": 9 }]"#;
    let catalog = Catalog::new(Rules::from_json(rule).unwrap(), SecretNames::default(), Share::default());
    let wire = CallSettings {
        prefix: "p".to_owned(),
        cluster: false,
        near_cluster: false,
        default_timeout: 1_500_000,
        request_lifetime: 60_000_000,
        regions: None,
    };
    let plan =
        Plan::new(&catalog, &[Check::new("r", "a").with(CheckOptions::new().cost(10))], Op::Peek).unwrap();
    let answer = |numbers: [f64; 4]| {
        let mut sequence = DecisionSequence::new(&plan, &wire, Op::Check, None);
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        sequence.feed(Ok(Value::BulkString(bytes)));
        sequence.decision(Form::Single)
    };
    // The grant, the time, when the window began, the count before.
    assert!(!answer([0.0, 1e15, 1e15, 9.0]).unwrap().allowed);
    for numbers in [
        [0.0, -1e300, 0.0, 0.0],
        [0.0, f64::NAN, 0.0, 0.0],
        [0.0, 1e16, 0.0, 0.0],
        [0.0, 1e15, 2e15, 0.0],
        [0.0, 1e15, -1.0, 0.0],
        [0.0, 1e15, 1e15, f64::INFINITY],
        [1.0, 1e15, 1e15, 0.0],
    ] {
        assert_eq!(answer(numbers).unwrap_err().kind(), ErrorKind::Server, "{numbers:?}");
    }
}
