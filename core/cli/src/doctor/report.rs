//! What a look at servers and rules found, line by line.

use std::fmt::Display;
use std::io::Write;

use crate::outcome::CommandError;

/// Lines of a report, and whether all were good.
pub(super) struct Report<'a, W> {
    pub(super) out: &'a mut W,
    pub(super) is_good: bool,
}

impl<W: Write> Report<'_, W> {
    pub(super) fn good(&mut self, what: &str, found: impl Display) -> Result<(), CommandError> {
        Ok(writeln!(self.out, "  ok     {what}: {found}")?)
    }

    /// What could not be looked at, which is no fault.
    pub(super) fn note(&mut self, what: &str, found: impl Display) -> Result<(), CommandError> {
        Ok(writeln!(self.out, "  note   {what}: {found}")?)
    }

    pub(super) fn bad(&mut self, what: &str, found: impl Display, to_do: &str) -> Result<(), CommandError> {
        self.is_good = false;
        Ok(writeln!(self.out, "  to do  {what}: {found}; {to_do}")?)
    }

    pub(super) fn judge(
        &mut self,
        what: &str,
        found: impl Display,
        fault: Option<&str>,
    ) -> Result<(), CommandError> {
        match fault {
            None => self.good(what, found),
            Some(to_do) => self.bad(what, found, to_do),
        }
    }
}
