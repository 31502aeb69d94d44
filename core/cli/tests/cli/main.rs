//! The command line tool, as a person or a script uses it.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

mod acl;
mod deciding;
mod doctor;
mod lab;
mod overview;
mod requests;
mod rules;
mod top;
mod zookeeper;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    command
        .args(args)
        .current_dir(root())
        .env_remove("SLUICEGATE_URL")
        .env_remove("SLUICEGATE_ZOOKEEPER_LOGIN");
    command
}

fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// The exit code, standard output and standard error.
fn outcome(args: &[&str]) -> (i32, String, String) {
    let output = run(args);
    (output.status.code().unwrap(), stdout(&output), stderr(&output))
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

/// A new file of this test's own.
fn file(name: &str, text: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What no terminal is to be sent: C0 but for the end of a line, DEL, C1, ends of lines by other names, and what turns
/// text around.
fn obeyed(text: &str) -> Vec<char> {
    let is_obeyed = |c: &char| {
        *c != '\n' && c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().filter(is_obeyed).collect()
}

/// Where it is seen by nobody who lists processes.
#[test]
fn the_url_may_come_from_the_environment() {
    let rule = file(
        "environment.json",
        r#"[{"rule_id": "r", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60}]"#,
    );
    let output =
        command(&["check", &rule, "r", "k"]).env("SLUICEGATE_URL", "nowhere://u:s3cret@h").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the backend's URL") && !stderr(&output).contains("s3cret"));
}

/// Text of clients and of those who write rules is shown, and not obeyed.
#[test]
fn no_control_character_reaches_the_terminal() {
    const EVIL: &str = "x\u{1b}[2J\u{7f}\u{85}\u{9b}31m\u{2028}\u{202e}\u{2066}y";
    let rule = |limit: u64| {
        serde_json::json!([{
            "rule_id": "r", "algorithm": "gcra", "limit": limit, "window_size_seconds": 60, "description": EVIL,
            "identifier_type": "api_key",
            "match": { "path_pattern": format!("/{EVIL}/*"), "required_headers": { "x-a": EVIL } }
        }])
    };
    let rules = file("evil.json", &rule(5).to_string());
    let other = file("evil-other.json", &rule(6).to_string().replace('x', "z"));
    let unfit = file("evil-unfit.json", &serde_json::json!([{ EVIL: EVIL }]).to_string());
    let header = format!("x-a: {EVIL}");
    let path = format!("/{EVIL}/7");
    let request = ["--path", &path, "--header", &header, "--api-key", EVIL];
    let commands: Vec<Vec<&str>> = vec![
        vec!["check", &rules, "r", EVIL],
        vec!["check", &rules, "r", EVIL, "--json"],
        vec!["check", &rules, EVIL, "k"],
        vec!["check", &rules, "r", "k", "--cost", EVIL],
        vec!["check", &rules, "r", "k", "--url", EVIL],
        vec!["check", EVIL, "r", "k"],
        vec!["reset", &rules, "r", EVIL],
        vec!["reset", &rules, "r", EVIL, "--json"],
        [&["match", &rules][..], &request].concat(),
        [&["match", &rules, "--explain"][..], &request].concat(),
        [&["match", &other, "--explain", "--json"][..], &request].concat(),
        [&["check-request", &rules, "--json"][..], &request].concat(),
        [&["check-request", &rules, "--method", EVIL][..], &request].concat(),
        vec!["rules", "list", &rules],
        vec!["rules", "list", &rules, "--json"],
        vec!["rules", "diff", &rules, &other],
        vec!["rules", "diff", &rules, &other, "--json"],
        vec!["rules", "validate", &unfit],
        vec!["rules", "delete", &rules, EVIL, "--yes"],
    ];
    for arguments in commands {
        let (_, out, err) = outcome(&arguments);
        assert!(!out.is_empty() || !err.is_empty(), "{arguments:?}");
        assert!(obeyed(&(out + &err)).is_empty(), "{arguments:?}");
    }
}
