//! What is logged, as the host is given it.

use ::log::{Level, Record};

use crate::events::TARGET;

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Whether it is a warning; else it tells that something has changed.
    pub is_warning: bool,
    /// Whether it is of use for debugging only.
    pub is_debug: bool,
    /// The name of the event, such as `breaker_open`; `warning` for others.
    pub event: String,
    /// One line.
    pub message: String,
}

impl LogLine {
    pub(super) fn of(record: &Record<'_>) -> Self {
        let event = record.metadata().target().strip_prefix(TARGET).unwrap_or("warning");
        let is_warning = record.level() <= Level::Warn;
        let is_debug = record.level() > Level::Info;
        Self { is_warning, is_debug, event: event.to_owned(), message: record.args().to_string() }
    }
}
