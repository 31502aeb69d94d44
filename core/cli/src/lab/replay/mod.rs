//! Requests of the past: what these rules would have denied.

mod columns;
mod combined;
mod entry;
mod format;
mod lines;
mod structured;
mod time;

use std::fs::File;
use std::io::{self, Read, stdin};
use std::path::Path;

use columns::ColumnNames;
use entry::LogEntry;
use format::Format;
use lines::Lines;
use sluicegate::Rules;
use sluicegate::internal::first_of;
use sluicegate::rules::{Algorithm, RuleId};
use sluicegate_lab::{Observer, Replay, Report};
use structured::CsvReader;

use super::args::{LabArgs, LogFormat};
use super::watch::Watch;
use crate::outcome::CommandError;
use crate::stderr::warn;

/// So many of the lines that cannot be read are shown.
const SHOWN: u64 = 3;
const SHOWN_CHARS: usize = 120;
const LINES_PER_LOOK: u64 = 4_096;

pub(super) fn replay(
    path: &Path,
    args: &LabArgs,
    rules: &Rules,
    watch: &mut Watch,
) -> Result<Report, CommandError> {
    let cannot = |error: io::Error| CommandError::Other(format!("cannot read {}: {error}", path.display()));
    let (input, size): (Box<dyn Read>, u64) = match path.to_str() {
        Some("-") => (Box::new(stdin()), 0),
        _ => {
            let file = File::open(path).map_err(cannot)?;
            let size = file.metadata().map_err(cannot)?.len();
            (Box::new(file), size)
        }
    };
    warn_of_unmatched(rules);
    let mut run = Run {
        replay: Replay::new(rules, args.compares(), args.bin, args.duration)?,
        needs_durations: needing_durations(rules, args),
        columns: ColumnNames::new(&args.columns),
        format: None,
        wanted: args.log_format,
        strict: args.strict,
        bad: 0,
    };
    let (mut lines, mut number) = (Lines::new(input), 0);
    while let Some(line) = lines.next().map_err(cannot)? {
        number += 1;
        run.line(number, line, watch)?;
        if number % LINES_PER_LOOK == 0 {
            let done = if size > 0 { lines.bytes() as f64 / size as f64 } else { 0.0 };
            if !watch.go_on(done) {
                break;
            }
        }
    }
    run.finish(watch)
}

/// A replay under way.
struct Run {
    replay: Replay,
    columns: ColumnNames,
    /// Known from the first line on.
    format: Option<Format>,
    wanted: LogFormat,
    strict: bool,
    bad: u64,
    needs_durations: Option<RuleId>,
}

/// Rules are matched to requests as in production: those that say nothing of requests apply to none.
fn warn_of_unmatched(rules: &Rules) {
    let unmatched: Vec<&str> =
        rules.iter().filter(|rule| rule.matches.is_none()).map(|rule| &*rule.id).collect();
    if !unmatched.is_empty() {
        let names = first_of(unmatched.into_iter(), 3);
        warn(format!("no request matches rules without \"match\" (add it to them): {names}"));
    }
}

/// The rule that needs to know how long requests were under way, unless the command line states it.
fn needing_durations(rules: &Rules, args: &LabArgs) -> Option<RuleId> {
    let mut limiting = rules.iter().filter(|rule| rule.algorithm == Algorithm::Concurrency);
    limiting.next().filter(|_| args.duration.is_none()).map(|rule| rule.id.clone())
}

fn without_durations(rule: &RuleId) -> CommandError {
    CommandError::Other(format!(
        "cannot replay the log: rule \"{rule}\" limits how many requests are under way, and the log does not tell how long \
         they were (pass --duration 200ms, or name its column with --columns duration=NAME)"
    ))
}

impl Run {
    fn line(&mut self, number: u64, line: lines::LogLine<'_>, watch: &mut Watch) -> Result<(), CommandError> {
        let text = match line {
            lines::LogLine::Whole(bytes) => String::from_utf8_lossy(bytes),
            lines::LogLine::TooLong => return self.refuse(number, "", "it is longer than 1 MiB", watch),
        };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.trim().is_empty() {
            return Ok(());
        }
        let format = match &mut self.format {
            Some(format) => format,
            unknown => {
                let format = unknown.insert(Format::new(self.wanted, text, &self.columns));
                if let Some(rule) = self.needs_durations.as_ref().filter(|_| !format.has_durations()) {
                    return Err(without_durations(rule));
                }
                // The first line of CSV has the names.
                if matches!(format, Format::Csv(_)) {
                    let missing = CsvReader::missing(text, &self.columns);
                    return missing.map_or(Ok(()), |reason| Err(CommandError::Other(reason)));
                }
                format
            }
        };
        let decided = format.read(text, &self.columns).and_then(|entry: LogEntry<'_>| {
            let request = entry.request();
            self.replay
                .request(entry.at_us, entry.duration_us, &request, watch)
                .map_err(|error| error.message().to_owned())
        });
        decided.map_or_else(|reason| self.refuse(number, text, &reason, watch), |_| Ok(()))
    }

    fn refuse(
        &mut self,
        number: u64,
        text: &str,
        reason: &str,
        watch: &mut Watch,
    ) -> Result<(), CommandError> {
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        let message = format!("line {number} cannot be read: {reason}: {}", shown.escape_debug());
        if self.strict {
            return Err(CommandError::Other(message));
        }
        self.bad += 1;
        if self.bad <= SHOWN {
            watch.warn(message);
        }
        Ok(())
    }

    fn finish(self, watch: &mut Watch) -> Result<Report, CommandError> {
        if self.bad > 0 {
            let (lines, requests) = (if self.bad == 1 { "line" } else { "lines" }, self.replay.requests());
            watch.warn(format!("{} {lines} could not be read; {requests} requests could", self.bad));
        }
        let report = self.replay.finish(watch.is_stopped());
        let late = report.requests.map_or(0, |requests| requests.late);
        if late > 0 {
            watch.warn(format!(
                "{late} requests are logged after later ones, and taken to have come with them"
            ));
        }
        Ok(report)
    }
}
