//! Where a path ends: some servers and frameworks overlook what stands last.

use smallvec::{SmallVec, smallvec};

/// What may be overlooked: Python's `$` matches before a newline, many routers before a slash, Node's `url.parse`
/// before white space, Windows before dots and spaces.
const OVERLOOKED: [&str; 10] = ["/", ".", " ", "%0A", "%0D", "%09", "%0B", "%0C", "\u{A0}", "\u{FEFF}"];

/// So many changes from one character to another are distinguished; behind them all is cut at once.
const MAX_RUNS: usize = 4;

/// The lengths that a text may be cut to, the longest first.
#[derive(Debug)]
pub(super) struct Ends(SmallVec<[u32; 2]>);

impl Ends {
    #[inline]
    pub(super) fn of(text: &str) -> Self {
        let mut ends = smallvec![text.len() as u32];
        let mut rest = text;
        for _ in 0..MAX_RUNS {
            let Some((one, all)) = without_run(rest) else { return Self(ends) };
            ends.push(one.len() as u32);
            if all.len() < one.len() {
                ends.push(all.len() as u32);
            }
            rest = all;
        }
        let rest = without_all(rest);
        if ends.last() != Some(&(rest.len() as u32)) {
            ends.push(rest.len() as u32);
        }
        Self(ends)
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|end| *end as usize)
    }
}

/// The text without all of what is overlooked.
#[inline]
fn without_all(mut text: &str) -> &str {
    loop {
        let plain = |byte: &u8| !matches!(byte, b'/' | b'.' | b' ');
        text = &text[..text.as_bytes().iter().rposition(plain).map_or(1, |at| at + 1)];
        match without_run(text) {
            Some((_, all)) => text = all,
            None => return text,
        }
    }
}

/// The text without the last of what is overlooked, and without all of the same before it. The first slash stays.
#[inline]
fn without_run(text: &str) -> Option<(&str, &str)> {
    let strip = |text: &str, unit: &str| text.strip_suffix(unit).map(str::len).filter(|len| *len > 0);
    let (unit, len) = OVERLOOKED.iter().find_map(|unit| Some((unit, strip(text, unit)?)))?;
    let behind = &text.as_bytes()[1..];
    let run = match unit.as_bytes() {
        // By far the most frequent, and sooner compared as a byte.
        [one] => behind.iter().rev().take_while(|byte| *byte == one).count(),
        unit => behind.rchunks_exact(unit.len()).take_while(|chunk| *chunk == unit).count(),
    };
    Some((&text[..len], &text[..text.len() - unit.len() * run]))
}
