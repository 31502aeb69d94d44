//! What the lab and the command-line tool need besides the public items. It may change in any release.

mod borrowing;

use std::time::Duration;

use serde_json::{Map, Value};
use sluicegate_lua::Kernel;

use crate::algorithm::{Calendar, Policy};
use crate::catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::keys::key;
use crate::limiter::RateLimiter;
use crate::matching::RequestMatch;
use crate::options::LimiterOptions;
use crate::request::Check;
use crate::rules::{self, CalendarWindow, Identifier, Limit, Rule};
use crate::text::words;

pub use borrowing::{BorrowingProcess, Lender, LoanReply, LoanRequest, ProcessDecision, UnspentUnits};

pub use crate::limiter::Examined;
pub use crate::random::Random;

/// What names of keys begin with, unless the limiter says otherwise.
pub fn default_prefix() -> String {
    LimiterOptions::default().prefix
}

/// Whether names of keys may begin so.
pub fn is_valid_prefix(prefix: &str) -> bool {
    key::is_valid_prefix(prefix)
}

/// An argument that cannot be used.
pub fn invalid_argument(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

/// The check of a rule that applies to a request.
pub fn check(found: &RequestMatch) -> Check<'_> {
    found.check(None)
}

/// A word of a user's, for a message.
pub fn quote(text: &str) -> String {
    words::quote(text)
}

/// The first of many words, for a message.
pub fn first_of<'a>(words: impl ExactSizeIterator<Item = &'a str>, count: usize) -> String {
    words::first_of(words, count)
}

/// The word that was probably meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    words::nearest(word, known)
}

/// What the server of a limiter says of itself; `None` in memory.
///
/// # Errors
/// As `check`.
pub fn examine(limiter: &RateLimiter) -> Result<Option<Examined>> {
    limiter.examine()
}

/// Whether a user of this server may have it watch keys that were denied; `None` where no server is asked for that.
pub fn may_watch(limiter: &RateLimiter) -> Result<Option<bool>> {
    limiter.may_watch()
}

/// Whether denials by a rule are remembered where a limiter remembers any.
pub fn remembers_denials(rule: &Rule) -> bool {
    catalog::remembers_denials(rule)
}

/// A rule as it stands in a file.
pub fn object(rule: &Rule) -> Map<String, Value> {
    rules::object(rule)
}

/// An identifier as it stands in a file.
pub fn identifier(identifier: &Identifier) -> Value {
    rules::identifier(identifier)
}

/// The script that decides for a limit.
pub fn kernel(rule: &Rule, limit: &Limit) -> Kernel {
    Policy::new(rule, limit, None).kernel()
}

/// What a decision by a limit says of it: its limit and its window.
pub fn most_and_window(rule: &Rule, limit: &Limit) -> (u64, Duration) {
    let policy = Policy::new(rule, limit, None);
    (policy.most(), Duration::from_micros(policy.window().unsigned_abs()))
}

/// The windows of a calendar, by number.
#[derive(Debug)]
pub struct CalendarWindows(Calendar);

impl CalendarWindows {
    /// The windows of this kind.
    pub fn new(window: CalendarWindow) -> Self {
        Self(Calendar::new(window))
    }

    /// The number of the window at a time, in microseconds since 1970. The next one has the next number.
    pub fn number_at(&self, us: u64) -> i64 {
        self.0.at(i64::try_from(us).unwrap_or(i64::MAX)).number
    }
}
