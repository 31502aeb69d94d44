//! The name of a rule.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use crate::key::is_same;

/// With this many a name takes four words.
const INLINE: usize = 30;

/// The name of a rule, wherever one is told: a `str` that is cheap to clone.
///
/// Every decision carries one. A name of up to 30 bytes is copied; a longer one is shared, which costs
/// what counting its references costs, above all where several threads do.
///
/// ```
/// use sluicegate::RuleId;
///
/// let id = RuleId::from("per_user");
/// assert_eq!(id, "per_user");
/// assert!(id.starts_with("per_"));
/// ```
#[derive(Clone)]
pub struct RuleId(Name);

#[derive(Clone)]
enum Name {
    Inline { length: u8, bytes: [u8; INLINE] },
    Shared(Arc<str>),
}

impl RuleId {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.0 {
            Name::Inline { length, bytes } => &bytes[..usize::from(*length).min(INLINE)],
            Name::Shared(name) => name.as_bytes(),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // What is inline was a `str`.
            Name::Inline { .. } => str::from_utf8(self.bytes()).unwrap_or_default(),
            Name::Shared(name) => name,
        }
    }
}

impl Default for RuleId {
    fn default() -> Self {
        Self(Name::Inline { length: 0, bytes: [0; INLINE] })
    }
}

impl From<&str> for RuleId {
    fn from(name: &str) -> Self {
        let mut bytes = [0; INLINE];
        let Some(start) = bytes.get_mut(..name.len()) else { return Self(Name::Shared(name.into())) };
        start.copy_from_slice(name.as_bytes());
        Self(Name::Inline { length: name.len() as u8, bytes })
    }
}

impl Deref for RuleId {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for RuleId {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for RuleId {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for RuleId {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for RuleId {}

impl PartialEq<str> for RuleId {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        is_same(self.bytes(), other.as_bytes())
    }
}

impl PartialEq<&str> for RuleId {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl Hash for RuleId {
    /// As a `str`, which maps of rules are asked with.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_stay_as_they_are() {
        for length in 0..=128 {
            let name = "x".repeat(length);
            assert_eq!(RuleId::from(name.as_str()).as_str(), name);
        }
        assert_eq!(RuleId::from("Grüße").as_str(), "Grüße");
    }
}
