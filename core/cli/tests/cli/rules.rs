//! Rules in files: looked at, compared and changed.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::{command, file, outcome, run, stderr, stdout};

const KEPT: &str = r#"// Kept by hand.
{
  "rules": [
    /* first */
    {
      "rule_id": "login", // by address
      "algorithm": "gcra",
      "limit": 5, // attempts
      "window_size_seconds": 60
    },
    { "rule_id": "orders", "algorithm": "sliding_log", "limit": 50, "window_size_seconds": 60 } // exact
  ]
}
"#;

fn expect(args: &[&str], code: i32, out: &str, err: &str) {
    assert_eq!(outcome(args), (code, out.to_owned(), err.to_owned()), "{args:?}");
}

#[test]
fn rules_are_validated() {
    expect(&["rules", "validate", "examples/rules.jsonc"], 0, "examples/rules.jsonc: 4 rules, valid\n", "");
    let missing = run(&["rules", "validate", "examples/none.json"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).starts_with("error: examples/none.json: cannot be read"));
}

#[test]
fn several_sources_are_validated_whatever_is_wrong_with_some() {
    let bad = file("bad.json", r#"[{"rule_id": "a", "algoritm": "gcra"}]"#);
    let (code, out, err) =
        outcome(&["rules", "validate", &bad, "[]", "examples/none.json", "examples/rules.jsonc"]);
    assert_eq!((code, out.as_str()), (2, "fixed: 0 rules, valid\nexamples/rules.jsonc: 4 rules, valid\n"));
    let expected = "rule \"a\": field \"algoritm\" is not known; did you mean \"algorithm\"?";
    let missing = "rule \"a\": field \"limit\" is missing";
    assert!(err.contains(&format!("error: {bad}:1:19: {expected}\n")), "{err}");
    assert!(
        err.starts_with(&format!("error: {bad}:1:2: {missing}"))
            && err.contains("error: examples/none.json: "),
        "{err}"
    );
    let text = outcome(&[
        "rules",
        "validate",
        r#"[{"rule_id": "a", "algorithm": "gcra", "limit": 0, "window_size_seconds": 0}]"#,
    ]);
    assert_eq!((text.0, text.2.matches("error: rules:1:").count()), (2, 2), "{}", text.2);
}

#[test]
fn rules_are_listed() {
    let rules = file(
        "listed.json",
        r#"[{"rule_id": "orders", "identifier_type": "user_id", "algorithm": "token_bucket", "limit": 50,
             "burst": 9, "window_size_seconds": 60, "priority": 10, "shadow": true, "match": {
             "path_pattern": "/orders/*", "methods": ["get", "PUT"], "requires_authentication": true,
             "required_headers": {"X-Client": "*"}, "ip_subnet": ["10.0.0.0/8", "::1/128"]}},
            {"rule_id": "all", "algorithm": "decay", "limit": 2.5, "resolution_seconds": 0.5, "priority": -1,
             "identifier_type": "global", "match": {}},
            {"rule_id": "printer", "algorithm": "sliding_window", "limits": [
             {"limit": 3, "window_size_seconds": 10},
             {"limit": 5, "window_size_seconds": 90, "scope": "resource"}]}]"#,
    );
    let (code, out, err) = outcome(&["rules", "list", &rules]);
    assert_eq!((code, err.as_str()), (0, ""));
    let ends: Vec<_> = out.lines().map(str::len).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "aligned: {out}");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        out.lines().map(words).collect::<Vec<_>>(),
        [
            "RULE ALGORITHM LIMITS REQUESTS PRIORITY",
            "orders token_bucket (shadow) 50 in 1m, 9 at once GET|PUT /orders/*, authenticated, x-client: *, \
             from 10.0.0.0/8|::1/128, per user_id 10",
            "all decay 2.5, by 2 every 500ms any *, per global -1",
            "printer sliding_window 3 in 10s, 5 in 1m 30s per resource by name 0",
        ]
    );
}

#[test]
fn listed_objects_are_rules() {
    let (code, out, _) = outcome(&["rules", "list", "examples/rules.jsonc", "--json"]);
    let lines: Vec<_> = out.lines().collect();
    assert_eq!((code, lines.len()), (0, 4));
    let again = format!("[{}]", lines.join(","));
    expect(&["rules", "diff", "examples/rules.jsonc", &again], 0, "", "");
}

