//! Commands and replies as bytes: RESP 2 and 3, <https://redis.io/docs/latest/develop/reference/protocol-spec/>.
//!
//! Where a reply ends is found here. What it says is left to the parser of the redis crate, except of the kind that
//! scripts answer with: that parser clears kilobytes of memory whenever it looks at bytes.

use ::redis::{Value, parse_redis_value};
use memchr::memchr_iter;

const LINE_END: &[u8] = b"\r\n";

/// The most bytes of any reply. That of `CLUSTER SLOTS` has 100 for each node of each range, of which there may be as many as
/// slots.
pub(super) const LARGEST_REPLY: usize = 1 << 23;

/// The most bytes of one line, such as an error.
const LONGEST_LINE: usize = 1 << 16;

/// Appends a command of these parts.
pub(super) fn write_command(output: &mut Vec<u8>, parts: &[&[u8]]) {
    const HEAD: usize = 24;
    output.reserve(HEAD + parts.iter().map(|part| HEAD + part.len()).sum::<usize>());
    write_head(output, b'*', parts.len());
    for part in parts {
        write_head(output, b'$', part.len());
        output.extend_from_slice(part);
        output.extend_from_slice(LINE_END);
    }
}

fn write_head(output: &mut Vec<u8>, kind: u8, count: usize) {
    let mut digits = itoa::Buffer::new();
    match *digits.format(count).as_bytes() {
        // What is of a known length is copied without a call.
        [ones] => output.extend_from_slice(&[kind, ones, b'\r', b'\n']),
        [tens, ones] => output.extend_from_slice(&[kind, tens, ones, b'\r', b'\n']),
        ref digits => {
            output.push(kind);
            output.extend_from_slice(digits);
            output.extend_from_slice(LINE_END);
        }
    }
}

/// Bytes that come in any pieces, and leave as replies.
#[derive(Default)]
pub(in crate::redis::wire::session) struct Replies {
    bytes: Vec<u8>,
    /// How many of them have left.
    taken: usize,
    next: Scan,
    /// Whether messages of changed keys leave too.
    takes_changes: bool,
}

impl Replies {
    pub(super) fn new(takes_changes: bool) -> Self {
        Self { takes_changes, ..Self::default() }
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.taken));
        self.bytes.extend_from_slice(bytes);
    }

    /// How many bytes of the next reply have come.
    pub(super) fn begun(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The next reply, once all of it has come. The error says what the server did; nothing may follow it.
    pub(super) fn next(&mut self) -> Result<Option<Value>, &'static str> {
        loop {
            let bytes = &self.bytes[self.taken..];
            let Some(end) = self.next.end(bytes)? else { return Ok(None) };
            let reply = &bytes[..end];
            self.next = Scan::default();
            self.taken += end;
            let is_change = || self.takes_changes && reply.starts_with(CHANGE);
            if !reply.starts_with(PUSH) || is_change() {
                let value = texts(reply).map_or_else(|| parse_redis_value(reply).map_err(|_| UNKNOWN), Ok);
                return value.map(Some);
            }
        }
    }
}

/// With what messages of protocol 3 begin that answer no request. Others than those of changed keys are not looked at: a
/// server may flood a connection with them.
const PUSH: &[u8] = b">";

/// With what those begin that name keys which have changed.
const CHANGE: &[u8] = b">2\r\n$10\r\ninvalidate\r\n";

const UNKNOWN: &str = "the server sent what is not the Redis protocol";
pub(super) const TOO_LARGE: &str = "the server sent a reply that is too large";

/// A reply that is a text, or a list of texts: bulk strings, none of which is a null.
fn texts(mut reply: &[u8]) -> Option<Value> {
    match reply.strip_prefix(b"*") {
        None => text(&mut reply),
        Some(mut list) => {
            let values = length(&mut list)?;
            (0..values).map(|_| text(&mut list)).collect::<Option<_>>().map(Value::Array)
        }
    }
}

/// Takes a bulk string from the beginning of some bytes.
fn text(bytes: &mut &[u8]) -> Option<Value> {
    let mut rest = bytes.strip_prefix(b"$")?;
    let (text, end) = length(&mut rest).and_then(|length| rest.split_at_checked(length))?;
    *bytes = end.strip_prefix(LINE_END)?;
    Some(Value::BulkString(text.to_vec()))
}

