//! Where the view is shown: drawn again in place on a terminal, else line after line.

use std::io::{self, IsTerminal, Write, stdout};

use anstyle::{AnsiColor, Style};
use terminal_size::{Height, Width, terminal_size};

use super::view::Line;

const ALARM: Style = AnsiColor::Red.on_default().bold();
/// Columns and lines of a terminal that does not tell.
const USUAL: (usize, usize) = (80, 24);
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

pub(super) struct Screen {
    pub(super) is_drawn: bool,
    is_first: bool,
}

impl Screen {
    /// One that shows several views, or one.
    pub(super) fn new(is_live: bool) -> Self {
        Self { is_drawn: is_live && stdout().is_terminal(), is_first: true }
    }

    pub(super) fn show(&mut self, out: &mut impl Write, lines: &[Line]) -> io::Result<()> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if self.is_drawn {
            return draw(out, lines, is_first);
        }
        if !is_first {
            writeln!(out)?;
        }
        lines.iter().try_for_each(|line| write(out, line, &line.text, "\n"))?;
        out.flush()
    }
}

/// As much as the terminal has room for: nothing may scroll it.
fn draw(out: &mut impl Write, lines: &[Line], is_first: bool) -> io::Result<()> {
    let size = terminal_size().map(|(Width(columns), Height(rows))| (columns.into(), rows.into()));
    let (columns, rows) = size.unwrap_or(USUAL);
    control(HOME)?;
    if is_first {
        control(CLEAR_BELOW)?;
    }
    for line in lines.iter().take(rows.saturating_sub(1)) {
        write(out, line, clipped(&line.text, columns), "")?;
        control(CLEAR_LINE)?;
        writeln!(out)?;
    }
    control(CLEAR_BELOW)?;
    out.flush()
}

/// Straight to standard output, which is what `out` writes to: it would leave these out where no colours are wanted.
fn control(code: &str) -> io::Result<()> {
    stdout().write_all(code.as_bytes())
}

fn write(out: &mut impl Write, line: &Line, text: &str, end: &str) -> io::Result<()> {
    match line.is_alarm {
        true => write!(out, "{ALARM}{text}{ALARM:#}{end}"),
        false => write!(out, "{text}{end}"),
    }
}

/// The beginning that fits into so many columns. What is not ASCII may take two.
fn clipped(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let over = text.char_indices().find(|(_, character)| {
        used += if character.is_ascii() { 1 } else { 2 };
        used > columns
    });
    over.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_as_long_as_the_terminal_is_wide() {
        assert_eq!([clipped("abcd", 4), clipped("abcde", 4), clipped("a漢字", 4)], ["abcd", "abcd", "a漢"]);
    }
}