#[test]
fn differences_name_rules_and_fields() {
    let old = r#"[{"rule_id": "a", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60},
        {"rule_id": "b", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60},
        {"rule_id": "same", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60}]"#;
    let new = r#"[{"rule_id": "same", "algorithm": "gcra", "limit": 5.0, "window_size_seconds": 60},
        {"rule_id": "c", "algorithm": "uniform", "limit": 1, "window_size_seconds": 1},
        {"rule_id": "a", "algorithm": "gcra", "limit": 9, "window_size_seconds": 60, "priority": 1,
         "identifier_type": "global", "match": {"methods": ["GET"]}}]"#;
    let expected = "changed  a\n         identifier_type: unset -> \"global\"\n         limit: 5 -> 9\n         match.methods: unset -> [\"GET\"]\n         \
                priority: 0 -> 1\nremoved  b  gcra, 5 in 1m\nadded    c  uniform, 1 in 1s, 1 at once\n";
    expect(&["rules", "diff", old, new], 1, expected, "");
    let (code, out, _) = outcome(&["rules", "diff", old, new, "--json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, lines.len()), (1, 3));
    assert_eq!(lines[0]["fields"][1].to_string(), r#"{"field":"limit","new":9,"old":5}"#);
    assert_eq!((&lines[1]["change"], &lines[2]["rule"]["limit"]), (&"removed".into(), &1.into()));
    assert_eq!(run(&["rules", "diff", old, "examples/none.json"]).status.code(), Some(2));
    let control = old.replacen("\"limit\"", "\"description\": \"\u{9b}2J\u{7f}\\u001b\", \"limit\"", 1);
    let (_, out, _) = outcome(&["rules", "diff", old, &control]);
    assert_eq!(out, "changed  a\n         description: unset -> \"\\u009b2J\\u007f\\u001b\"\n");
}

#[test]
fn a_rule_is_put_without_disturbing_the_rest() {
    let path = file("put.jsonc", KEPT);
    let rule = file(
        "rule.json",
        r#"{"rule_id": "login", "algorithm": "gcra", "limit": 7, "window_size_seconds": 60}"#,
    );
    expect(&["rules", "put", &path, &rule], 0, "changed  login\n         limit: 5 -> 7\n", "");
    assert_eq!(fs::read_to_string(&path).unwrap(), KEPT.replace("5, // attempts", "7, // attempts"));
    expect(&["rules", "put", &path, &rule], 0, "same     login\n", "");
    let new = file(
        "new.json",
        r#"[{"rule_id": "api", "algorithm": "uniform", "limit": 1e1, "window_size_seconds": 1}]"#,
    );
    expect(&["rules", "put", &path, &new], 0, "added    api  uniform, 10 in 1s, 1 at once\n", "");
    let text = fs::read_to_string(&path).unwrap();
    let added = "    {\n      \"rule_id\": \"api\",\n      \"algorithm\": \"uniform\",\n      \"limit\": 1e1,\n      \
                 \"window_size_seconds\": 1\n    }\n  ]\n}\n";
    assert!(text.ends_with(added) && text.contains("// exact") && text.contains("/* first */"), "{text}");
    expect(&["rules", "delete", &path, "api", "--yes"], 0, &format!("deleted  api from {path}\n"), "");
    assert_eq!(fs::read_to_string(&path).unwrap(), KEPT.replace("5, // attempts", "7, // attempts"));
}

#[test]
fn rules_are_put_from_standard_input() {
    let path = file("stdin.jsonc", "\u{feff}[]\r\n");
    let put = command(&["rules", "put", &path, "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut put = put.unwrap();
    put.stdin.take().unwrap().write_all(KEPT.as_bytes()).unwrap();
    let output = put.wait_with_output().unwrap();
    assert_eq!(stdout(&output), "added    login  gcra, 5 in 1m\nadded    orders  sliding_log, 50 in 1m\n");
    expect(&["rules", "diff", &path, KEPT], 0, "", "");
    assert!(fs::read_to_string(&path).unwrap().starts_with("\u{feff}["));
}

#[test]
fn a_file_that_is_missing_is_made() {
    let path = file("made.json", "");
    fs::remove_file(&path).unwrap();
    let (code, out, err) = outcome(&["rules", "put", &path, "examples/rules.jsonc"]);
    assert_eq!((code, out.lines().count(), err.as_str()), (0, 4, ""));
    expect(&["rules", "diff", &path, "examples/rules.jsonc"], 0, "", "");
}

#[test]
fn nothing_is_written_unless_everything_is_valid() {
    let path = file("untouched.jsonc", KEPT);
    let error = |source: &str, text: &str| {
        let (code, out, err) = outcome(&["rules", "put", source, &file("faulty.json", text)]);
        assert_eq!((code, out.as_str()), (2, ""));
        assert_eq!(fs::read_to_string(&path).unwrap(), KEPT);
        err
    };
    let valid = r#"{"rule_id": "a", "algorithm": "gcra", "limit": 7, "window_size_seconds": 60}"#;
    assert!(error(&path, r#"{"rule_id": "a", "algorithm": "gcra"}"#).contains("faulty.json: rule \"a\": "));
    assert!(error(&path, &format!("[{valid}, {valid}]")).contains("field \"rule_id\" is the same"));
    assert!(error(&path, "[]").contains("faulty.json: it holds no rule"));
    assert!(error(&path, "{").contains("faulty.json: not valid JSON"));
    assert!(error("[]", valid).contains("JSON cannot be changed"));
    let broken = file("broken.jsonc", "[{}]");
    assert!(error(&broken, valid).contains("broken.jsonc: rule 1: "));
    assert_eq!(fs::read_to_string(&broken).unwrap(), "[{}]");
}

#[test]
fn a_rule_is_deleted_by_those_who_mean_it() {
    let path = file("delete.jsonc", KEPT);
    let unasked = format!("error: stdin is not a terminal; pass --yes to delete orders from {path}\n");
    expect(&["rules", "delete", &path, "orders"], 2, "", &unasked);
    let unknown = "error: no rule is called \"order\"; did you mean \"orders\"?\n";
    expect(&["rules", "delete", &path, "order", "--yes"], 2, "", unknown);
    assert_eq!(fs::read_to_string(&path).unwrap(), KEPT);
    expect(&["rules", "delete", &path, "orders", "--yes"], 0, &format!("deleted  orders from {path}\n"), "");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("// attempts") && !text.contains("orders"), "{text}");
    expect(&["rules", "delete", &path, "login", "--yes"], 0, &format!("deleted  login from {path}\n"), "");
    expect(&["rules", "validate", &path], 0, &format!("{path}: 0 rules, valid\n"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_deleting_asks() {
    let path = file("asked.jsonc", KEPT);
    let answer = |text: &str| {
        // `script` gives a terminal to a command.
        let delete = format!("'{}' rules delete '{path}' orders", env!("CARGO_BIN_EXE_sluicegate"));
        let mut script = std::process::Command::new("script");
        script.args(["--quiet", "--return", "--command", &delete, "/dev/null"]);
        let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        script.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = script.wait_with_output().unwrap();
        assert!(stdout(&output).contains(&format!("Delete orders from {path}? [y/N] ")));
        output.status.code().unwrap()
    };
    assert_eq!(answer("\n"), 1);
    assert_eq!(answer("no\n"), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), KEPT);
    assert_eq!(answer("y\n"), 0);
    assert!(!fs::read_to_string(&path).unwrap().contains("orders"));
}

/// A pipe would be waited for; a device that ends is as good for a test.
#[cfg(unix)]
#[test]
fn only_a_regular_file_is_changed() {
    let err = "error: /dev/null: cannot be read: it is not a regular file\n";
    expect(&["rules", "put", "/dev/null", &file("regular.jsonc", KEPT)], 2, "", err);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    // The link of an earlier run goes first: what is written to it is written to its file.
    let link = file("link.jsonc", "");
    fs::remove_file(&link).unwrap();
    let path = file("private.jsonc", KEPT);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    symlink(&path, &link).unwrap();
    assert_eq!(outcome(&["rules", "delete", &link, "orders", "--yes"]).0, 0);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o604);
    assert!(!fs::read_to_string(&path).unwrap().contains("orders"));
}

#[test]
fn secrets_on_the_command_line_are_not_repeated() {
    let url = "zookeeper://user:s3cret@127.0.0.1:1/rules";
    let misspelt = "zookeper://user:s3cret@127.0.0.1:1/rules";
    let no_address = "zookeeper://user:s3cret@127.0.0.1:x/rules";
    for args in [
        &["rules", "list", url] as &[_],
        &["rules", "list", "[]", url],
        &["rules", "validate", misspelt, no_address],
        &["rules", "diff", url, misspelt],
        &["rules", "put", url, "examples/rules.jsonc"],
        &["rules", "delete", url, "login", "--yes"],
        &["check", url, "login", "k"],
        &["check", misspelt, "login", "k"],
        &["match", no_address, "--path", "/"],
        &[url],
    ] {
        let (code, out, err) = outcome(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}");
        assert!(!err.contains("s3cret") && err.contains("error"), "{args:?}: {err}");
    }
}

/// Nobody's rule is lost when several change one file at once.
#[test]
fn edits_wait_for_each_other() {
    let rules = file("shared.json", "[]");
    let put = |number: usize| {
        let rule = format!(
            r#"{{ "rule_id": "r{number}", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1 }}"#
        );
        let rule = file(&format!("shared-{number}.json"), &rule);
        command(&["rules", "put", &rules, &rule]).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..24).map(put).collect();
    assert!(children.into_iter().all(|mut child| child.wait().unwrap().success()));
    expect(&["rules", "validate", &rules], 0, &format!("{rules}: 24 rules, valid\n"), "");
}

#[test]
fn the_schema_is_printed() {
    let (code, out, _) = outcome(&["rules", "schema"]);
    assert_eq!((code, out.as_str()), (0, sluicegate::rules::schema()));
}
