//! A log handler may ask which rules are in force.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::RateLimiter;
use sluicegate::sources::{FileSource, RulesStatus};

/// Asks for the status with every line.
struct Asking;

static LIMITER: OnceLock<RateLimiter> = OnceLock::new();
static STATUSES: Mutex<Option<Sender<RulesStatus>>> = Mutex::new(None);

impl Log for Asking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, _: &Record<'_>) {
        if let (Some(limiter), Some(sender)) = (LIMITER.get(), &*STATUSES.lock().unwrap()) {
            sender.send(limiter.rules_status()).unwrap();
        }
    }

    fn flush(&self) {}
}

#[test]
fn the_status_can_be_read_while_the_log_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.json");
    fs::write(&path, "[]").unwrap();
    LIMITER.set(RateLimiter::builder("memory://").rules(FileSource::new(&path)).build().unwrap()).unwrap();
    let (sender, statuses) = channel();
    *STATUSES.lock().unwrap() = Some(sender);
    log::set_logger(&Asking).unwrap();
    log::set_max_level(LevelFilter::Warn);

    fs::write(&path, "garbage").unwrap();
    let status = statuses.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!((status.refusals, status.refused.len(), status.rules), (1, 1, 0));
}
