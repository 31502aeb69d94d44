//! Random inputs for what comes from outside: files of rules, requests, replies of a server. None may panic, hang, or
//! make a decision that is none. The servers of ZooKeeper are in `sources::zookeeper::tests`.

use std::time::Duration;

use proptest::prelude::*;
use redis::Value;

use crate::catalog::{Catalog, Share};
use crate::keys::secret::SecretNames;
use crate::plan::{Form, Op, Plan};
use crate::request::{Check, CheckOptions};
use crate::sequence::{CallSettings, DecisionSequence, ScriptSequence};
use crate::text::printable::is_control;
use crate::{Decision, ManualClock, RateLimiter, Request, Result, Rules};

/// One of each kind.
const RULES: &str = include_str!("../../examples/rules.jsonc");
const ALGORITHMS: [&str; 11] = [
    r#""algorithm": "fixed_window""#,
    r#""algorithm": "fixed_window", "window_start": "first_request", "count_denied": true"#,
    r#""algorithm": "sliding_window""#,
    r#""algorithm": "sliding_window", "count_denied": true"#,
    r#""algorithm": "sliding_log""#,
    r#""algorithm": "sliding_log", "structure": "sorted_set""#,
    r#""algorithm": "sliding_buckets""#,
    r#""algorithm": "sliding_buckets", "count_denied": true"#,
    r#""algorithm": "gcra", "burst": 7"#,
    r#""algorithm": "uniform""#,
    r#""algorithm": "decay", "resolution_seconds": 1, "decay_factor": 1.5, "count_denied": true"#,
];
/// No bounds of a rule allow a longer wait than some of these.
const LONGEST: Duration = Duration::from_micros(1 << 55);

fn is_sensible(decision: &Decision) -> bool {
    let fits = |span: Duration| span == Duration::MAX || span <= LONGEST;
    fits(decision.retry_after) && fits(decision.reset_after) && decision.remaining <= 1 << 60
}

/// An error is one line of a decent length; an answer makes sense.
fn judge(answer: Result<Decision>) {
    match answer {
        Ok(decision) => assert!(is_sensible(&decision), "{decision:?}"),
        Err(error) => {
            let message = error.message();
            assert!(message.len() < 3_000 && !message.contains(is_control), "{message}");
        }
    }
}

#[test]
fn fuzz_rules() {
    let each =
        |algorithm| format!(r#"[{{ "rule_id": "r", {algorithm}, "limit": 5, "window_size_seconds": 60 }}]"#);
    let mut seeds: Vec<_> = ALGORITHMS.iter().map(|algorithm| each(algorithm).into_bytes()).collect();
    seeds.push(RULES.as_bytes().to_vec());
    sluicegate_fuzz::bytes("rules", seeds, |input| {
        let rules = match Rules::from_json(&String::from_utf8_lossy(input)) {
            Ok(rules) => rules,
            Err(error) => return judge(Err(error)),
        };
        let builder = RateLimiter::builder("memory://").rules(rules.clone()).clock(ManualClock::new(1 << 50));
        let limiter = builder.build().unwrap();
        for rule in rules.iter() {
            judge(limiter.check(&rule.id, "key"));
            judge(limiter.check_with(
                &rule.id,
                "key",
                CheckOptions::new().resource("resource").cost(1 << 40),
            ));
        }
        judge(limiter.check_request(&Request::new("GET", "/orders/7").user_id("alice").ip("::1")));
    });
}

#[test]
fn fuzz_paths() {
    let patterns = ["/orders/*", "/orders/{id}", "*/download", "/a/{b}/c/*/{d}", "*", "/%41", "/é/*"];
    let rules = patterns.iter().enumerate().map(|(number, pattern)| {
        let identifier = if pattern.contains("{id}") { "path:id" } else { "global" };
        format!(
            r#"{{ "rule_id": "r{number}", "limit": 5, "window_size_seconds": 60, "algorithm": "gcra",
                 "identifier_type": "{identifier}", "match": {{ "path_pattern": "{pattern}" }} }}"#
        )
    });
    let rules = format!("[{}]", rules.collect::<Vec<_>>().join(","));
    let limiter = RateLimiter::builder("memory://").rules(Rules::from_json(&rules).unwrap()).build().unwrap();
    let seeds =
        ["/orders/7?x=1", "/a/./b/../c//d;e=f/%2e%2e/g", "http://host/orders/%C3%A9#f", "/x/download"];
    let seeds = seeds.map(|seed| seed.as_bytes().to_vec()).to_vec();
    sluicegate_fuzz::bytes("paths", seeds, |input| {
        let path = String::from_utf8_lossy(input);
        let request = Request::new("GET", &path);
        let (matches, explained) = (limiter.match_request(&request), limiter.explain_request(&request));
        let (Ok(matches), Ok(explained)) = (&matches, &explained) else {
            return assert!(matches.is_err() && explained.is_err());
        };
        for explanation in explained {
            let is_listed = matches.iter().any(|it| it.rule_id == explanation.rule_id);
            assert_eq!(is_listed, explanation.matched, "{explanation:?}");
        }
        judge(limiter.check_request(&request));
    });
}

/// Numbers that a server of ours would send, and those of any other.
fn number() -> impl Strategy<Value = f64> {
    const NOW: f64 = 1_700_000_000_123_456.0;
    prop_oneof![
        3 => (-1e9..1e9).prop_map(|apart: f64| NOW + apart.round()),
        3 => (0.0..20.0).prop_map(f64::round),
        1 => -1.0..2.0,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e300, 1e300, -1.0, -0.0, 9_007_199_254_740_992.0, 1e18, 1e-300,
        ]),
    ]
}

#[test]
fn fuzz_replies() {
    let rule = |algorithm: &&str| {
        let rule = format!(r#"[{{ "rule_id": "r", {algorithm}, "limit": 5, "window_size_seconds": 60 }}]"#);
        let rule =
            if rule.contains("decay") { rule.replace(r#", "window_size_seconds": 60"#, "") } else { rule };
        Catalog::new(Rules::from_json(&rule).unwrap(), SecretNames::default(), Share::default())
    };
    let catalogs: Vec<_> = ALGORITHMS.iter().map(rule).collect();
    let wire = CallSettings {
        prefix: "p".to_owned(),
        cluster: false,
        near_cluster: false,
        default_timeout: 1_500_000,
        request_lifetime: 60_000_000,
        regions: None,
    };
    let ops = prop::sample::select(Op::ALL.to_vec());
    let reply = prop::collection::vec(number(), 0..9);
    let cost = prop::sample::select(vec![1, 2, 5, 6, 1 << 52]);
    sluicegate_fuzz::values(
        &(0..catalogs.len(), ops, cost, reply, 0usize..9),
        |(at, op, cost, reply, cut)| {
            let check = [Check::new("r", "key").with(CheckOptions::new().cost(cost))];
            let plan = Plan::new(&catalogs[at], &check, Op::Peek).unwrap();
            let mut sequence = DecisionSequence::new(&plan, &wire, op, None);
            let mut bytes: Vec<u8> = reply.iter().flat_map(|number| number.to_le_bytes()).collect();
            // Most are whole.
            bytes.truncate(bytes.len() - cut.saturating_sub(7).min(bytes.len()));
            sequence.feed(Ok(Value::BulkString(bytes)));
            judge(sequence.decision(Form::Single));
        },
    );
}
