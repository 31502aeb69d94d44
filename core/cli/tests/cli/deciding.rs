//! Checks of one rule and key.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;
use sluicegate_test_servers::Redis;

use crate::{command, file, outcome, root, run, stderr, stdout, without_times};

#[test]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = readme.split("```console\n$ cargo run -p sluicegate-cli -- ").nth(1).unwrap();
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
    let never = run(&["check", "examples/rules.jsonc", "login", "k", "--cost", "6", "--json"]);
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
    assert_eq!(call("refund"), (0, "refunded  5 of 5 left\n".to_owned()));
    let nothing = "nothing to refund: login has counted nothing for k\n";
    assert_eq!(call("refund"), (1, nothing.to_owned()));
    assert_eq!(call("check").0, 0);
    let all = ["refund", "examples/rules.jsonc", "login", "k", "--cost", "9", "--url", redis.url()];
    assert_eq!(stdout(&run(&all)), "refunded  5 of 5 left\n");
    assert_eq!(call("check").0, 0);
    assert!(call("charge").1.starts_with("charged  0 of 5 left  retry in "));
    assert_eq!(call("peek").0, 1);
    assert_eq!(call("reset"), (0, "reset login for k\n".to_owned()));
    assert!(call("peek").1.starts_with("admitted"));
}

const TOKENS: &str = r#"[{"rule_id": "tokens", "rate": "1000/hour", "reservations": true}]"#;

/// The id and the token that a `reserve --json` printed.
fn reserved(cost: &str, url: &str) -> (String, u64) {
    let (code, out, err) =
        outcome(&["reserve", TOKENS, "tokens", "acme", "--cost", cost, "--url", url, "--json"]);
    let printed: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && printed["allowed"] == true && printed["key"] == "acme", "{out}{err}");
    (printed["id"].as_str().unwrap().to_owned(), printed["token"].as_u64().unwrap())
}

#[test]
fn reservations_are_ended_by_their_ids() {
    let redis = Redis::start().unwrap();
    let call = |arguments: &[&str]| outcome(&[arguments, &["--url", redis.url()]].concat());
    let remaining = || {
        let printed = call(&["peek", TOKENS, "tokens", "acme", "--json"]).1;
        serde_json::from_str::<Value>(&printed).unwrap()["remaining"].as_u64().unwrap()
    };
    let (id, token) = reserved("400", redis.url());
    assert_eq!(remaining(), 600);
    let (code, out, _) = call(&["reserve", TOKENS, "tokens", "acme", "--cost", "601"]);
    assert!(code == 1 && out.starts_with("denied") && !out.contains("id "), "{out}");
    assert_eq!(call(&["renew", TOKENS, &id]), (0, "renewed\n".to_owned(), String::new()));
    assert_eq!(call(&["commit", TOKENS, &id, "--cost", "250"]), (0, "committed\n".to_owned(), String::new()));
    assert_eq!(remaining(), 750);
    let over = "not committed: the reservation has ended or expired\n";
    assert_eq!(call(&["commit", TOKENS, &id]), (1, over.to_owned(), String::new()));
    let (id, later) = reserved("700", redis.url());
    assert!(later > token);
    assert_eq!(
        call(&["release", TOKENS, &id, "--json"]),
        (0, "{\"released\":true}\n".to_owned(), String::new())
    );
    assert_eq!(
        call(&["renew", TOKENS, &id, "--json"]),
        (1, "{\"renewed\":false}\n".to_owned(), String::new())
    );
    assert_eq!(remaining(), 750);
}

#[test]
fn a_reservation_is_shown_with_its_id() {
    let redis = Redis::start().unwrap();
    let (code, out, _) = outcome(&["reserve", TOKENS, "tokens", "acme", "--url", redis.url()]);
    let id = out.lines().find_map(|line| line.strip_prefix("id        ")).unwrap();
    assert!(code == 0 && out.starts_with("admitted") && out.contains("\ntoken     "), "{out}");
    assert_eq!(outcome(&["commit", TOKENS, id, "--url", redis.url()]).0, 0);
    let (code, out, err) = outcome(&["commit", TOKENS, &id[..9], "--url", redis.url()]);
    assert!(code == 2 && out.is_empty() && err.contains("not that of a reservation"), "{err}");
    assert_eq!(outcome(&["commit", TOKENS, id, "--cost", "many", "--url", redis.url()]).0, 2);
    for command in ["commit", "release", "renew"] {
        assert!(
            stderr(&run(&[command, TOKENS, id])).starts_with(&format!("error: cannot {command}: counts in"))
        );
    }
}

#[test]
fn a_reservation_waits_for_room() {
    let redis = Redis::start().unwrap();
    let place = r#"[{"rule_id": "place", "algorithm": "concurrency", "limit": 1, "lease_seconds": 2}]"#;
    let reserve =
        |wait: &[&str]| outcome(&[&["reserve", place, "place", "k", "--url", redis.url()], wait].concat());
    assert_eq!(reserve(&["--wait", "1m"]).0, 0);
    assert_eq!(reserve(&[]).0, 1);
    let (code, out, _) = reserve(&["--wait", "1ms"]);
    assert!(code == 1 && out.starts_with("denied") && !out.contains("id "), "{out}");
    let (code, out, _) = reserve(&["--wait", "1m"]);
    assert!(code == 0 && out.starts_with("admitted") && out.contains("id "), "{out}");
    assert_eq!(reserve(&["--wait", "long"]).0, 2);
}

