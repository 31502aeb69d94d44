//! What a call answers that no server can decide.

/// What a call answers when no server can decide it: none is reached or answers in time, or the one that does is in no
/// state to decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fallback {
    /// The error.
    Error,
    /// Admits (fail open).
    Allow,
    /// Denies (fail closed).
    Deny,
    /// Decides in memory, by this process's share of the limits.
    Local,
}

impl Fallback {
    /// Every word, and its meaning.
    pub(crate) const WORDS: [(&'static str, Self); 4] =
        [("error", Self::Error), ("allow", Self::Allow), ("deny", Self::Deny), ("local", Self::Local)];

    /// The word that rules and options use: `"error"`, `"allow"`, `"deny"` or `"local"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Local => "local",
        }
    }

    /// The meaning of a word; `None`: it has none.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(name, _)| *name == word).map(|(_, meaning)| meaning)
    }
}

impl From<Fallback> for String {
    fn from(fallback: Fallback) -> Self {
        fallback.name().to_owned()
    }
}
