//! Requests of the past.

use std::fs;

use serde_json::json;

use super::{failure, figures, folder};
use crate::{file, outcome};

const RULES: &str = r#"[
    {"rule_id": "per_address", "algorithm": "sliding_log", "limit": 2, "window_size_seconds": 10,
     "identifier_type": "ip_address", "match": {"path_pattern": "*"}},
    {"rule_id": "nobody", "algorithm": "gcra", "limit": 1, "window_size_seconds": 10,
     "identifier_type": "global", "match": {"path_pattern": "/nowhere"}}]"#;

/// One address calls three times within a second, another once a minute later.
fn combined() -> String {
    let line = |ip: &str, time: &str| {
        format!("{ip} - - [10/Oct/2000:{time} +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"x\"\n")
    };
    [
        line("192.0.2.1", "13:00:00"),
        line("192.0.2.1", "13:00:01"),
        line("192.0.2.1", "13:00:01"),
        line("192.0.2.2", "13:01:00"),
    ]
    .concat()
}

#[test]
fn a_log_is_decided_as_in_production() {
    let log = file("combined.log", &combined());
    let figures = figures(&[RULES, "--replay", &log]);
    assert_eq!(
        figures["requests"],
        json!({ "total": 4, "unmatched": 0, "admitted": 3, "denied": 1, "late": 0 })
    );
    assert_eq!(figures["strategies"][0]["most_denied"], json!([{ "key": "192.0.2.1", "denied": 1 }]));
    assert_eq!(figures["start_us"], json!(971_182_800_000_000u64));
}

#[test]
fn a_rule_that_matches_nothing_is_said() {
    let log = file("nothing.log", &combined());
    let (code, out, _) = outcome(&["lab", RULES, "--replay", &log]);
    assert_eq!(code, 0);
    assert!(out.contains("4 requests: 3 admitted, 1 denied, 0 matched by no rule"), "{out}");
    assert!(out.lines().any(|line| line == "nobody       matches nothing"), "{out}");
    assert!(out.contains("per_address denies most: 192.0.2.1 (1)"), "{out}");
}

#[test]
fn requests_that_no_rule_matches_are_said_and_no_lack_of_traffic() {
    let log = file("unmatched.log", &combined());
    let folder = folder("unmatched");
    let rules = r#"[{"rule_id": "plain", "algorithm": "gcra", "limit": 1, "window_size_seconds": 10}]"#;
    let (code, out, err) = outcome(&["lab", rules, "--replay", &log, "--out", folder.to_str().unwrap()]);
    assert_eq!(
        (code, out.lines().next()),
        (0, Some("4 requests: 0 admitted, 0 denied, 4 matched by no rule"))
    );
    assert_eq!(err, "warning: no request matches rules without \"match\" (add it to them): \"plain\"\n");
    let page = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(page.contains("matches nothing") && !page.contains("no traffic"), "{page}");
}

#[test]
fn compared_algorithms_have_no_common_decision() {
    let log = file("compared.log", &combined());
    let args = ["lab", "--compare", "gcra,fixed_window", "--limit", "2", "--replay", &log];
    let (code, out, _) = outcome(&args);
    assert_eq!((code, out.lines().next()), (0, Some("4 requests: 0 matched by no rule")));
}

