//! What an application says of limits at routes.

use std::fmt;
use std::sync::Arc;

use http::request::Parts;

use crate::AsyncRateLimiter;
use crate::tower::common::Common;
use crate::tower::keys::NoAddress;

type Template = Arc<dyn for<'a> Fn(&'a Parts) -> Option<&'a str> + Send + Sync>;

/// The options of [`RouteLimits`](super::RouteLimits).
#[derive(Clone)]
pub(super) struct Options {
    pub(super) limiter: Arc<AsyncRateLimiter>,
    pub(super) common: Common,
    pub(super) name: String,
    pub(super) template: Option<Template>,
    pub(super) shared: Option<String>,
    pub(super) per_method: bool,
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
