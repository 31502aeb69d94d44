//! Rules that ZooKeeper keeps.

use sluicegate_test_servers::{Transport, ZooKeeper};

use crate::{command, file, outcome, stderr, stdout};

fn rule(id: &str, limit: u64) -> String {
    let rest = r#""algorithm": "fixed_window", "window_size_seconds": 3600"#;
    format!("{{\"rule_id\": \"{id}\", \"limit\": {limit}, {rest}}}")
}

/// What `sluicegate rules` answers.
fn rules(args: &[&str]) -> (i32, String, String) {
    outcome(&[&["rules"], args].concat())
}

fn ok(out: impl Into<String>) -> (i32, String, String) {
    (0, out.into(), String::new())
}

#[test]
fn rules_in_zookeeper_are_put_used_and_deleted() {
    let zookeeper = ZooKeeper::start().unwrap();
    let source = format!("zookeeper://{}/config/rules", zookeeper.hosts());
    let (code, _, err) = rules(&["list", &source]);
    assert!(code == 2 && err.contains("the znode does not exist"), "{err}");

    let first = file("first.json", &format!("[{},\n    {} // two\n]", rule("a", 1), rule("team/b", 2)));
    let added = "added    a  fixed_window, 1 in 1h\nadded    team/b  fixed_window, 2 in 1h\n";
    let (code, out, err) = rules(&["put", &source, &first]);
    assert_eq!((code, out.as_str()), (0, added));
    let warned: Vec<_> = err.lines().collect();
    assert_eq!(warned.len(), 2, "{err}");
    for (line, node) in warned.iter().zip(["/config/rules/a", "/config/rules/team%2Fb"]) {
        let warning = format!("warning: {source}: {node} was made without a login, so anybody may change it");
        assert!(line.starts_with(&warning), "{line}");
    }
    let stored = zookeeper.admin().get("/config/rules/team%2Fb").unwrap();
    assert_eq!(stored, Some(rule("team/b", 2).into_bytes()));
    assert_eq!(rules(&["diff", &source, &first]), ok(""));
    let changed = "changed  a\n         limit: 1 -> 5\n";
    assert_eq!(rules(&["put", &source, &file("a.json", &rule("a", 5))]), ok(changed));

    assert_eq!(outcome(&["check", &source, "a", "k", "--times", "5"]).0, 0);
    assert_eq!(outcome(&["check", &source, "team/b", "k", "--cost", "3"]).0, 1);
    assert_eq!(outcome(&["match", &source, "--path", "/"]), ok("no rule applies\n"));

    assert_eq!(
        rules(&["delete", &source, "team/b", "--yes"]),
        ok(format!("deleted  team/b from {source}\n"))
    );
    let (code, _, err) = rules(&["delete", &source, "team/b", "--yes"]);
    assert!(code == 2 && err.contains("no rule is called \"team/b\""), "{err}");
    assert_eq!(rules(&["validate", &source]), ok(format!("{source}: 1 rule, valid\n")));
}

#[test]
fn refused_znodes_are_named() {
    let zookeeper = ZooKeeper::start().unwrap();
    let source = format!("zookeeper://{}/rules", zookeeper.hosts());
    zookeeper.admin().create("/rules/a", rule("a", 1)).unwrap();
    zookeeper.admin().create("/rules/bad", "garbage").unwrap();

    let (code, out, err) = rules(&["validate", &source, "[]"]);
    assert_eq!((code, out), (2, format!("{source}: 1 rule valid, 1 refused\nfixed: 0 rules, valid\n")));
    assert!(err.starts_with(&format!("error: {source}/bad: not valid JSON")), "{err}");
    let (code, out, _) = rules(&["list", &source]);
    assert!(code == 0 && out.contains("\nrefused  bad: not valid JSON"), "{out}");
    assert_eq!(rules(&["diff", &source, &source]).0, 2);
    let (code, _, err) = outcome(&["check", &source, "a", "k"]);
    assert!(code == 0 && err.starts_with(&format!("warning: {source}/bad: ")), "{err}");

    let huge = rule("huge", 1).replace('{', &format!("{{\"description\": \"{}\", ", "x".repeat(100_000)));
    let (code, _, err) = rules(&["put", &source, &file("huge.json", &huge)]);
    assert!(code == 2 && err.contains("rule \"huge\": it has 1"), "{err}");
    assert_eq!(rules(&["delete", &source, "bad", "--yes"]), ok(format!("deleted  bad from {source}\n")));
    assert_eq!(rules(&["validate", &source]).0, 0);
}

