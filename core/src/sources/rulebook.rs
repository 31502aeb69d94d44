//! The rules of a limiter, as its calls see them: one snapshot each, without a lock.

use std::ops::Deref;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::Guard;

use super::following::Followed;
use super::origin::Origin;
use super::source::RuleSource;
use super::status::RulesStatus;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::fork::PerProcess;

impl Origin {
    /// Loads the rules. May take some seconds when they are not [fixed](Self::is_fixed).
    pub(crate) fn open(self) -> Result<RuleBook> {
        let Some(rules) = self.source.fixed() else {
            return Ok(RuleBook::Followed(PerProcess::new(Followed::start(self)?)));
        };
        if self.cache.is_some() {
            let what = "rules_cache: requires rules from a file or ZooKeeper; these are fixed";
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        let catalog = Arc::new(Catalog::new(rules.clone(), self.secrets));
        Ok(RuleBook::Fixed { catalog, loaded_at: SystemTime::now() })
    }
}

/// The rules in force.
#[derive(Debug)]
pub(crate) enum RuleBook {
    Fixed {
        catalog: Arc<Catalog>,
        loaded_at: SystemTime,
    },
    /// A forked child has not the thread that follows, and starts its own.
    Followed(PerProcess<Followed>),
}

/// The rules that one call decides by, from beginning to end.
pub(crate) enum Snapshot<'a> {
    Fixed(&'a Arc<Catalog>),
    Current(Guard<Arc<Catalog>>),
}

impl Deref for Snapshot<'_> {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        match self {
            Self::Fixed(catalog) => catalog,
            Self::Current(catalog) => catalog,
        }
    }
}

impl RuleBook {
    #[inline(always)]
    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        match self {
            Self::Fixed { catalog, .. } => Snapshot::Fixed(catalog),
            Self::Followed(followed) => Snapshot::Current(followed.get(Followed::in_child).current()),
        }
    }

    pub(crate) fn status(&self) -> RulesStatus {
        let (catalog, loaded_at) = match self {
            Self::Fixed { catalog, loaded_at } => (catalog, *loaded_at),
            Self::Followed(followed) => return followed.get(Followed::in_child).status(),
        };
        RulesStatus {
            source: catalog.rules().name(),
            version: catalog.rules().version().to_owned(),
            rules: catalog.rules().len(),
            loaded_at,
            updates: 1,
            refusals: 0,
            refused: Vec::new(),
            reachable: true,
            cached: false,
            last_error: None,
        }
    }

    /// Follows no longer; the rules in force stay.
    pub(crate) fn close(&self) {
        if let Self::Followed(followed) = self {
            followed.get(Followed::in_child).stop();
        }
    }
}
