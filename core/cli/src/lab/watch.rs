//! What happens during a run besides it: records, progress, Ctrl-C, and the passing of real time.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use sluicegate_lab::{Observer, Record};

use super::decisions::Decisions;
use super::progress::ProgressBar;
use super::record::Recorder;
use crate::outcome::CommandError;
use crate::stderr::warn;

/// How soon Ctrl-C ends a wait.
const NAP: Duration = Duration::from_millis(50);

pub(super) struct Watch {
    stop: Arc<AtomicBool>,
    progress: ProgressBar,
    began: Option<Instant>,
    in_real_time: bool,
    pub(super) decisions: Option<Decisions>,
    pub(super) recorder: Option<Recorder>,
    /// What went wrong while decisions were written; it ends the run.
    failure: Option<CommandError>,
}

impl Watch {
    /// From now on the first Ctrl-C ends the run, and the second one the program.
    pub(super) fn new(in_real_time: bool) -> Result<Self, CommandError> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let at_once = flag::register_conditional_shutdown(signal, 130, stop.clone());
            let cannot = |error| CommandError::Other(format!("cannot listen for Ctrl-C: {error}"));
            at_once.and_then(|_| flag::register(signal, stop.clone())).map_err(cannot)?;
        }
        Ok(Self {
            stop,
            progress: ProgressBar::default(),
            began: None,
            in_real_time,
            decisions: None,
            recorder: None,
            failure: None,
        })
    }

    /// Warns on a line of its own: not behind the progress bar.
    pub(super) fn warn(&mut self, message: impl Display) {
        self.progress.clear();
        warn(message);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Writes what is left, and returns the first error.
    pub(super) fn finish(&mut self) -> Result<(), CommandError> {
        self.progress.clear();
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some(decisions) = &mut self.decisions {
            decisions.finish()?;
        }
        self.recorder.as_mut().map_or(Ok(()), Recorder::finish)
    }

    fn write(&mut self, record: &Record<'_>) -> Result<(), CommandError> {
        if let Some(decisions) = &mut self.decisions {
            decisions.add(record)?;
        }
        if let Some(recorder) = self.recorder.as_mut().filter(|_| record.admitted) {
            recorder.add(record)?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn decided(&mut self, record: &Record<'_>) {
        if (self.decisions.is_some() || self.recorder.is_some()) && self.failure.is_none() {
            self.failure = self.write(record).err();
        }
    }

    fn wait_until(&mut self, at_us: u64) -> u64 {
        if !self.in_real_time {
            return at_us;
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        let due = Duration::from_micros(at_us);
        while let Some(left) = due.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            if self.is_stopped() {
                break;
            }
            thread::sleep(left.min(NAP));
            self.progress.show_elapsed(began.elapsed());
        }
        began.elapsed().as_micros() as u64
    }

    fn go_on(&mut self, done: f64) -> bool {
        self.progress.show(done);
        !self.is_stopped() && self.failure.is_none()
    }
}