#[test]
fn a_call_with_an_id_counts_once() {
    let redis = Redis::start().unwrap();
    let call = |command: &str, more: &[&str]| {
        let (code, out, err) = outcome(
            &[&[command, "examples/rules.jsonc", "login", "k", "--url", redis.url(), "--json"], more]
                .concat(),
        );
        let printed: Value = serde_json::from_str(&out).unwrap_or_default();
        (code, printed["remaining"].as_u64(), err)
    };
    let is = |answer: (i32, Option<u64>, String), code: i32, left: Option<u64>| {
        assert_eq!((answer.0, answer.1), (code, left), "{}", answer.2);
    };
    for _ in 0..3 {
        is(call("check", &["--cost", "2", "--request-id", "a"]), 0, Some(3));
    }
    for _ in 0..3 {
        is(call("charge", &["--request-id", "b"]), 0, Some(2));
    }
    for _ in 0..3 {
        is(call("refund", &["--cost", "2", "--request-id", "c"]), 0, Some(4));
    }
    is(call("peek", &[]), 0, Some(4));
    let (code, left, err) = call("check", &["--cost", "3", "--request-id", "a"]);
    assert!(code == 2 && left.is_none() && err.contains("request_id"), "{err}");
    for command in ["peek", "reserve", "wait"] {
        let (code, _, err) = call(command, &["--request-id", "d"]);
        assert!(code == 2 && err.contains("--request-id"), "{err}");
    }
}

#[test]
fn time_passes_between_checks() {
    let began = std::time::Instant::now();
    let output = run(&["check", "examples/rules.jsonc", "login", "k", "--times", "3", "--every", "20ms"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(began.elapsed() >= std::time::Duration::from_millis(40));
}

#[test]
fn rules_are_followed_between_checks() {
    let rules = |limit: u64| {
        let rest = r#""rule_id": "r", "algorithm": "fixed_window", "window_size_seconds": 36000"#;
        format!("[{{{rest}, \"limit\": {limit}}}]")
    };
    let path = file("followed.json", &rules(1000));
    let mut check = command(&["check", &path, "r", "k", "--times", "1000", "--every", "20ms", "--json"]);
    let mut check = check.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(check.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut until = |limit: u64| {
        let mut decisions = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line).unwrap());
        decisions.find(|decision| decision["limit"] == limit).unwrap()
    };
    assert_eq!(until(1000)["remaining"], 999);
    fs::write(&path, "garbage").unwrap();
    fs::write(&path, rules(2000)).unwrap();
    let after = until(2000);
    assert!(after["remaining"].as_u64().unwrap() < 1999, "what was counted is kept");
    check.kill().unwrap();
    check.wait().unwrap();
}

#[test]
fn what_needs_a_server_is_refused_in_memory() {
    for command in ["peek", "refund", "charge", "reset", "reserve"] {
        let expected = format!(
            "error: cannot {command}: counts in memory end with the command that made them (name a server with --url \
             or SLUICEGATE_URL)\n"
        );
        let refused =
            |more: &[&str]| outcome(&[&[command, "examples/rules.jsonc", "login", "k"], more].concat());
        assert_eq!(refused(&[]), (2, String::new(), expected.clone()));
        assert_eq!(refused(&["--url", "memory://"]), (2, String::new(), expected));
    }
    assert!(stderr(&run(&["ping"])).contains("SLUICEGATE_URL"));
}

#[test]
fn the_server_is_tried() {
    let redis = Redis::start().unwrap();
    let (code, out, err) = outcome(&["ping", "--url", redis.url()]);
    assert!(code == 0 && out.starts_with("the server answered in ") && err.is_empty(), "{out}{err}");
    assert_eq!(outcome(&["ping", "--url", "redis://127.0.0.1:1"]).0, 2);
}

#[test]
fn a_wait_ends_with_its_turn_or_at_once() {
    let redis = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "r", "algorithm": "uniform", "limit": 1, "window_size_seconds": 3}]"#;
    let wait =
        |timeout: &str| outcome(&["wait", rules, "r", "k", "--timeout", timeout, "--url", redis.url()]);
    assert_eq!(wait("1ms").0, 0);
    let began = std::time::Instant::now();
    let admitted = wait("10s");
    assert!(admitted.0 == 0 && admitted.1.starts_with("admitted"), "{admitted:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(9));
    let denied = wait("1ms");
    assert!(denied.0 == 1 && denied.1.starts_with("denied"), "{denied:?}");
}

#[test]
fn completions_and_man_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, out, _) = outcome(&["completions", shell]);
        assert!(code == 0 && out.contains("check-request"), "{shell}");
    }
    let (code, page, _) = outcome(&["man"]);
    assert!(code == 0 && page.starts_with(".ie") && page.contains("sluicegate\\-check\\-request"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(outcome(&["man", folder.path().to_str().unwrap()]).0, 0);
    assert!(folder.path().join("sluicegate-rules-validate.1").exists());
    assert_eq!(outcome(&["man", "no/such/folder"]).0, 2);
}
