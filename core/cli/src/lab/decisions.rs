//! Every decision, in a file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use sluicegate_lab::Record;

use super::args::DecisionFormat;
use super::folder::{OutputFolder, cannot_write, quoted};
use crate::outcome::CommandError;

const HEADER: &str = "time_us,rule,key,resource,cost,admitted,remaining,retry_after_us";

pub(super) struct Decisions {
    path: PathBuf,
    file: BufWriter<File>,
    format: DecisionFormat,
}

impl Decisions {
    pub(super) fn create(folder: &OutputFolder, format: DecisionFormat) -> Result<Self, CommandError> {
        let name = match format {
            DecisionFormat::Csv => "decisions.csv",
            DecisionFormat::Json => "decisions.jsonl",
        };
        let path = folder.file(name);
        let file = File::create(&path).map_err(|error| cannot_write(&path, &error))?;
        let mut decisions = Self { path, file: BufWriter::new(file), format };
        if format == DecisionFormat::Csv {
            decisions.line(HEADER)?;
        }
        Ok(decisions)
    }

    pub(super) fn add(&mut self, record: &Record<'_>) -> Result<(), CommandError> {
        let &Record { at_us, rule, key, resource, cost, admitted, remaining, .. } = record;
        let wait = (record.retry_after != Duration::MAX).then_some(record.retry_after.as_micros() as u64);
        let line = match self.format {
            DecisionFormat::Csv => {
                let (key, resource) = (quoted(key), quoted(resource.unwrap_or_default()));
                let wait = wait.map(|us| us.to_string()).unwrap_or_default();
                format!("{at_us},{rule},{key},{resource},{cost},{admitted},{remaining},{wait}")
            }
            DecisionFormat::Json => json!({
                "time_us": at_us, "rule": rule, "key": key, "resource": resource, "cost": cost,
                "admitted": admitted, "remaining": remaining, "retry_after_us": wait,
            })
            .to_string(),
        };
        self.line(&line)
    }

    fn line(&mut self, line: &str) -> Result<(), CommandError> {
        writeln!(self.file, "{line}").map_err(|error| cannot_write(&self.path, &error))
    }

    pub(super) fn finish(&mut self) -> Result<(), CommandError> {
        self.file.flush().map_err(|error| cannot_write(&self.path, &error))
    }
}
