//! What a source of rules is.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use super::updates::Updates;
use crate::error::Result;
use crate::rules::Rules;

/// A running subscription to a source; dropping it stops it.
pub type Following<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// PEM files for connections with TLS: those of the limiter's options `tls_ca`, `tls_cert` and `tls_key`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// The certificate chain of this client; goes with `key`.
    pub cert: Option<PathBuf>,
    /// The private key of this client; goes with `cert`.
    pub key: Option<PathBuf>,
}

/// A place where rules are kept. Implement it for places of your own.
pub trait RuleSource: fmt::Debug + Send + Sync + 'static {
    /// What messages and [`RulesStatus`](super::RulesStatus) call it. Never contains a password.
    fn name(&self) -> String;

    /// Reports what the source holds, everything first and then every change, until dropped. Runs on a
    /// thread and a Tokio runtime of its own, so it may block for a while. When it returns or panics it is
    /// called again after a second.
    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a>;

    /// The rules of a source that never changes, which is not followed.
    fn fixed(&self) -> Option<&Rules> {
        None
    }

    /// The same source with the TLS files of the limiter that is about to follow it; none for a source that does not
    /// connect with TLS, for which they would be ignored.
    fn with_tls(&self, _files: &TlsFiles) -> Option<Result<Arc<dyn RuleSource>>> {
        None
    }
}

impl RuleSource for Rules {
    fn name(&self) -> String {
        "fixed".to_owned()
    }

    fn follow<'a>(&'a self, _: &'a Updates) -> Following<'a> {
        Box::pin(std::future::pending())
    }

    fn fixed(&self) -> Option<&Rules> {
        Some(self)
    }
}

impl RuleSource for Arc<dyn RuleSource> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        (**self).follow(updates)
    }

    fn fixed(&self) -> Option<&Rules> {
        (**self).fixed()
    }

    fn with_tls(&self, files: &TlsFiles) -> Option<Result<Arc<dyn RuleSource>>> {
        (**self).with_tls(files)
    }
}
