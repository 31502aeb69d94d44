//! Logs whose columns have names: JSON lines, and CSV.

use std::borrow::Cow;

use csv_core::{ReadRecordResult, Reader};
use serde_json::Value;
use sluicegate::internal::{nearest, quote};

use super::super::args::NAMES;
use super::columns::{API_KEY, ColumnNames, DURATION, IP, METHOD, PATH, TIME, USER};
use super::entry::{LogEntry, present};
use super::time;

/// A request from JSON. Columns such as `request.uri` are inside of others.
pub(super) fn json<'a>(line: &str, columns: &'a ColumnNames) -> Result<LogEntry<'a>, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("it is not JSON: {error}"))?;
    let text = |place: usize| columns.of(place).iter().find_map(|name| find(&value, name)).and_then(text);
    let header = |(name, column): &'a (String, String)| {
        Some((Cow::Borrowed(name.as_str()), Cow::Owned(find(&value, column).and_then(text_of)?)))
    };
    let duration = |name: &String| time::duration_us(&text_of(find(&value, name)?)?, name);
    let duration_us = columns.of(DURATION).iter().find_map(duration);
    entry(text, duration_us, columns.headers.iter().filter_map(header).collect())
}

fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).or_else(|| name.split('.').try_fold(value, |value, name| value.get(name)))
}

fn text(value: &Value) -> Option<Cow<'static, str>> {
    text_of(value).map(Cow::Owned)
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A request from the texts of its columns.
fn entry<'a>(
    text: impl Fn(usize) -> Option<Cow<'a, str>>,
    duration_us: Option<u64>,
    headers: Vec<(Cow<'a, str>, Cow<'a, str>)>,
) -> Result<LogEntry<'a>, String> {
    let at = text(TIME).ok_or("it has no time (name its column with --columns time=NAME)")?;
    let at_us = time::of_anything(&at).or_else(|| time::of_web_servers(&at));
    Ok(LogEntry {
        at_us: at_us.ok_or_else(|| format!("its time {at:?} is in no known format"))?,
        method: text(METHOD).unwrap_or(Cow::Borrowed("GET")),
        path: text(PATH).ok_or("it has no path (name its column with --columns path=NAME)")?,
        ip: text(IP).and_then(present),
        user: text(USER).and_then(present),
        api_key: text(API_KEY).and_then(present),
        duration_us,
        headers,
    })
}

/// Reads lines of CSV.
pub(super) struct CsvReader {
    /// Where each column is.
    places: [Option<usize>; NAMES.len()],
    /// The name of the column of durations, which states its unit.
    duration_name: String,
    headers: Vec<(String, usize)>,
    reader: Reader,
    /// The fields of the line that was read last, and where they end.
    fields: Vec<u8>,
    ends: Vec<usize>,
}

impl CsvReader {
    /// A reader of a file with this line of names.
    pub(super) fn new(names: &str, columns: &ColumnNames) -> Self {
        let mut csv = Self {
            places: [None; NAMES.len()],
            duration_name: String::new(),
            headers: Vec::new(),
            reader: Reader::new(),
            fields: Vec::new(),
            ends: Vec::new(),
        };
        let count = csv.split(names.trim_start_matches('\u{feff}'));
        let place = |wanted: &str| {
            (0..count)
                .find(|place| csv.field(*place).is_some_and(|name| name.trim().eq_ignore_ascii_case(wanted)))
        };
        let places = std::array::from_fn(|column| columns.of(column).iter().find_map(|name| place(name)));
        let header = |(name, column): &(String, String)| Some((name.clone(), place(column)?));
        let headers = columns.headers.iter().filter_map(header).collect();
        let duration_name = columns.of(DURATION).iter().find(|name| place(name).is_some()).cloned();
        (csv.places, csv.headers) = (places, headers);
        csv.duration_name = duration_name.unwrap_or_default();
        csv
    }

