//! Keys of several parts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use crate::error::{Error, ErrorKind, Result};

/// Stands between two parts.
const SEPARATOR: char = ',';
/// Stands before a separator, or an escape, that belongs to a part.
const ESCAPE: char = '\\';

/// A key of several parts, such as a user and an address: what a rule counts whose `identifier_type` is an array.
///
/// The parts are escaped and joined, so that different parts are different keys, whatever they contain. The key is
/// passed to calls like any other.
///
/// ```
/// use sluicegate::{CompositeKey, RateLimiter, Rules};
///
/// let rules = Rules::from_json(r#"[{ "rule_id": "login", "rate": "5/minute" }]"#)?;
/// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
/// let key = CompositeKey::new(["alice", "10.0.0.1"])?;
/// assert_eq!(limiter.check("login", &key)?.remaining, 4);
/// assert_eq!(limiter.check("login", "alice,10.0.0.1")?.remaining, 3);
/// # Ok::<(), sluicegate::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CompositeKey(String);

impl CompositeKey {
    /// Joins parts, in this order.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](ErrorKind::InvalidArgument), when there is no part, or one is empty.
    pub fn new<P: AsRef<str>>(parts: impl IntoIterator<Item = P>) -> Result<Self> {
        let refused = |what: String| Error::new(ErrorKind::InvalidArgument, what);
        let mut key = String::new();
        for (at, part) in parts.into_iter().enumerate() {
            if part.as_ref().is_empty() {
                return Err(refused(format!("key[{at}] is empty; every part has to say who is counted")));
            }
            push(&mut key, part.as_ref());
        }
        match key.is_empty() {
            true => Err(refused("key is an empty array; it has to say who is counted".to_owned())),
            false => Ok(Self(key)),
        }
    }

    /// The joined form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Adds a part, which is not empty, to those before it.
pub(crate) fn push(key: &mut String, part: &str) {
    if !key.is_empty() {
        key.push(SEPARATOR);
    }
    for character in part.chars() {
        if matches!(character, SEPARATOR | ESCAPE) {
            key.push(ESCAPE);
        }
        key.push(character);
    }
}

/// The parts of a joined key, still escaped.
pub(crate) fn parts(key: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    key.split(move |character| {
        let ends = character == SEPARATOR && !is_escaped;
        is_escaped = character == ESCAPE && !is_escaped;
        ends
    })
}

/// Joins parts that are escaped.
pub(crate) fn join(parts: &[Cow<'_, str>]) -> String {
    parts.join(SEPARATOR.encode_utf8(&mut [0; 4]))
}

impl Deref for CompositeKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for CompositeKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CompositeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<CompositeKey> for String {
    fn from(key: CompositeKey) -> Self {
        key.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(parts: &[&str]) -> String {
        CompositeKey::new(parts).unwrap().into()
    }

    #[test]
    fn ordinary_parts_are_readable() {
        assert_eq!(joined(&["alice", "2001:db8::"]), "alice,2001:db8::");
        assert_eq!(joined(&["a,b", "c\\", "%2C"]), "a\\,b,c\\\\,%2C");
        assert_eq!(joined(&["alice"]), "alice");
    }

    #[test]
    fn what_is_empty_is_refused_by_name() {
        let refused = |parts: &[&str]| CompositeKey::new(parts).unwrap_err().message().to_owned();
        assert_eq!(refused(&[]), "key is an empty array; it has to say who is counted");
        assert_eq!(refused(&["a", ""]), "key[1] is empty; every part has to say who is counted");
    }

    fn unescaped(part: &str) -> String {
        let mut text = String::new();
        let mut characters = part.chars();
        while let Some(character) = characters.next() {
            text.extend(if character == ESCAPE { characters.next() } else { Some(character) });
        }
        text
    }

    proptest! {
        #[test]
        fn a_key_has_one_origin(given in prop::collection::vec(r"[a,\\\\%é\x00]{1,4}", 1..5)) {
            let key = CompositeKey::new(&given).unwrap();
            prop_assert_eq!(parts(&key).map(unescaped).collect::<Vec<_>>(), given);
            prop_assert_eq!(join(&parts(&key).map(Cow::Borrowed).collect::<Vec<_>>()), key.as_str());
        }
    }
}
