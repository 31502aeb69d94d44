//! Rules, as the command line names their source.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as ClapArgs;
use sluicegate::sources::{FileSource, RuleSource, RulesStatus, ZooKeeperSource, named};
use sluicegate::{RateLimiter, Rules};

use crate::outcome::Failure;
use crate::stderr::warn;

/// Where rules are kept.
#[derive(Debug, ClapArgs)]
pub(crate) struct RulesArgs {
    /// Rules: a file, zookeeper://host1:port1,host2:port2/path, or JSON; comments allowed
    rules: OsString,
}

impl RulesArgs {
    pub(crate) fn source(&self) -> Result<Arc<dyn RuleSource>, Failure> {
        source(&self.rules)
    }

    /// The rules at present, with warnings of those that are refused.
    pub(crate) fn load(&self) -> Result<Rules, Failure> {
        let contents = Contents::load(self.source()?)?;
        faults(&contents.status).for_each(warn);
        Ok(contents.rules)
    }
}

/// The source that an argument names.
pub(crate) fn source(argument: &OsStr) -> Result<Arc<dyn RuleSource>, Failure> {
    match argument.to_str() {
        Some(text) => Ok(named(text)?),
        None => Ok(Arc::new(FileSource::new(argument))),
    }
}

/// A source that can be written to.
pub(crate) enum Store {
    File(PathBuf),
    ZooKeeper(ZooKeeperSource),
}

impl Store {
    pub(crate) fn new(argument: &OsStr) -> Result<Self, Failure> {
        if source(argument)?.fixed().is_some() {
            return Err(Failure::Other("JSON cannot be changed; name a file, or zookeeper://...".to_owned()));
        }
        // What no source took for an address is a path.
        let zookeeper = argument.to_str().and_then(|text| ZooKeeperSource::new(text.trim()).ok());
        Ok(zookeeper.map_or_else(|| Self::File(argument.into()), Self::ZooKeeper))
    }
}

/// What a source holds at present.
pub(crate) struct Contents {
    pub(crate) rules: Rules,
    pub(crate) status: RulesStatus,
}

impl Contents {
    pub(crate) fn load(source: impl RuleSource) -> Result<Self, Failure> {
        let limiter = RateLimiter::builder("memory://").rules(source).build()?;
        Ok(Self { rules: limiter.rules(), status: limiter.rules_status() })
    }
}

/// What is refused, as messages: the name of the source, of the rule, and why.
pub(crate) fn faults(status: &RulesStatus) -> impl Iterator<Item = String> {
    let source = &status.source;
    status.refused.iter().map(move |it| format!("{source}/{}: {}", it.unit.escape_debug(), it.reason))
}
