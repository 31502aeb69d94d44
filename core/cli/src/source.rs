//! Rules, as the command line names their source.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args as ClapArgs;
use sluicegate::sources::{FileSource, RuleSource, RulesStatus, TlsFiles, ZooKeeperSource, named};
use sluicegate::{RateLimiter, Rules};

use crate::outcome::CommandError;
use crate::stderr::warn;

/// Where rules are kept.
#[derive(Debug, ClapArgs)]
pub(crate) struct RulesArgs {
    /// Rules: a file, zookeeper://host1:port1,host2:port2/path (zookeepers:// with TLS), or JSON; comments allowed
    rules: OsString,
}

impl RulesArgs {
    pub(crate) fn source(&self) -> Result<Arc<dyn RuleSource>, CommandError> {
        source(&self.rules)
    }

    /// The rules at present, with warnings of those that are refused.
    pub(crate) fn load(&self) -> Result<Rules, CommandError> {
        load(&self.rules)
    }
}

/// The same of rules that an argument names.
pub(crate) fn load(argument: &OsStr) -> Result<Rules, CommandError> {
    let contents = Contents::load(source(argument)?)?;
    faults(&contents.status).for_each(warn);
    Ok(contents.rules)
}

/// The source that an argument names.
pub(crate) fn source(argument: &OsStr) -> Result<Arc<dyn RuleSource>, CommandError> {
    let Some(text) = argument.to_str() else { return Ok(Arc::new(FileSource::new(argument))) };
    let source = named(text)?;
    Ok(source.with_tls(tls_files()).transpose()?.unwrap_or(source))
}

static TLS_FILES: OnceLock<TlsFiles> = OnceLock::new();

/// The TLS files of the command line.
pub(crate) fn tls_files() -> &'static TlsFiles {
    TLS_FILES.get_or_init(TlsFiles::default)
}

pub(crate) fn set_tls_files(files: TlsFiles) {
    // Once, before anything is asked for them.
    let _ = TLS_FILES.set(files);
}

/// A source that can be written to.
pub(crate) enum Store {
    File(PathBuf),
    ZooKeeper(ZooKeeperSource),
}

impl Store {
    pub(crate) fn new(argument: &OsStr) -> Result<Self, CommandError> {
        if source(argument)?.fixed().is_some() {
            return Err(CommandError::Other(
                "JSON cannot be changed; name a file, or zookeeper://...".to_owned(),
            ));
        }
        // What no source took for an address is a path.
        let zookeeper = argument.to_str().and_then(|text| ZooKeeperSource::new(text.trim()).ok());
        Ok(match zookeeper {
            Some(plain) if !plain.name().starts_with("zookeepers:") => Self::ZooKeeper(plain),
            Some(secure) => Self::ZooKeeper(secure.tls_files(tls_files())?),
            None => Self::File(argument.into()),
        })
    }
}

/// What a source holds at present.
pub(crate) struct Contents {
    pub(crate) rules: Rules,
    pub(crate) status: RulesStatus,
}

impl Contents {
    pub(crate) fn load(source: impl RuleSource) -> Result<Self, CommandError> {
        let limiter = RateLimiter::builder("memory://").rules(source).build()?;
        Ok(Self { rules: limiter.rules(), status: limiter.rules_status() })
    }
}

/// What is refused, as messages: the name of the source, of the rule, and why.
pub(crate) fn faults(status: &RulesStatus) -> impl Iterator<Item = String> {
    let source = &status.source;
    status.refused.iter().map(move |it| format!("{source}/{}: {}", it.unit.escape_debug(), it.reason))
}
