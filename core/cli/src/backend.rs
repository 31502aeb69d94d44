//! The arguments that name the backend.

use clap::Args as ClapArgs;
use sluicegate::sources::{RuleSource, TlsFiles};
use sluicegate::{Builder, RateLimiter};

use crate::outcome::CommandError;
use crate::source::tls_files;

const MEMORY: &str = "memory://";

#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct BackendArgs {
    /// Where counts are kept: memory://, redis://, rediss://, unix://, redis-cluster:// or
    /// redis-sentinel:// [default: memory://]
    #[arg(long, env = "SLUICEGATE_URL", hide_env_values = true)]
    url: Option<String>,
    /// What every name in Redis begins with
    #[arg(long)]
    prefix: Option<String>,
}

impl BackendArgs {
    /// The same with another URL, where one is given.
    pub(crate) fn at(&self, url: Option<&String>) -> Self {
        let Self { url: own, prefix } = self.clone();
        Self { url: url.cloned().or(own), prefix }
    }

    /// A limiter on the backend of `--url`; without one, in-memory.
    pub(crate) fn limiter(&self, rules: impl RuleSource) -> sluicegate::Result<RateLimiter> {
        let mut builder = builder(self.url.as_deref().unwrap_or(MEMORY)).rules(rules);
        if let Some(prefix) = &self.prefix {
            builder = builder.prefix(prefix);
        }
        builder.build()
    }

    /// A limiter on a server, for commands that are useless in-memory, where every command begins with empty state.
    pub(crate) fn server(&self, command: &str, rules: impl RuleSource) -> Result<RateLimiter, CommandError> {
        match self.url.as_deref() {
            None | Some(MEMORY) => Err(CommandError::Other(format!(
                "cannot {command}: counts in memory end with the command that made them (name a server with --url \
                 or SLUICEGATE_URL)"
            ))),
            Some(_) => Ok(self.limiter(rules)?),
        }
    }
}

/// A limiter on this backend, with the TLS files of the command line where it has TLS.
pub(crate) fn builder(url: &str) -> Builder {
    let builder = RateLimiter::builder(url);
    let has_tls = url.starts_with("rediss://") || url.contains("tls=true");
    if has_tls { with_files(builder, tls_files()) } else { builder }
}

fn with_files(mut builder: Builder, files: &TlsFiles) -> Builder {
    if let Some(ca) = &files.ca {
        builder = builder.tls_ca(ca);
    }
    if let Some(cert) = &files.cert {
        builder = builder.tls_cert(cert);
    }
    if let Some(key) = &files.key {
        builder = builder.tls_key(key);
    }
    builder
}
