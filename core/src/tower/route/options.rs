//! What an application says of limits at routes.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;

use crate::AsyncRateLimiter;
use crate::tower::common::{Common, Find};

type Template = Arc<dyn for<'a> Fn(&'a Parts) -> Option<&'a str> + Send + Sync>;
type Number<T> = Arc<dyn Fn(&Parts) -> T + Send + Sync>;

/// What becomes of a request that is counted by its address and has none, such as one from a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum NoAddress {
    /// It is answered with 400.
    Deny,
    /// All such requests share one limit; a warning says so once.
    #[default]
    Shared,
    /// It is not limited.
    Skip,
}

/// The options of [`RouteLimits`](super::RouteLimits).
#[derive(Clone)]
pub(super) struct Options {
    pub(super) limiter: Arc<AsyncRateLimiter>,
    pub(super) common: Common,
    pub(super) name: String,
    pub(super) template: Option<Template>,
    pub(super) shared: Option<String>,
    pub(super) per_method: bool,
    pub(super) key: Option<Find<String>>,
    pub(super) cost: Option<Number<u64>>,
    pub(super) limit: Option<Number<Option<u64>>>,
    pub(super) no_address: NoAddress,
    pub(super) enabled: bool,
}

impl Options {
    pub(super) fn new(limiter: Arc<AsyncRateLimiter>) -> Self {
        Self {
            limiter,
            common: Common::new(),
            name: "routes".to_owned(),
            template: None,
            shared: None,
            per_method: false,
            key: None,
            cost: None,
            limit: None,
            no_address: NoAddress::default(),
            enabled: true,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("shared", &self.shared)
            .field("per_method", &self.per_method)
            .field("no_address", &self.no_address)
            .field("enabled", &self.enabled)
            .field("common", &self.common)
            .finish_non_exhaustive()
    }
}
