//! Requests and the rules they choose.

use serde_json::Value;
use sluicegate_test_servers::Redis;

use crate::{file, outcome, run, stderr, stdout, without_times};

/// A file of rules that requests choose.
fn request_rules(name: &str) -> String {
    let rules = r#"[
        {"rule_id": "orders", "identifier_type": "user_id", "algorithm": "gcra", "limit": 50,
         "window_size_seconds": 60, "priority": 10,
         "match": {"path_pattern": "/orders/*", "methods": ["GET"], "requires_authentication": true}},
        {"rule_id": "tenant", "identifier_type": "header:X-Tenant", "algorithm": "gcra", "limit": 1,
         "window_size_seconds": 50, "match": {}},
        {"rule_id": "printer", "identifier_type": "api_key", "resource_identifier_type": "path:printer",
         "algorithm": "fixed_window", "priority": 20,
         "limits": [{"limit": 5, "window_size_seconds": 10, "scope": "resource"}],
         "match": {"path_pattern": "/printers/{printer}", "ip_subnet": "10.0.0.0/8"}}
    ]"#;
    file(name, rules)
}

#[test]
fn a_request_is_matched_without_being_counted() {
    let rules = request_rules("match.json");
    let matched = |more: &[&str]| {
        let output = run(&[&["match", &rules], more].concat());
        assert_eq!(output.status.code(), Some(0));
        stdout(&output)
    };
    let orders = ["--path", "//orders/7?x", "--user", "alice", "--header", "x-tenant: acme"];
    assert_eq!(matched(&orders), "tenant  acme\norders  alice\n");
    let print = ["--method", "POST", "--path", "/printers/p%0a7", "--ip", "10.1.2.3", "--api-key", "k\u{1b}"];
    assert_eq!(matched(&print), "printer  k\\u{1b} on p%0A7\n");
    assert_eq!(matched(&["--path", "/orders/7"]), "no rule applies\n");
    assert_eq!(
        matched(&["--path", "/orders/7", "--user", "alice", "--explain"]),
        "tenant   does not apply: identifier_type: the request has no value of \"x-tenant\"\n\
         orders   applies to alice: every condition holds\n\
         printer  does not apply: path_pattern: \"/printers/{printer}\" does not match \"/orders/7\"\n"
    );
    assert_eq!(
        matched(&[&orders[..], &["--json"]].concat()).lines().next().unwrap(),
        r#"{"key":"acme","resource":null,"rule_id":"tenant"}"#
    );
    let explained = matched(&["--path", "/orders/7", "--explain", "--json"]);
    let last: Value = serde_json::from_str(explained.lines().last().unwrap()).unwrap();
    assert_eq!((&last["rule_id"], &last["matched"]), (&Value::from("printer"), &Value::from(false)));
}

#[test]
fn a_request_is_decided_by_all_rules_that_apply() {
    let (redis, rules) = (Redis::start().unwrap(), request_rules("check-request.json"));
    let check = |more: &[&str]| {
        let request = ["check-request", &rules, "--url", redis.url(), "--path", "/orders/7"];
        let output = run(&[&request, more].concat());
        (output.status.code().unwrap(), without_times(&stdout(&output)))
    };
    let tenant = ["--user", "alice", "--header", "X-Tenant: acme"];
    let admitted = "tenant  acme   admitted  0 of 1 left  resets in TIME\n\
                    orders  alice  admitted  49 of 50 left  resets in TIME\nadmitted";
    assert_eq!(check(&tenant), (0, admitted.to_owned()));
    let denied = check(&[&tenant[..], &["--json"]].concat());
    let decision: Value = serde_json::from_str(&denied.1).unwrap();
    assert_eq!((denied.0, &decision["rule"], &decision["allowed"]), (1, &"tenant".into(), &false.into()));
    assert_eq!(decision["parts"][1]["key"], "alice");
    assert_eq!(check(&["--method", "PUT"]), (0, "no rule applies\nadmitted".to_owned()));
    let of_addresses = r#"[{"rule_id": "a", "rate": "1/s", "identifier_type": "ip_address", "match": {}}]"#;
    let (_, _, err) = outcome(&["check-request", of_addresses, "--url", redis.url(), "--path", "/"]);
    assert!(err.contains("without the client's address"), "{err}");
}

#[test]
fn a_request_that_is_none_is_an_error() {
    let rules = request_rules("no-request.json");
    let error = |more: &[&str]| {
        let output = run(&[&["match", &rules], more].concat());
        assert_eq!(output.status.code(), Some(2));
        stderr(&output)
    };
    assert_eq!(
        error(&["--path", "/", "--ip", "localhost"]),
        "error: ip \"localhost\" has to be an IPv4 or IPv6 address without a port\n"
    );
    assert!(error(&["--path", ""]).starts_with("error: path is empty"));
    assert!(error(&["--path", "/", "--method", "G T"]).starts_with("error: method \"G T\""));
    assert!(error(&["--path", "/", "--header", "a b: c"]).starts_with("error: headers \"a b\""));
    assert!(error(&["--path", "/", "--header", "abc"]).contains("a header is NAME: VALUE"));
}
