//! Warnings for hosts that have no log of Rust's.

use std::env;
use std::io::{Write, stderr};
use std::sync::Arc;
use std::time::Duration;

use ::log::{Level, LevelFilter, Log, Metadata, Record};
use arc_swap::ArcSwapOption;
use once_cell::race::OnceBox;

use super::line::LogLine;
use super::outbox::Outbox;
use crate::events::TARGET;
use crate::sync::fork::PerProcess;

/// What silences standard error.
const VARIABLE: &str = "SLUICEGATE_LOG";

/// What the host has for events. It is called on the thread that tells of one, so on any.
pub type LogSink = Box<dyn Fn(&LogLine) + Send + Sync>;

/// Where warnings go instead of to standard error.
static SINK: ArcSwapOption<LogSink> = ArcSwapOption::const_empty();

/// The warnings that a thread writes.
static OUTBOX: OnceBox<PerProcess<Arc<Outbox>>> = OnceBox::new();

struct HostLog;

impl Log for HostLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Of what is for debugging, events only.
        let wanted = if metadata.level() > Level::Info { TARGET } else { "sluicegate" };
        metadata.target().starts_with(wanted)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let line = LogLine::of(record);
        match &*SINK.load() {
            Some(sink) => sink(&line),
            None => to_stderr(&line),
        }
    }

    fn flush(&self) {}
}

/// Writes a warning.
fn to_stderr(line: &LogLine) {
    if line.is_warning && env::var_os(VARIABLE).is_none_or(|wish| wish != "off") {
        // At once, as other processes may write there too. Where nothing can be written, nobody reads.
        let _ = stderr().write_all(format!("sluicegate: {}\n", line.message).as_bytes());
    }
}

/// Hands events, such as that rules were refused, to the host. Without a sink, warnings among them are written to standard
/// error, unless the environment variable `SLUICEGATE_LOG` is `off`. Has no effect where the host has a logger of Rust's.
pub fn log_to(sink: Option<LogSink>) {
    if ::log::set_logger(&HostLog).is_ok() {
        ::log::set_max_level(LevelFilter::Debug);
    }
    SINK.store(sink.map(Arc::new));
}

/// The same with a function that may wait for what the thread holds that warns, such as the lock of an interpreter: a thread
/// of its own calls it, which ends when there is nothing to write.
pub fn log_in_background(write: fn(&LogLine)) {
    OUTBOX.get_or_init(|| Box::new(PerProcess::new(Arc::new(Outbox::new(write)))));
    log_to(Some(Box::new(|line| {
        if !outbox().is_some_and(|outbox| outbox.put(line)) {
            to_stderr(line);
        }
    })));
}

/// Waits until the warnings so far are written, for so long at most. Later ones go to standard error.
pub fn end_background_log(timeout: Duration) {
    if let Some(outbox) = outbox() {
        outbox.close(timeout);
    }
}

/// That of this process: a forked child lacks the thread.
fn outbox() -> Option<&'static Arc<Outbox>> {
    Some(OUTBOX.get()?.get(|parents| Arc::new(parents.empty())))
}
