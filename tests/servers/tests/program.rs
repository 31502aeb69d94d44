//! The program for runners in other languages, and that it leaves nothing behind.
#![cfg(target_os = "linux")] // Processes are looked up in /proc.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_sluicegate-test-servers");

/// The program with the line it printed, its servers in a folder of their own.
struct Running {
    child: Child,
    line: Value,
    folder: tempfile::TempDir,
}

impl Running {
    fn start(kinds: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(PROGRAM)
            .arg("start")
            .args(kinds)
            .env("TMPDIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut text = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut text)?;
        Ok(Self { child, line: serde_json::from_str(&text)?, folder })
    }

    /// The processes that still run. The command line of one that has ended, but that nobody has waited for
    /// yet, is empty.
    fn processes(&self) -> usize {
        let pids = self.line["pids"].as_array().into_iter().flatten();
        pids.filter(|pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())).count()
    }

    /// Whether all processes and folders vanish soon.
    fn vanishes(&self) -> Result<bool> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            let no_folder = self.folder.path().read_dir()?.next().is_none();
            if no_folder && self.processes() == 0 {
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(false)
    }
}

#[test]
fn all_kinds_are_described_in_one_line() -> Result<()> {
    let mut running = Running::start(&["all"])?;
    for (name, scheme) in [
        ("redis", "redis://"),
        ("tls", "rediss://"),
        ("cluster", "redis-cluster://"),
        ("sentinel", "redis-sentinel://"),
    ] {
        assert!(running.line[name].as_str().is_some_and(|url| url.starts_with(scheme)), "{}", running.line);
    }
    let hosts = running.line["zookeeper"].as_str().unwrap_or_default();
    assert_eq!(hosts.split(',').filter(|host| host.starts_with("127.0.0.1:")).count(), 3, "{hosts}");
    assert_eq!(running.processes(), 1 + 1 + 6 + 5 + 3 + 3);
    drop(running.child.stdin.take());
    assert!(running.child.wait()?.success());
    assert!(running.vanishes()?);
    Ok(())
}

#[test]
fn nothing_stays_behind_when_the_program_is_killed() -> Result<()> {
    let mut running = Running::start(&["redis", "tls", "zookeeper"])?;
    assert_eq!(running.processes(), 1 + 1 + 3);
    running.child.kill()?;
    running.child.wait()?;
    assert!(running.vanishes()?);
    Ok(())
}

#[test]
fn a_missing_server_says_what_to_install() -> Result<()> {
    for (kind, variable, packages) in [
        ("redis", "SLUICEGATE_REDIS_SERVER", "redis-server redis-sentinel"),
        ("zookeeper", "SLUICEGATE_JAVA", "zookeeper default-jre-headless"),
    ] {
        let output =
            Command::new(PROGRAM).args(["start", kind]).env(variable, "/nowhere/program").output()?;
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(&format!("apt-get install {packages}")), "{message}");
    }
    Ok(())
}

#[test]
fn other_arguments_are_refused() -> Result<()> {
    for arguments in [&[][..], &["start"], &["start", "valkey"], &["stop", "redis"]] {
        assert_eq!(Command::new(PROGRAM).args(arguments).output()?.status.code(), Some(2));
    }
    Ok(())
}
