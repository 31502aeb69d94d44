//! The command line tool, as a person or a script uses it.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

mod deciding;
mod requests;
mod rules;
mod zookeeper;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    command.args(args).current_dir(root()).env_remove("SLUICEGATE_URL");
    command
}

fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// The exit code, and what was told by and by the way.
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
