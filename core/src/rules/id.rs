//! The name of a rule.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

use smol_str::SmolStr;

use crate::keys::key::is_same;

/// The name of a rule: a `str` that is cheap to clone.
///
/// Every decision carries one. A name of up to 23 bytes is copied; a longer one is shared, which costs
/// what counting its references costs, above all where several threads do.
///
/// ```
/// use sluicegate::RuleId;
///
/// let id = RuleId::from("per_user");
/// assert_eq!(id, "per_user");
/// assert!(id.starts_with("per_"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RuleId(SmolStr);

impl RuleId {
    /// The name.
    #[inline]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RuleId {
    fn from(name: &str) -> Self {
        Self(name.into())
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

impl PartialEq<str> for RuleId {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        is_same(self.as_str().as_bytes(), other.as_bytes())
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
