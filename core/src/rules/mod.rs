//! Rules: what a rule is, and the strict reading of rule files.

mod algorithm;
mod block;
mod builder;
mod calendar;
mod comments;
mod document;
mod fallback;
mod fields;
mod global;
mod id;
mod identifier;
mod json;
mod lease;
mod limits;
mod matching;
mod model;
mod object;
mod rate;
mod rule;
#[cfg(test)]
mod schema_maker;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

pub use builder::RuleBuilder;
pub(crate) use calendar::tzif;
pub use fallback::Fallback;
pub(crate) use fields::Checked;
pub use id::RuleId;
pub(crate) use identifier::is_token;
pub(crate) use limits::{MAX_BURST, MAX_LOG, MAX_MICROS, MAX_WINDOW_US};
pub use model::{
    Algorithm, Block, CalendarUnit, CalendarWindow, GcraName, Identifier, LeaseTerms, Limit, Match, Rule,
    Scope, Structure, WindowStart,
};
#[cfg(feature = "internal")]
pub(crate) use object::identifier;
pub(crate) use object::object;
pub(crate) use rate::unreadable;

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::text::words::{self, one_line};

/// A set of rules, each valid and with a name of its own. A clone shares them.
///
/// Rules are JSON in which `//` and `/* */` comments may stand: an array of rules, or an object
/// whose only field is `rules`. Reading is strict. What is unknown, misspelt, stated twice, of the
/// wrong type or out of range is an error that names the rule, the field, and what would be right.
///
/// ```
/// use sluicegate::Rules;
///
/// let rules = Rules::from_json(r#"[{
///     "rule_id": "orders", // at most 50 a minute
///     "algorithm": "sliding_window",
///     "limit": 50,
///     "window_size_seconds": 60
/// }]"#)?;
/// assert_eq!(rules.find("orders")?.limits[0].window_us, 60_000_000);
/// # Ok::<(), sluicegate::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Rules {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    in_order: Vec<Arc<Rule>>,
    positions: HashMap<RuleId, usize>,
    version: String,
}

impl Inner {
    fn of(in_order: Vec<Arc<Rule>>) -> Self {
        let positions = in_order.iter().enumerate().map(|(at, rule)| (rule.id.clone(), at)).collect();
        Self { in_order, positions, version: String::new() }
    }
}

/// An unknown name is compared with so many rules, so that asking for one stays cheap however
/// large the set is.
const COMPARED_RULES: usize = 256;

/// So many rules are named when none resembles the one that was asked for.
const NAMED_RULES: usize = 5;

impl Rules {
    /// Reads rules from JSON text. An empty array is a valid set.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`](ErrorKind::InvalidRule), about the first fault in the text.
    ///
    /// ```
    /// use sluicegate::Rules;
    ///
    /// let error = Rules::from_json(r#"[{ "rule_id": "a", "algoritm": "gcra" }]"#).unwrap_err();
    /// assert_eq!(
    ///     error.message(),
    ///     r#"rule "a": field "algoritm" is not known; did you mean "algorithm"?"#
    /// );
    /// ```
    pub fn from_json(text: &str) -> Result<Self> {
        Self::read(text).map_err(|fault| Error::new(ErrorKind::InvalidRule, fault))
    }

    /// Rules that were read one by one, each with a name of its own, from these texts.
    pub(crate) fn assemble(in_order: Vec<Arc<Rule>>, texts: impl Iterator<Item = impl AsRef<[u8]>>) -> Self {
        Self { inner: Arc::new(Inner { version: digest(texts), ..Inner::of(in_order) }) }
    }

    /// These, and others whose names none of these has. The version stays.
    pub(crate) fn and(&self, others: &Self) -> Self {
        if others.is_empty() {
            return self.clone();
        }
        let in_order: Vec<_> = self.iter().chain(others.iter()).cloned().collect();
        Self { inner: Arc::new(Inner { version: self.version().to_owned(), ..Inner::of(in_order) }) }
    }

    /// These without others.
    pub(crate) fn without(&self, others: &Self) -> Self {
        let in_order = self.iter().filter(|rule| others.get(&rule.id).is_none()).cloned().collect();
        Self { inner: Arc::new(Inner { version: self.version().to_owned(), ..Inner::of(in_order) }) }
    }

