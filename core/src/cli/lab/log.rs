//! How a log is described on the command line.

use clap::ValueEnum;

/// What a request is made of, besides its headers.
pub(super) const NAMES: [&str; 7] = ["time", "method", "path", "ip", "user", "api_key", "duration"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// By the first line
    Auto,
    /// The combined (or common) log format of web servers
    Combined,
    /// One JSON object per line
    Json,
    /// Comma-separated, with a line of names first
    Csv,
}