/// Takes the length of a text or a list, and the end of its line.
fn length(bytes: &mut &[u8]) -> Option<usize> {
    let (digits, rest) = bytes.split_at_checked(line(bytes).ok()??)?;
    *bytes = rest.strip_prefix(LINE_END)?;
    count(digits).ok()?
}

/// How far a reply was looked through.
struct Scan {
    at: usize,
    /// How many values are still to begin: one, and those inside of others.
    missing: u64,
}

impl Default for Scan {
    fn default() -> Self {
        Self { at: 0, missing: 1 }
    }
}

impl Scan {
    /// Where the reply ends with which `bytes` begin, once it is there. Goes on where it stopped before.
    fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        while self.missing > 0 {
            let rest = bytes.get(self.at..).unwrap_or_default();
            let Some(length) = line(rest)? else {
                // What speaks another protocol may never end a line.
                let is_known = rest.first().is_none_or(|kind| KINDS.contains(kind));
                return if is_known { Ok(None) } else { Err(UNKNOWN) };
            };
            let (text, parts) = shape(&rest[..length])?;
            self.at += length + LINE_END.len() + text;
            self.missing = self.missing - 1 + parts;
        }
        Ok((self.at <= bytes.len()).then_some(self.at))
    }
}

/// How many bytes come before the first end of a line.
fn line(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let within = &bytes[..bytes.len().min(LONGEST_LINE)];
    match memchr_iter(b'\r', within).find(|&end| within[end..].starts_with(LINE_END)) {
        None if bytes.len() > LONGEST_LINE => Err(UNKNOWN),
        length => Ok(length),
    }
}

/// With what values begin.
const KINDS: &[u8] = b"+-:,#_($!=*~>%|";

/// What follows the first line of a value: so many bytes of text, and so many values.
fn shape(line: &[u8]) -> Result<(usize, u64), &'static str> {
    let (kind, digits) = line.split_first().ok_or(UNKNOWN)?;
    match kind {
        b'+' | b'-' | b':' | b',' | b'#' | b'_' | b'(' => Ok((0, 0)),
        b'$' | b'!' | b'=' => Ok((count(digits)?.map_or(0, |length| length + LINE_END.len()), 0)),
        b'*' | b'~' | b'>' => Ok((0, values(digits)?)),
        b'%' => Ok((0, 2 * values(digits)?)),
        // Attributes come before the value that they are about.
        b'|' => Ok((0, 2 * values(digits)? + 1)),
        _ => Err(UNKNOWN),
    }
}

fn values(digits: &[u8]) -> Result<u64, &'static str> {
    Ok(count(digits)?.unwrap_or_default() as u64)
}

/// The length of a text or a list; of a null, nothing.
fn count(digits: &[u8]) -> Result<Option<usize>, &'static str> {
    if digits == b"-1" {
        return Ok(None);
    }
    let count = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok());
    match count.ok_or(UNKNOWN)? {
        count if count <= LARGEST_REPLY => Ok(Some(count)),
        _ => Err(TOO_LARGE),
    }
}

#[cfg(test)]
mod tests {
    use std::iter;

    use ::redis::Parser;
    use proptest::prelude::*;

    use super::*;

