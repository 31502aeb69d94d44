//! The source of rules that a text names.

use std::sync::Arc;

use super::file::FileSource;
use super::source::RuleSource;
use crate::error::{Error, ErrorKind, Result};
use crate::rules::Rules;

/// What JSON text begins with, comments and the mark of some editors included, and no path does.
const JSON: [&str; 4] = ["[", "{", "/*", "\u{feff}"];

/// The schemes of rules that ZooKeeper keeps.
const ZOOKEEPER: [&str; 2] = ["zookeeper://", "zookeepers://"];

/// The source that a text names: `zookeeper://host1:port1,host2:port2/path` (`zookeepers://` with TLS), JSON with rules (what begins with
/// a bracket, a brace or a comment), or else the path of a file.
///
/// # Errors
/// [`InvalidRule`](crate::ErrorKind::InvalidRule) as [`Rules::from_json`];
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) when the address of a ZooKeeper makes no sense.
///
/// ```
/// use sluicegate::sources::{RuleSource, named};
///
/// assert_eq!(named("/etc/limits.jsonc")?.name(), "/etc/limits.jsonc");
/// assert!(named("[]")?.fixed().is_some());
/// assert!(named("zookeper://user:password@host/path").is_err());
/// # Ok::<(), sluicegate::Error>(())
/// ```
pub fn named(text: &str) -> Result<Arc<dyn RuleSource>> {
    let begins = text.trim_start();
    // A path may begin with two slashes too; a comment is followed by something in another line.
    let is_json = |mark: &&str| begins.starts_with(*mark);
    if JSON.iter().any(is_json) || begins.starts_with("//") && begins.contains('\n') {
        return Ok(Arc::new(Rules::from_json(text)?));
    }
    let has = |scheme: &&str| begins.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme));
    if ZOOKEEPER.iter().any(has) {
        return zookeeper(text.trim());
    }
    if begins.is_empty() {
        let what = "rules: the text is empty; rules are JSON, the path of a file or zookeeper://...";
        return Err(Error::new(ErrorKind::InvalidRule, what));
    }
    if has_scheme(begins) {
        // It is not repeated: it may hold a password.
        let what = "rules: the scheme is not known; rules are JSON, the path of a file or zookeeper://...";
        return Err(Error::new(ErrorKind::InvalidArgument, what));
    }
    Ok(Arc::new(FileSource::new(text)))
}

/// Whether a text begins as a URL does (RFC 3986, 3.1).
fn has_scheme(text: &str) -> bool {
    let is_scheme_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.bytes().all(is_scheme_byte))
}

#[cfg(feature = "zookeeper")]
fn zookeeper(url: &str) -> Result<Arc<dyn RuleSource>> {
    Ok(Arc::new(super::zookeeper::ZooKeeperSource::new(url)?))
}

#[cfg(not(feature = "zookeeper"))]
fn zookeeper(_: &str) -> Result<Arc<dyn RuleSource>> {
    let what = "rules: this build has no ZooKeeper; enable the feature \"zookeeper\"";
    Err(Error::new(ErrorKind::InvalidArgument, what))
}
