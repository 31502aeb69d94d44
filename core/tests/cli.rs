//! The command line tool, as a person or a script uses it.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sluicegate_test_servers::Redis;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    command.args(args).current_dir(root()).env_remove("SLUICEGATE_URL").output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Digits of times differ from run to run.
fn without_times(text: &str) -> String {
    let words = |line: &str| {
        let is_time =
            |word: &str| word.ends_with('s') && word.starts_with(|first: char| first.is_ascii_digit());
        line.split(' ').map(|word| if is_time(word) { "TIME" } else { word }).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split("```console\n$ cargo run --features cli -- ").nth(1).unwrap();
    let (command, rest) = shown.split_once('\n').unwrap();
    let expected = rest.split_once("\n```").unwrap().0;
    let output = run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(without_times(&stdout(&output)), without_times(expected));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn exit_codes_tell_admitted_from_denied_from_errors() {
    let check = |more: &[&str]| run(&[&["check", "examples/rules.jsonc"], more].concat()).status.code();
    assert_eq!(check(&["login", "k"]), Some(0));
    assert_eq!(check(&["login", "k", "--times", "6"]), Some(1));
    assert_eq!(check(&["login", "k", "--cost", "6"]), Some(1));
    assert_eq!(check(&["logn", "k"]), Some(2));
    assert_eq!(check(&["login", "k", "--cost", "many"]), Some(2));
    assert_eq!(check(&["login", "k", "--url", "redis://127.0.0.1:1"]), Some(2));
}

#[test]
fn errors_say_what_would_be_right_and_keep_secrets() {
    let misspelt = run(&["check", "examples/rules.jsonc", "logn", "k"]);
    assert_eq!(stderr(&misspelt), "error: no rule is called \"logn\"; did you mean \"login\"?\n");
    assert_eq!(stdout(&misspelt), "");
    let url = "redis://user:s3cret@127.0.0.1:1";
    let unreachable = run(&["check", "examples/rules.jsonc", "login", "k", "--url", url]);
    assert!(stderr(&unreachable).contains("127.0.0.1:1") && !stderr(&unreachable).contains("s3cret"));
}

#[test]
fn json_is_one_object_per_line() {
    let output = run(&["check", "examples/rules.jsonc", "login", "k", "--times", "6", "--json"]);
    let text = stdout(&output);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    assert_eq!((&lines[0]["allowed"], &lines[0]["remaining"]), (&Value::from(true), &Value::from(4)));
    assert_eq!((&lines[5]["allowed"], &lines[5]["limit"]), (&Value::from(false), &Value::from(5)));
    let wait = lines[5]["retry_after_us"].as_u64().unwrap();
    assert!((1..=12_000_000).contains(&wait));
    let never = run(&["peek", "examples/rules.jsonc", "login", "k", "--cost", "6", "--json"]);
    let never: Value = serde_json::from_str(&stdout(&never)).unwrap();
    assert_eq!(never["retry_after_us"], Value::Null);
}

#[test]
fn calls_share_their_counts_on_a_server() {
    let redis = Redis::start().unwrap();
    let call = |command: &str| {
        let output =
            run(&[command, "examples/rules.jsonc", "login", "k", "--cost", "3", "--url", redis.url()]);
        (output.status.code().unwrap(), stdout(&output))
    };
    assert_eq!(call("check").0, 0);
    assert_eq!(call("check").0, 1);
    assert_eq!(call("peek").0, 1);
    assert!(call("refund").1.contains("5 of 5 left"));
    assert_eq!(call("check").0, 0);
    assert_eq!(call("reset"), (0, "reset login for k\n".to_owned()));
    assert!(call("peek").1.starts_with("admitted"));
}

#[test]
fn rules_are_validated() {
    let valid = run(&["rules", "validate", "examples/rules.jsonc"]);
    assert_eq!(
        (valid.status.code(), stdout(&valid).as_str()),
        (Some(0), "examples/rules.jsonc: 4 rules, valid\n")
    );
    let missing = run(&["rules", "validate", "examples/none.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).starts_with("error: examples/none.json: cannot be read"));
}

#[test]
fn time_passes_between_checks() {
    let began = std::time::Instant::now();
    let output = run(&["check", "examples/rules.jsonc", "login", "k", "--times", "3", "--every", "20ms"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(began.elapsed() >= std::time::Duration::from_millis(40));
}

/// A file of rules that requests choose.
fn request_rules(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
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
    fs::write(&path, rules).unwrap();
    path.to_str().unwrap().to_owned()
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
    let admitted = "tenant  acme   admitted  0 of 1 left  as new in TIME\n\
                    orders  alice  admitted  49 of 50 left  as new in TIME\nadmitted";
    assert_eq!(check(&tenant), (0, admitted.to_owned()));
    let denied = check(&[&tenant[..], &["--json"]].concat());
    let decision: Value = serde_json::from_str(&denied.1).unwrap();
    assert_eq!((denied.0, &decision["rule"], &decision["allowed"]), (1, &"tenant".into(), &false.into()));
    assert_eq!(decision["parts"][1]["key"], "alice");
    assert_eq!(check(&["--method", "PUT"]), (0, "no rule applies\nadmitted".to_owned()));
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
