//! The formats of logs.

use super::super::args::LogFormat;
use super::columns::ColumnNames;
use super::combined;
use super::entry::LogEntry;
use super::structured::{self, CsvReader};

/// How lines are read.
pub(super) enum Format {
    Combined,
    Json,
    Csv(Box<CsvReader>),
}

impl Format {
    /// The format of a log that begins with this line.
    pub(super) fn new(wanted: LogFormat, first: &str, columns: &ColumnNames) -> Self {
        match wanted {
            LogFormat::Auto if first.trim_start().starts_with('{') => Self::Json,
            LogFormat::Auto
                if combined::read(first).is_err() && CsvReader::new(first, columns).is_usable() =>
            {
                Self::Csv(Box::new(CsvReader::new(first, columns)))
            }
            LogFormat::Auto | LogFormat::Combined => Self::Combined,
            LogFormat::Json => Self::Json,
            LogFormat::Csv => Self::Csv(Box::new(CsvReader::new(first, columns))),
        }
    }

    /// Whether lines may tell how long requests were under way.
    pub(super) fn has_durations(&self) -> bool {
        match self {
            Self::Combined => false,
            Self::Json => true,
            Self::Csv(reader) => reader.has_durations(),
        }
    }

    /// The request of a line, or why there is none.
    pub(super) fn read<'a>(
        &'a mut self,
        line: &'a str,
        columns: &'a ColumnNames,
    ) -> Result<LogEntry<'a>, String> {
        match self {
            Self::Combined => combined::read(line).map_err(str::to_owned),
            Self::Json => structured::json(line, columns),
            Self::Csv(reader) => reader.read(line),
        }
    }
}