    /// Reads rules from a file of JSON in UTF-8.
    ///
    /// # Errors
    ///
    /// [`InvalidRule`](ErrorKind::InvalidRule), with the path, when the file cannot be read or as
    /// for [`from_json`](Self::from_json).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let rules = fs::read_to_string(path)
            .map_err(|error| unreadable(path, &error))
            .and_then(|text| Self::read(&text));
        rules.map_err(|fault| Error::new(ErrorKind::InvalidRule, format!("{}: {fault}", one_line(path))))
    }

    /// [`from_json`](Self::from_json), or what is wrong with the text.
    pub(crate) fn read(text: &str) -> Checked<Self> {
        let value = document::parse(text)?;
        let mut inner = Inner { version: digest([text].into_iter()), ..Inner::default() };
        for (at, value) in document::rules_of(&value)?.iter().enumerate() {
            let rule = rule::read(value, at)?;
            if let Some(earlier) = inner.positions.insert(rule.id.clone(), at) {
                return Err(rule::repeated(&rule.id, earlier, at));
            }
            inner.in_order.push(Arc::new(rule));
        }
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Identifies these rules: 12 hexadecimal digits that depend on nothing but the text they were
    /// read from. Processes with the same version decide by the same rules. Empty when there never was a
    /// text.
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// The rule of that name, if there is one.
    pub fn get(&self, id: &str) -> Option<&Arc<Rule>> {
        self.inner.positions.get(id).and_then(|at| self.inner.in_order.get(*at))
    }

    /// The rule of that name.
    ///
    /// # Errors
    ///
    /// [`UnknownRule`](ErrorKind::UnknownRule), with the name that was probably meant.
    pub fn find(&self, id: &str) -> Result<&Arc<Rule>> {
        self.get(id).ok_or_else(|| self.unknown(id))
    }

    /// The rules, in the order of their file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Rule>> {
        self.inner.in_order.iter()
    }

    /// The rules as an array of JSON, in one form: what is left to its default is left out, a rate is a limit and its
    /// window. Read again, they are the same rules.
    ///
    /// ```
    /// use sluicegate::Rules;
    ///
    /// let rules = Rules::from_json(r#"[{"rule_id": "login", "rate": "5/minute"}] // five attempts"#)?;
    /// assert!(rules.to_json().contains(r#""window_size_seconds":60"#));
    /// assert!(Rules::from_json(&rules.to_json())?.iter().eq(rules.iter()));
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        self.iter()
            .map(|rule| serde_json::Value::Object(object(rule)))
            .collect::<serde_json::Value>()
            .to_string()
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.inner.in_order.len()
    }

    /// Whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.inner.in_order.is_empty()
    }

    /// The error for a name that no rule has.
    pub(crate) fn unknown(&self, id: &str) -> Error {
        let ids = self.inner.in_order.iter().map(|rule| rule.id.as_ref());
        let instead = match words::nearest(id, ids.clone().take(COMPARED_RULES)) {
            Some(near) => format!("did you mean {}?", words::quote(near)),
            None if self.is_empty() => "there are no rules".to_owned(),
            None => format!("the rules are {}", words::first_of(ids, NAMED_RULES)),
        };
        let message = format!("no rule is called {}; {instead}", words::quote(id));
        Error::new(ErrorKind::UnknownRule, message)
    }
}

/// The JSON Schema (draft 2020-12) of a file of rules, for editors and for other programs that check rules.
///
/// What it refuses the reader refuses too. A schema cannot compare values, so it admits rules that share an id, a
/// `path:<name>` that the pattern lacks, limits with the same window and scope, and the like.
///
/// ```
/// let schema = sluicegate::rules::schema();
/// assert!(schema.contains("\"window_size_seconds\""));
/// ```
pub fn schema() -> &'static str {
    include_str!("schema.json")
}

/// The rule in a text that holds one.
pub(crate) fn read_one(text: &str) -> Checked<Rule> {
    rule::read(&document::parse(text)?, 0)
}

fn digest(texts: impl Iterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text);
        // What ends a text is no part of any, so that the boundaries count.
        hash.update([0]);
    }
    hash.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl FromStr for Rules {
    type Err = Error;

    /// As [`Rules::from_json`].
    fn from_str(text: &str) -> Result<Self> {
        Self::from_json(text)
    }
}