    /// The replies in bytes that come in these pieces, and what is wrong with those that follow.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Value>, Option<&'static str>) {
        let mut replies = Replies::default();
        let mut read = Vec::new();
        for piece in pieces {
            replies.add(piece);
            loop {
                match replies.next() {
                    Ok(Some(reply)) => read.push(reply),
                    Ok(None) => break,
                    Err(fault) => return (read, Some(fault)),
                }
            }
        }
        (read, None)
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let text = prop::collection::vec(prop::sample::select(&b"a1:\r\n$\0\xff"[..]), 0..12);
        prop_oneof![text, Just(vec![b'x'; 300])]
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        prop::sample::select(vec![
            "+OK",
            "-ERR wrong",
            "-MOVED 1 a:1",
            ":7",
            ":-1",
            "$-1",
            "*-1",
            "_",
            "#t",
            ",1.5",
            "(12345",
            "*0",
            "%0",
        ])
        .prop_map(|line| format!("{line}\r\n").into_bytes())
    }

    fn reply() -> impl Strategy<Value = Vec<u8>> {
        let bulk =
            text().prop_map(|text| [format!("${}\r\n", text.len()).as_bytes(), &text, LINE_END].concat());
        let verbatim = text()
            .prop_map(|text| [format!("={}\r\ntxt:", text.len() + 4).as_bytes(), &text, LINE_END].concat());
        prop_oneof![3 => bulk, 1 => verbatim, 2 => line()].prop_recursive(3, 20, 4, |value| {
            let list = |kind: &'static str, of: usize| {
                prop::collection::vec(value.clone(), of..=4 * of).prop_map(move |mut values| {
                    values.truncate(values.len() / of * of);
                    [format!("{kind}{}\r\n", values.len() / of).into_bytes(), values.concat()].concat()
                })
            };
            let attributes = (list("|", 2), value.clone()).prop_map(|(names, value)| [names, value].concat());
            prop_oneof![list("*", 1), list("~", 1), list("%", 2), attributes]
        })
    }

    proptest! {
        #[test]
        fn replies_are_the_same_however_their_bytes_come(
            replies in prop::collection::vec(reply(), 0..5),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        ) {
            let bytes = replies.concat();
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let expected: Vec<_> = replies.iter().map(|reply| parse_redis_value(reply).unwrap()).collect();
            prop_assert_eq!(read(cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]])), (expected.clone(), None));
            prop_assert_eq!(read(bytes.chunks(1)), (expected, None));
        }

        #[test]
        fn nonsense_is_not_taken_for_other_replies_than_the_parser_takes_it_for(
            mut parts in prop::collection::vec(prop_oneof![text(), line(), reply()], 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let longest = parts.iter_mut().max_by_key(|part| part.len()).unwrap();
            longest.truncate(cut.index(longest.len() + 1));
            let bytes = parts.concat();
            let (replies, _) = read([&bytes[..]]);
            let (mut parser, mut unread) = (Parser::new(), &bytes[..]);
            let parsed: Vec<_> = iter::from_fn(|| parser.parse_value(&mut unread).ok()).collect();
            prop_assert!(parsed.starts_with(&replies), "{replies:?} of {parsed:?}");
            prop_assert_eq!(read(bytes.chunks(1)).0, replies);
        }
    }

    #[test]
    fn pushes_are_passed_over() {
        let push: &[u8] = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\n\xff\r\n";
        let bytes = [push, b"+OK\r\n", push, push, b"*1\r\n:7\r\n", push].concat();
        let replies = vec![Value::Okay, Value::Array(vec![Value::Int(7)])];
        assert_eq!(read([&bytes[..]]), (replies.clone(), None));
        assert_eq!(read(bytes.chunks(1)), (replies, None));
    }

    #[test]
    fn what_no_server_may_send_ends_the_conversation() {
        let endless = [b'+'; LONGEST_LINE + 1];
        let deep = b"*1\r\n".repeat(10_000);
        let cases: [(&[u8], _); 13] = [
            (b"HTTP/1.1 400\r\n", UNKNOWN),
            (b"HTTP/1.1 400\n", UNKNOWN),
            // What a port with TLS says to who speaks without it.
            (b"\x15\x03\x03\x00\x02\x02\x46", UNKNOWN),
            (b"\r\n", UNKNOWN),
            (b"$\r\n", UNKNOWN),
            (b"$-2\r\n", UNKNOWN),
            (b"$99999999999999999999\r\n", UNKNOWN),
            (b"$3\r\nabcde", UNKNOWN),
            (b":x\r\n", UNKNOWN),
            (b"$8388609\r\n", TOO_LARGE),
            (b"*8388609\r\n", TOO_LARGE),
            (&endless, UNKNOWN),
            (&[&deep[..], b":1\r\n"].concat(), UNKNOWN),
        ];
        for (bytes, fault) in cases {
            let start = &bytes[..bytes.len().min(30)];
            assert_eq!(read([b"+OK\r\n", bytes]), (vec![Value::Okay], Some(fault)), "{start:?}");
        }
    }

    #[test]
    fn a_command_is_what_the_redis_crate_makes_of_it() {
        let parts: [&[u8]; 4] = [b"EVALSHA", b"", b"a\r\n\0\xff", &[b'x'; 12_345]];
        let mut output = b"before".to_vec();
        write_command(&mut output, &parts);
        let mut cmd = ::redis::cmd("EVALSHA");
        parts[1..].iter().for_each(|part| _ = cmd.arg(part));
        assert_eq!(output, [b"before", &cmd.get_packed_command()[..]].concat());
    }
}
