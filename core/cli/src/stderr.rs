//! What goes to standard error: errors and warnings, never a password.

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use log::{Level, LevelFilter, Log, Metadata, Record};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// The command line. In a process that is not the tool's own, the system's is the host's.
static ARGUMENTS: OnceLock<Vec<String>> = OnceLock::new();

pub(crate) fn set_arguments(arguments: &[OsString]) {
    // Once, before anything is printed.
    let _ = ARGUMENTS.set(arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect());
}

fn arguments() -> &'static [String] {
    ARGUMENTS.get().map_or(&[], Vec::as_slice)
}

pub(crate) fn complain(what: impl fmt::Display) {
    tell(ERROR, "error", &what);
}

pub(crate) fn warn(what: impl fmt::Display) {
    tell(WARNING, "warning", &what);
}

/// A text of clap's, which repeats arguments.
pub(crate) fn usage(text: &str) {
    // Where nothing can be written, the exit code still reports it.
    let _ = write!(anstream::stderr(), "{}", with_printable_arguments(&without_logins(text)));
}

fn tell(style: Style, word: &str, what: &dyn fmt::Display) {
    let what = printable(&without_logins(&what.to_string()));
    // As above.
    let _ = writeln!(anstream::stderr(), "{style}{word}{style:#}: {what}");
}

/// The text without the user and password of any URL on the command line, also of one that is misspelt and so
/// is taken for something else.
fn without_logins(text: &str) -> String {
    let mut text = text.to_owned();
    for argument in arguments() {
        if let Some(login) = login(argument) {
            text = text.replace(login, "***");
        }
    }
    text
}

/// The text without what a terminal would obey, which names of files and rules may hold.
pub(crate) fn printable(text: &str) -> String {
    let is_obeyed = |c: char| c.is_control() || !c.is_ascii() && c.escape_debug().len() > 1;
    text.chars().fold(String::new(), |mut shown, c| {
        if is_obeyed(c) {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
        shown
    })
}

/// A text of clap's, which has styles of its own: only what it repeats is made printable.
fn with_printable_arguments(text: &str) -> String {
    arguments().iter().fold(text.to_owned(), |text, argument| match printable(argument) {
        shown if shown == *argument => text,
        shown => text.replace(argument, &shown),
    })
}

fn login(argument: &str) -> Option<&str> {
    let (_, rest) = argument.split_once("://")?;
    let (login, _) = rest.rsplit_once('@')?;
    Some(login).filter(|login| !login.is_empty())
}

/// The library's warnings, such as of rules that were refused while they are followed.
struct Warnings;

/// Shows warnings from now on. A source that cannot be followed at all is an error.
pub(crate) fn show_warnings() {
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("sluicegate")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            warn(record.args());
        }
    }

    fn flush(&self) {}
}
