//! One process that is read again and again.

use std::time::{Duration, Instant};

use super::counts::Counts;
use super::http::{Target, get};

/// How long a process may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Process<'a> {
    target: &'a Target,
    before: Option<(Instant, Counts)>,
    now: Option<(Instant, Counts)>,
    /// Why the last read failed.
    pub(super) failure: Option<String>,
}

/// What a process counted between two reads.
#[derive(Debug)]
pub(super) struct Interval<'a> {
    pub(super) before: &'a Counts,
    pub(super) now: &'a Counts,
    pub(super) seconds: f64,
}

impl<'a> Process<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        Self { target, before: None, now: None, failure: None }
    }

    pub(super) fn url(&self) -> &str {
        &self.target.url
    }

    /// Reads it once more. After a read that failed, the next interval begins with the last one that did not.
    pub(super) fn read(&mut self) {
        let read = get(self.target, TIMEOUT);
        let counts = read.and_then(|text| {
            Counts::read(&text).ok_or_else(|| "no metric there begins with sluicegate_".to_owned())
        });
        match counts {
            Ok(counts) => {
                self.before = self.now.replace((Instant::now(), counts));
                self.failure = None;
            }
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The regions that it served at the last read that did not fail.
    pub(super) fn regions(&self) -> impl Iterator<Item = &str> {
        self.now.iter().flat_map(|(_, counts)| counts.regions.iter().map(String::as_str))
    }

    /// That between its last two reads, if the last one did not fail.
    pub(super) fn interval(&self) -> Option<Interval<'_>> {
        let ((began, before), (ended, now)) = (self.before.as_ref()?, self.now.as_ref()?);
        let seconds = ended.duration_since(*began).as_secs_f64();
        self.failure.is_none().then_some(Interval { before, now, seconds })
    }
}
