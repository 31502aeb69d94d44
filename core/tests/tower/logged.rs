//! What is logged by all that runs in this program.

use std::sync::{Mutex, Once};

use log::{LevelFilter, Log, Metadata, Record};

struct Lines(Mutex<Vec<String>>);

static LINES: Lines = Lines(Mutex::new(Vec::new()));
static BEGUN: Once = Once::new();

impl Log for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        self.0.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

/// From now on every line is kept, with its level in front.
pub(crate) fn keep_lines() {
    BEGUN.call_once(|| {
        log::set_logger(&LINES).unwrap();
        log::set_max_level(LevelFilter::Debug);
    });
}

/// The errors and warnings so far in which this stands.
pub(crate) fn faults_with(text: &str) -> Vec<String> {
    lines_with(text)
        .into_iter()
        .filter(|line| line.starts_with("ERROR ") || line.starts_with("WARN "))
        .collect()
}

/// The lines so far in which this stands.
pub(crate) fn lines_with(text: &str) -> Vec<String> {
    LINES.0.lock().unwrap().iter().filter(|line| line.contains(text)).cloned().collect()
}
