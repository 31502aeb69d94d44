//! One line of a log, whatever its format.

use std::borrow::Cow;

use crate::Request;

use super::super::args::LogFormat;
use super::columns::Columns;
use super::combined;
use super::structured::{self, CsvReader};

/// A request that was logged.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Entry<'a> {
    pub(super) at_us: u64,
    pub(super) method: Cow<'a, str>,
    pub(super) path: Cow<'a, str>,
    pub(super) ip: Option<Cow<'a, str>>,
    pub(super) user: Option<Cow<'a, str>>,
    pub(super) api_key: Option<Cow<'a, str>>,
    /// How long it was under way, in microseconds.
    pub(super) duration_us: Option<u64>,
    pub(super) headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl Entry<'_> {
    pub(super) fn request(&self) -> Request<'_> {
        let mut request = Request::new(&self.method, &self.path);
        request.ip = self.ip.as_deref();
        request.user_id = self.user.as_deref();
        request.api_key = self.api_key.as_deref();
        request.headers = self.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        request
    }
}

/// How lines are read.
pub(super) enum Format {
    Combined,
    Json,
    Csv(Box<CsvReader>),
}

impl Format {
    /// The format of a log that begins with this line.
    pub(super) fn new(wanted: LogFormat, first: &str, columns: &Columns) -> Self {
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
    pub(super) fn read<'a>(&'a mut self, line: &'a str, columns: &'a Columns) -> Result<Entry<'a>, String> {
        match self {
            Self::Combined => combined::read(line).map_err(str::to_owned),
            Self::Json => structured::json(line, columns),
            Self::Csv(reader) => reader.read(line),
        }
    }
}

/// `-` stands for nothing in logs.
pub(super) fn present(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    (!text.is_empty() && text != "-").then_some(text)
}
