//! Warnings for hosts that have no log of Rust's.

use std::env;
use std::io::{Write, stderr};

use ::log::{LevelFilter, Log, Metadata, Record};

/// What silences it.
const VARIABLE: &str = "SLUICEGATE_LOG";

struct StandardError;

impl Log for StandardError {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sluicegate")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = format!("sluicegate: {}\n", record.args());
            // At once, as other processes may write there too. Where nothing can be written, nobody reads.
            let _ = stderr().write_all(line.as_bytes());
        }
    }

    fn flush(&self) {}
}

/// Writes warnings, such as those of rules that were refused, to standard error, unless the environment
/// variable `SLUICEGATE_LOG` is `off` or the host has a logger.
pub fn log_to_stderr() {
    if env::var_os(VARIABLE).is_none_or(|wish| wish != "off") && ::log::set_logger(&StandardError).is_ok() {
        ::log::set_max_level(LevelFilter::Warn);
    }
}
