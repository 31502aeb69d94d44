//! What the columns of a log are called.

use super::super::args::NAMES;

/// The names under which logs have each of them, by default.
const USUAL: [&[&str]; 7] = [
    &["time", "timestamp", "ts", "@timestamp", "date", "datetime", "time_iso8601", "time_local", "msec"],
    &["method", "request_method", "http_method", "verb", "request.method"],
    &["path", "uri", "url", "request_uri", "target", "request.uri", "request.path"],
    &["ip", "remote_addr", "client_ip", "remote_ip", "clientip", "request.client_ip", "request.remote_ip"],
    &["user", "user_id", "remote_user", "username"],
    &["api_key"],
    &["duration", "duration_ms", "request_time", "response_time", "elapsed", "latency"],
];

pub(super) const TIME: usize = 0;
pub(super) const METHOD: usize = 1;
pub(super) const PATH: usize = 2;
pub(super) const IP: usize = 3;
pub(super) const USER: usize = 4;
pub(super) const API_KEY: usize = 5;
pub(super) const DURATION: usize = 6;

/// The names of a log's columns.
pub(super) struct ColumnNames {
    names: [Vec<String>; NAMES.len()],
    /// Names of headers, and their columns.
    pub(super) headers: Vec<(String, String)>,
    /// The columns that the command line names.
    given: Vec<String>,
}

impl ColumnNames {
    pub(super) fn new(map: &[(String, String)]) -> Self {
        let names = |place: usize| {
            let named = map.iter().find(|(name, _)| name == NAMES[place]);
            named.map_or_else(
                || USUAL[place].iter().map(|name| (*name).to_owned()).collect(),
                |(_, column)| vec![column.clone()],
            )
        };
        let header = |(name, column): &(String, String)| {
            name.strip_prefix("header:").map(|name| (name.to_owned(), column.clone()))
        };
        Self {
            names: std::array::from_fn(names),
            headers: map.iter().filter_map(header).collect(),
            given: map.iter().map(|(_, column)| column.clone()).collect(),
        }
    }

    /// The columns that the command line names.
    pub(super) fn given(&self) -> impl Iterator<Item = &str> {
        self.given.iter().map(String::as_str)
    }

    /// The names that a column may have, in the order in which they are looked for.
    pub(super) fn of(&self, place: usize) -> &[String] {
        &self.names[place]
    }
}
