//! What is measured of a client, and the tables of it.

use std::time::{Duration, Instant};

use super::{Call, LATENCY_TARGET, PROCESSOR_TARGET};
use crate::samples::{Samples, percentile, verdict};
use crate::table::Table;
use crate::time::processor_time;

/// One round of one contender.
pub(super) struct Round {
    p50: f64,
    p99: f64,
    per_second: f64,
    processor: f64,
}

impl Round {
    /// From the microseconds of calls made alone, and what many at once took in all.
    pub(super) fn new(mut alone: Vec<f64>, together: Effort, calls: usize) -> Self {
        alone.sort_by(f64::total_cmp);
        let calls = calls as f64;
        Self {
            p50: percentile(&alone, 0.5),
            p99: percentile(&alone, 0.99),
            per_second: calls / together.elapsed.as_secs_f64(),
            processor: together.processor.as_secs_f64() * 1e6 / calls,
        }
    }
}

/// Time and processor time of this process.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    elapsed: Duration,
    processor: Duration,
}

/// Measures from when it is made.
pub(super) struct Stopwatch {
    start: Instant,
    processor: Duration,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { start: Instant::now(), processor: processor_time() }
    }

    pub(super) fn stop(self) -> Effort {
        Effort { elapsed: self.start.elapsed(), processor: processor_time() - self.processor }
    }
}

#[derive(Default)]
struct Row {
    name: &'static str,
    p50: Samples,
    p99: Samples,
    per_second: Samples,
    processor: Samples,
}

/// All rounds of all contenders.
pub(super) struct Measured(Vec<Row>);

impl Measured {
    pub(super) fn new(contenders: &[(&'static str, Call)]) -> Self {
        Self(contenders.iter().map(|&(name, _)| Row { name, ..Row::default() }).collect())
    }

    pub(super) fn push(&mut self, contender: usize, round: Round) {
        let row = &mut self.0[contender];
        row.p50.push(round.p50);
        row.p99.push(round.p99);
        row.per_second.push(round.per_second);
        row.processor.push(round.processor);
    }

    pub(super) fn table(&self) -> Table {
        let columns =
            ["", "p50", "ratio", "target", "p99", "64: calls/s", "64: client us per call", "ratio", "target"];
        let mut table = Table::new(&columns);
        let [.., same_script, check] = self.0.as_slice() else { return table };
        for row in &self.0 {
            let latency = row.p50.over(&same_script.p50);
            let processor = row.processor.over(&same_script.processor);
            let judged = |ratio: &Samples, target| {
                if row.name == check.name { verdict(ratio.median(), target) } else { String::new() }
            };
            table.row([
                row.name.to_owned(),
                format!("{:.1}", row.p50),
                latency.to_string(),
                judged(&latency, LATENCY_TARGET),
                format!("{:.1}", row.p99),
                format!("{:.0}", row.per_second),
                row.processor.to_string(),
                processor.to_string(),
                judged(&processor, PROCESSOR_TARGET),
            ]);
        }
        table
    }
}
