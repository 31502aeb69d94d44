//! Where a limiter's rules come from.

use std::path::PathBuf;
use std::sync::Arc;

use super::source::RuleSource;
use crate::catalog::Share;
use crate::keys::secret::SecretNames;
use crate::rules::Rules;

/// Where a limiter's rules come from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) source: Arc<dyn RuleSource>,
    /// Where the last good rules are kept for a start without the source.
    pub(crate) cache: Option<PathBuf>,
    /// How keys of these rules are hidden that are secrets.
    pub(crate) secrets: SecretNames,
    /// The part of their limits that the limiter may use.
    pub(crate) share: Share,
    /// How many of the keys denied most are reported of each rule.
    pub(crate) top_denied: usize,
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            source: Arc::new(Rules::default()),
            cache: None,
            secrets: SecretNames::default(),
            share: Share::default(),
            top_denied: 0,
        }
    }
}

impl Origin {
    pub(crate) fn is_fixed(&self) -> bool {
        self.source.fixed().is_some()
    }
}
