//! A progress bar, on a terminal only.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Runs that take no longer show none.
const DELAY: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(100);
const WIDTH: usize = 40;

#[derive(Debug)]
pub(super) struct ProgressBar {
    began: Instant,
    shown: Option<Instant>,
    done: f64,
    is_terminal: bool,
}

impl Default for ProgressBar {
    fn default() -> Self {
        Self { began: Instant::now(), shown: None, done: 0.0, is_terminal: stderr().is_terminal() }
    }
}

impl ProgressBar {
    /// Shows how much of the whole is done, from 0 to 1.
    pub(super) fn show(&mut self, done: f64) {
        self.done = done;
        self.show_elapsed(self.began.elapsed());
    }

    /// Shows that time passes.
    pub(super) fn show_elapsed(&mut self, elapsed: Duration) {
        let recently = self.shown.is_some_and(|shown| shown.elapsed() < EVERY);
        if !self.is_terminal || elapsed < DELAY || recently {
            return;
        }
        self.shown = Some(Instant::now());
        // Where nothing can be written, the run goes on.
        let _ = write!(stderr(), "\r{}\x1b[K", bar(self.done, elapsed));
    }

    pub(super) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn bar(done: f64, elapsed: Duration) -> String {
    let done = done.clamp(0.0, 1.0);
    let full = (done * WIDTH as f64) as usize;
    let left = match done > 0.001 {
        true => format!("  {} s left", (elapsed.as_secs_f64() * (1.0 - done) / done).ceil()),
        false => String::new(),
    };
    format!("[{}{}] {:3.0} %{left}", "#".repeat(full), ".".repeat(WIDTH - full), done * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_how_long_it_will_take() {
        let quarter = bar(0.25, Duration::from_secs(10));
        assert_eq!(quarter, format!("[{}{}]  25 %  30 s left", "#".repeat(10), ".".repeat(30)));
        assert!(bar(0.0, Duration::from_secs(1)).ends_with("]   0 %"));
    }
}