#[test]
fn a_login_opens_what_it_protects_and_is_not_printed() {
    let zookeeper = ZooKeeper::start().unwrap();
    let plain = format!("zookeeper://{}/secret", zookeeper.hosts());
    let source = plain.replace("://", "://user:s3cret@");
    let path = file("secret.json", &rule("a", 1));
    let (code, out, err) = outcome(&["rules", "put", &source, &path]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "added    a  fixed_window, 1 in 1h\n", ""));
    let validated = outcome(&["rules", "validate", &source]);
    assert_eq!(validated, (0, format!("{plain}: 1 rule, valid\n"), String::new()));
    assert_eq!(outcome(&["rules", "list", &plain]).0, 2);
    let wrong = plain.replace("://", "://user:wr0ng@");
    for args in [&["rules", "put", &wrong, &path], &["rules", "delete", &wrong, "a"] as &[_]] {
        let (code, out, err) = outcome(args);
        assert!(code == 2 && out.is_empty() && !err.contains("wr0ng"), "{err}");
    }
    // Where nobody sees it who lists processes.
    let login = file("zookeeper-login", "user:s3cret\n");
    let validated = format!("{plain}: 1 rule, valid\n");
    for (variable, value) in
        [("SLUICEGATE_ZOOKEEPER_LOGIN", "user:s3cret"), ("SLUICEGATE_ZOOKEEPER_LOGIN_FILE", login.as_str())]
    {
        let output = command(&["rules", "validate", &plain]).env(variable, value).output().unwrap();
        assert_eq!((stdout(&output), stderr(&output)), (validated.clone(), String::new()), "{variable}");
    }
}

#[test]
fn a_login_warns_of_znodes_that_were_made_without_one() {
    let zookeeper = ZooKeeper::start().unwrap();
    let open = format!("zookeeper://{}/open/rules", zookeeper.hosts());
    let with_login = open.replace("://", "://user:s3cret@");
    assert_eq!(rules(&["put", &open, &file("open.json", &rule("a", 1))]).0, 0);

    let folder = format!(
        "warning: {open}: /open/rules was made without a login, so anybody may add and delete rules \
         (restrict it with setAcl of ZooKeeper's client)\n"
    );
    let node = format!(
        "warning: {open}: /open/rules/a was made without a login, so anybody may change it \
         (delete it and put it again)\n"
    );
    let (code, _, err) = rules(&["put", &with_login, &file("changed.json", &rule("a", 2))]);
    assert_eq!((code, err), (0, format!("{node}{folder}")));
    let (code, _, err) = rules(&["put", &with_login, &file("new.json", &rule("b", 1))]);
    assert_eq!((code, err.as_str()), (0, folder.as_str()));

    // As the warning says.
    assert_eq!(rules(&["delete", &with_login, "a", "--yes"]).0, 0);
    let (code, _, err) = rules(&["put", &with_login, &file("again.json", &rule("a", 3))]);
    assert_eq!((code, err), (0, folder));
    let (code, _, err) = rules(&["put", &open, &file("foreign.json", &rule("a", 9))]);
    assert!(code == 2 && err.contains("not authorized"), "{err}");
}

#[test]
fn rules_are_put_and_used_by_tls() {
    let zookeeper = ZooKeeper::with(Transport::Tls).unwrap();
    let source = format!("zookeepers://{}/rules", zookeeper.secure_hosts());
    let ca = zookeeper.certificates().unwrap().ca_pem();
    let path = file("by-tls.json", &rule("a", 5));
    for args in [&["rules", "put", &source, &path], &["check", &source, "a", "k"] as &[_]] {
        assert_eq!(outcome(args).0, 2, "nobody said whom to trust");
        let output = command(args).env("SLUICEGATE_TLS_CA", &ca).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(outcome(&["check", &source, "a", "k", "--tls-ca", ca.to_str().unwrap()]).0, 0);
}