#[test]
fn every_format_says_the_same() {
    let expected = figures(&[RULES, "--replay", &file("same.log", &combined())]);
    let times = [(1, "13:00:00"), (1, "13:00:01"), (1, "13:00:01"), (2, "13:01:00")];
    let json = times.map(|(ip, time)| {
        json!({ "ts": format!("2000-10-10T{time}Z"), "uri": "/a", "remote_addr": format!("192.0.2.{ip}") })
            .to_string()
            + "\n"
    });
    assert_eq!(figures(&[RULES, "--replay", &file("same.jsonl", &json.concat())]), expected);
    let csv = times.map(|(ip, time)| format!("\"192.0.2.{ip}\",2000-10-10 {time},/a\n"));
    let csv = file("same.csv", &format!("who,when,path\n{}", csv.concat()));
    let columns = ["--columns", "ip=who,time=when", "--log-format", "csv"];
    assert_eq!(figures(&[&[RULES, "--replay", &csv], &columns[..]].concat()), expected);
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_first_shown() {
    let log = file("bad.log", &format!("one\n{}two\nthree\nfour\n", combined()));
    let (code, _, err) = outcome(&["lab", RULES, "--replay", &log, "--log-format", "combined"]);
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(code, 0);
    assert_eq!(
        lines,
        [
            "warning: line 1 cannot be read: it has no address: one",
            "warning: line 6 cannot be read: it has no address: two",
            "warning: line 7 cannot be read: it has no address: three",
            "warning: 4 lines could not be read; 4 requests could",
        ]
    );
    let strict = failure(&[RULES, "--replay", &log, "--log-format", "combined", "--strict"]);
    assert_eq!(strict, "error: line 1 cannot be read: it has no address: one\n");
}

#[test]
fn algorithms_are_compared_by_a_log() {
    let log = file("compared.log", &combined());
    let figures = figures(&["--compare", "sliding_log,uniform", "--limit", "2", "--replay", &log]);
    let admitted = |number: usize| figures["strategies"][number]["admitted"].as_u64();
    assert_eq!((admitted(0), admitted(1)), (Some(3), Some(2)));
}

#[test]
fn requests_under_way_are_counted_by_rules_of_concurrency() {
    let rules = r#"[{"rule_id": "busy", "algorithm": "concurrency", "limit": 1, "identifier_type": "ip_address",
        "match": {"path_pattern": "*"}}]"#;
    let csv = "time,path,ip,request_time\n100,/a,::1,2.5\n102,/a,::1,0.1\n102.5,/a,::1,0.1\n103,/a,::1,-\n";
    let log = file("durations.csv", csv);
    let printed = figures(&[rules, "--replay", &log]);
    assert_eq!(
        printed["requests"],
        json!({ "total": 3, "unmatched": 0, "admitted": 2, "denied": 1, "late": 0 })
    );
    let filled = figures(&[rules, "--replay", &log, "--duration", "1s"]);
    assert_eq!((&filled["requests"]["admitted"], &filled["requests"]["denied"]), (&json!(3), &json!(1)));
    let log = file("durations.log", &combined());
    assert_eq!(
        failure(&[rules, "--replay", &log]),
        "error: cannot replay the log: rule \"busy\" limits how many requests are under way, and the log does not tell \
         how long they were (pass --duration 200ms, or name its column with --columns duration=NAME)\n"
    );
    let wrong = failure(&[rules, "--replay", &log, "--duration", "5"]);
    assert!(wrong.contains("a time from 1us to 1d such as 200ms"), "{wrong}");
    assert_eq!(figures(&[rules, "--replay", &log, "--duration", "exp(10ms)"])["requests"]["admitted"], 3);
}

#[test]
fn an_empty_log_is_no_traffic() {
    let (code, out, _) = outcome(&["lab", RULES, "--replay", &file("empty.log", "")]);
    assert_eq!(code, 0);
    assert_eq!(out, "there was no traffic: no call came\n");
}

#[test]
fn mistakes_are_named() {
    assert!(failure(&[RULES, "--replay", "no/such.log"]).starts_with("error: cannot read no/such.log: "));
    let columns = failure(&[RULES, "--replay", "x", "--columns", "tiem=ts"]);
    assert!(
        columns.contains(
            "\"tiem\" is none of time, method, path, ip, user, api_key, duration and header:<name>"
        ),
        "{columns}"
    );
    let csv = file("misspelt.csv", "time,path,account\n1,/a,ann\n");
    assert_eq!(
        failure(&[RULES, "--replay", &csv, "--columns", "user=acount"]),
        "error: the log has no column \"acount\"; did you mean \"account\"?\n"
    );
    let alone = failure(&[RULES, "--replay", &csv, "--limit", "5"]);
    assert!(alone.contains("'[RULES]' cannot be used with '--limit <N>'"), "{alone}");
}
