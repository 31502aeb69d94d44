//! The lines of a log, however large it is and whatever is in it.

use std::io::{self, Read};

/// Longer lines are skipped.
const LONGEST: usize = 1 << 20;
const BUFFER: usize = 2 * LONGEST;

pub(super) struct Lines<R> {
    input: R,
    buffer: Box<[u8]>,
    /// What of the buffer was read, and is not yet given out.
    start: usize,
    end: usize,
    bytes: u64,
    at_end: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LogLine<'a> {
    /// With what ends it.
    Whole(&'a [u8]),
    TooLong,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; BUFFER].into(), start: 0, end: 0, bytes: 0, at_end: false }
    }

    /// How many bytes were read.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn next(&mut self) -> io::Result<Option<LogLine<'_>>> {
        let mut looked = 0;
        loop {
            let unread = &self.buffer[self.start..self.end];
            if let Some(place) = memchr(&unread[looked..]) {
                let line = self.start..self.start + looked + place + 1;
                self.start = line.end;
                return Ok(Some(LogLine::Whole(&self.buffer[line])));
            }
            looked = unread.len();
            if looked > LONGEST {
                self.skip()?;
                return Ok(Some(LogLine::TooLong));
            }
            if !self.fill()? {
                let line = self.start..self.end;
                self.start = self.end;
                return Ok((!line.is_empty()).then(|| LogLine::Whole(&self.buffer[line])));
            }
        }
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.start > 0 && self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.end += read;
        self.bytes += read as u64;
        self.at_end = read == 0;
        Ok(read > 0)
    }

    /// Goes on behind the line that is too long.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            if let Some(place) = memchr(&self.buffer[self.start..self.end]) {
                self.start += place + 1;
                return Ok(());
            }
            (self.start, self.end) = (0, 0);
            if !self.fill()? {
                return Ok(());
            }
        }
    }
}

/// Where the line ends.
fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_or_skipped() {
        let long = "x".repeat(3 * BUFFER);
        let text = format!("a\n{long}\nb\r\n\n{}\nend", "y".repeat(LONGEST - 1));
        let mut lines = Lines::new(text.as_bytes());
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push(match line {
                LogLine::Whole(bytes) => bytes.len(),
                LogLine::TooLong => 0,
            });
        }
        assert_eq!(seen, [2, 0, 3, 1, LONGEST, 3]);
        assert_eq!(lines.bytes(), text.len() as u64);
    }
}