    /// A column that the command line names and the log lacks, with the nearest that it has.
    pub(super) fn missing(names: &str, columns: &ColumnNames) -> Option<String> {
        let mut csv = Self::new(names, columns);
        let count = csv.split(names.trim_start_matches('\u{feff}'));
        let present: Vec<_> = (0..count).filter_map(|place| csv.field(place)).map(str::trim).collect();
        let absent = |name: &&str| !present.iter().any(|it| it.eq_ignore_ascii_case(name));
        let name = columns.given().find(absent)?;
        let near = nearest(name, present.iter().copied());
        let instead = match near {
            Some(near) => format!("did you mean {}?", quote(near)),
            None => format!("its columns are {}", present.join(", ")),
        };
        Some(format!("the log has no column {}; {instead}", quote(name)))
    }

    /// Whether a request can be had from such lines.
    pub(super) fn is_usable(&self) -> bool {
        self.places[TIME].is_some() && self.places[PATH].is_some()
    }

    pub(super) fn has_durations(&self) -> bool {
        self.places[DURATION].is_some()
    }

    pub(super) fn read(&mut self, line: &str) -> Result<LogEntry<'_>, String> {
        self.split(line);
        let text = |column: usize| self.places[column].and_then(|place| self.field(place)).map(Cow::Borrowed);
        let header = |(name, place): &'_ (String, usize)| {
            Some((Cow::Owned(name.clone()), Cow::Borrowed(self.field(*place)?)))
        };
        let duration_us = text(DURATION).and_then(|text| time::duration_us(&text, &self.duration_name));
        entry(text, duration_us, self.headers.iter().filter_map(header).collect())
    }

    /// Takes a line apart; how many fields it has.
    fn split(&mut self, line: &str) -> usize {
        self.fields.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        self.reader.reset();
        let (mut read, mut written, mut count) = (0, 0, 0);
        loop {
            let input = &line.as_bytes()[read..];
            let (result, nin, nout, nend) =
                self.reader.read_record(input, &mut self.fields[written..], &mut self.ends[count..]);
            (read, written, count) = (read + nin, written + nout, count + nend);
            // No input is left to be read: the next round ends the record.
            if !matches!(result, ReadRecordResult::InputEmpty) {
                break;
            }
        }
        self.ends.truncate(count);
        count
    }

    fn field(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        std::str::from_utf8(&self.fields[start..end]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(map: &[(&str, &str)]) -> ColumnNames {
        let owned: Vec<_> = map.iter().map(|(name, column)| ((*name).into(), (*column).into())).collect();
        ColumnNames::new(&owned)
    }

    #[test]
    fn json_has_usual_and_mapped_names() {
        let line = r#"{"ts": 971211336.25, "request": {"method": "POST", "uri": "/x"}, "account": 7, "remote_ip": "::1"}"#;
        let columns = columns(&[("user", "account"), ("header:X-Client", "remote_ip")]);
        let entry = json(line, &columns).unwrap();
        assert_eq!((&*entry.method, &*entry.path, entry.at_us), ("POST", "/x", 971_211_336_250_000));
        assert_eq!((entry.user.as_deref(), entry.ip.as_deref()), (Some("7"), Some("::1")));
        assert_eq!(entry.headers, [("X-Client".into(), "::1".into())]);
        assert!(json("{", &columns).unwrap_err().starts_with("it is not JSON"));
        assert_eq!(
            json(r#"{"ts": "soon", "path": "/"}"#, &columns).unwrap_err(),
            "its time \"soon\" is in no known format"
        );
    }

    #[test]
    fn csv_has_quotes_and_a_map() {
        let columns = columns(&[("time", "When"), ("header:X-A", "a")]);
        let mut reader = CsvReader::new("when,\"path\",client_ip,a", &columns);
        assert!(reader.is_usable());
        let entry = reader.read("2000-10-10T20:55:36Z,\"/a,\"\"b\"\"\",-,1").unwrap();
        assert_eq!((&*entry.path, &*entry.method, entry.ip), ("/a,\"b\"", "GET", None));
        assert_eq!(entry.headers, [("X-A".into(), "1".into())]);
        assert_eq!(
            reader.read("2000-10-10T20:55:36Z").unwrap_err(),
            "it has no path (name its column with --columns path=NAME)"
        );
        assert!(!CsvReader::new("a,b", &columns).is_usable());
        assert_eq!(CsvReader::missing("when,path,A", &columns), None);
        assert_eq!(
            CsvReader::missing("whn,path,a", &columns).unwrap(),
            "the log has no column \"When\"; did you mean \"whn\"?"
        );
    }
}
