//! The programs on this machine.

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::{Error, Result};

/// What brings the Redis programs.
pub(crate) const REDIS_PACKAGES: &str = "redis-server redis-sentinel";

/// What brings ZooKeeper.
pub(crate) const ZOOKEEPER_PACKAGES: &str = "zookeeper default-jre-headless";

/// Where Debian has ZooKeeper; its manifest names the libraries it needs.
const ZOOKEEPER_JAR: &str = "/usr/share/java/zookeeper.jar";
/// Writes ZooKeeper's log to standard error; without it there would be none.
const LOGGER_JAR: &str = "/usr/share/java/slf4j-simple.jar";
/// Needed for TLS, and missing from the manifest.
const TLS_JAR: &str = "/usr/share/java/netty-codec.jar";

/// A command that runs `redis-server`.
pub(crate) fn redis_server() -> Command {
    command("SLUICEGATE_REDIS_SERVER", "redis-server")
}

/// A command that runs `redis-cli`.
pub(crate) fn redis_cli() -> Command {
    command("SLUICEGATE_REDIS_CLI", "redis-cli")
}

/// A command that runs Java with the classes of ZooKeeper.
pub(crate) fn zookeeper() -> Result<Command> {
    let class_path = match env::var_os("SLUICEGATE_ZOOKEEPER_CLASSPATH") {
        Some(class_path) => class_path,
        None if Path::new(ZOOKEEPER_JAR).exists() => [ZOOKEEPER_JAR, LOGGER_JAR, TLS_JAR].join(":").into(),
        None => return Err(missing(ZOOKEEPER_JAR, ZOOKEEPER_PACKAGES)),
    };
    let mut command = command("SLUICEGATE_JAVA", "java");
    command.arg("-cp").arg(class_path);
    Ok(command)
}

/// Why a program did not start, and what to do about it.
pub(crate) fn not_started(command: &Command, error: &std::io::Error, packages: &str) -> Error {
    let program = command.get_program().to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => missing(&program, packages),
        _ => Error::new(format!("{program}: {error}")),
    }
}

fn missing(program: &str, packages: &str) -> Error {
    Error::new(format!(
        "{program} is not installed, and the tests need real servers: apt-get install {packages}"
    ))
}

/// Whether the server has the setting `enable-debug-command` (since Redis 7; before, DEBUG was always allowed).
pub(crate) fn guards_debug_command() -> Result<bool> {
    static MAJOR: OnceLock<u32> = OnceLock::new();
    if let Some(major) = MAJOR.get() {
        return Ok(*major >= 7);
    }
    let major = major_version()?;
    Ok(*MAJOR.get_or_init(|| major) >= 7)
}

/// The first number after `v=` in, for example, `Redis server v=7.0.15 sha=...`.
fn major_version() -> Result<u32> {
    let mut command = redis_server();
    let output =
        command.arg("--version").output().map_err(|error| not_started(&command, &error, REDIS_PACKAGES))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_once("v=")
        .and_then(|(_, version)| version.split('.').next()?.parse().ok())
        .ok_or_else(|| Error::new(format!("redis-server --version answered: {text}")))
}

fn command(variable: &str, default: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| OsString::from(default)))
}
