//! The rules of a limiter, as its calls see them: one snapshot each, without a lock.

use super::fixed::FixedRules;
use super::following::Followed;
use super::origin::Origin;
use super::snapshot::Snapshot;
use super::source::RuleSource;
use super::status::RulesStatus;
use crate::catalog::Catalog;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::Rules;
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
        self.share.validate(rules)?;
        Ok(RuleBook::Fixed(FixedRules::new(
            Catalog::new(rules.clone(), self.secrets, self.share).reporting(self.top_denied),
        )))
    }
}

/// The rules in force.
#[derive(Debug)]
pub(crate) enum RuleBook {
    Fixed(FixedRules),
    /// A forked child has not the thread that follows, and starts its own.
    Followed(PerProcess<Followed>),
}

impl RuleBook {
    #[inline(always)]
    pub(crate) fn snapshot(&self) -> Snapshot<'_> {
        match self {
            Self::Fixed(fixed) => fixed.snapshot(),
            Self::Followed(followed) => Snapshot::Current(followed.get(Followed::in_child).current()),
        }
    }

    /// Adds rules of the application, which stay whatever the source says.
    pub(crate) fn add(&self, more: &Rules) -> Result<()> {
        match self {
            Self::Fixed(fixed) => fixed.add(more),
            Self::Followed(followed) => followed.get(Followed::in_child).add(more),
        }
    }

    pub(crate) fn status(&self) -> RulesStatus {
        match self {
            Self::Fixed(fixed) => fixed.status(),
            Self::Followed(followed) => followed.get(Followed::in_child).status(),
        }
    }

    /// Follows no longer; the rules in force stay.
    pub(crate) fn close(&self) {
        if let Self::Followed(followed) = self {
            followed.get(Followed::in_child).stop();
        }
    }
}
