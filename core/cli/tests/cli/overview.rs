//! One key under every rule.

use sluicegate_test_servers::Redis;

use crate::{file, outcome, without_times};

const RULES: &str = r#"[
    {"rule_id": "login", "rate": "5/minute"},
    {"rule_id": "quota", "algorithm": "fixed_window", "limit": 9, "window": "month", "time_zone": "Asia/Tokyo"},
    {"rule_id": "pool", "algorithm": "sliding_log", "limits": [{"rate": "3/minute", "scope": "resource"}]}
]"#;

#[test]
fn a_key_is_looked_at_and_forgotten_under_every_rule() {
    let redis = Redis::start().unwrap();
    let rules = file("overview.json", RULES);
    let ask = |args: &[&str]| {
        let (code, printed, stderr) = outcome(&[args, &["--url", redis.url()]].concat());
        assert_eq!(stderr, "");
        (code, without_times(&printed))
    };
    let left_out = "left out: it limits a resource; name one by --resource";
    assert_eq!(ask(&["check", &rules, "login", "alice", "--times", "5"]).0, 0);
    let looked = format!(
        "login  denied    0 of 5 left  retry in TIME  resets in TIME\n\
         quota  admitted  9 of 9 left\n\
         pool   {left_out}"
    );
    assert_eq!(ask(&["inspect", &rules, "alice"]), (1, looked));
    let (code, json) = ask(&["inspect", &rules, "alice", "--json", "--resource", "printer"]);
    assert_eq!((code, json.lines().count()), (1, 3));
    assert!(json.contains(r#""key":"alice","limit":9,"remaining":9"#), "{json}");

    let forgotten = format!("login: forgotten\nquota: forgotten\npool: {left_out}");
    assert_eq!(ask(&["reset-all", &rules, "alice"]), (0, forgotten));
    assert_eq!(ask(&["inspect", &rules, "alice"]).0, 0);
}

#[test]
fn counts_in_memory_are_not_looked_at() {
    for command in ["inspect", "reset-all"] {
        let (code, printed, error) = outcome(&[command, "[]", "alice"]);
        assert_eq!((code, printed.as_str()), (2, ""));
        assert!(error.starts_with(&format!("error: cannot {command}: counts in memory end")), "{error}");
    }
}
