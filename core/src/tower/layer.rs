//! The layer for all requests, and its options.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http::request::Parts;

use super::answer::{Answer, find, hook};
use super::chosen::{self, Names};
use super::common::{Common, OnError, common_options};
use super::count::Count;
use super::refusal::Refusal;
use crate::http::{ForwardedHeader, TrustedProxies};
use crate::{AsyncRateLimiter, Decision, Error, ErrorKind, HeaderStyle, Request, Reservation, Result};

/// Limits the requests to a service by the rules that match them. See the [module](crate::tower) for an example.
#[derive(Clone)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct RateLimitLayer {
    pub(super) limiter: Arc<AsyncRateLimiter>,
    pub(super) common: Common,
    ignore_case: bool,
    names: Names,
}

impl RateLimitLayer {
    /// Creates a layer that checks requests with this limiter.
    pub fn new(limiter: Arc<AsyncRateLimiter>) -> Self {
        Self { limiter, common: Common::new(), ignore_case: false, names: Names::All }
    }

    /// Whether the service routes without regard to capitals. Default: it does not, as axum.
    pub fn ignore_case(mut self, ignore_case: bool) -> Self {
        self.ignore_case = ignore_case;
        self
    }

    /// Which rules may be applied, by their names. One that is named is applied if it matches; if it has no `match`, it is applied in
    /// any case. Default: all rules that match.
    ///
    /// # Errors
    /// [`UnknownRule`](ErrorKind::UnknownRule) for a name that no rule has, [`InvalidArgument`](ErrorKind::InvalidArgument) for no
    /// name.
    pub fn rules<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let names: Arc<[String]> = names.into_iter().map(str::to_owned).collect();
        if names.is_empty() {
            let empty = "rules is empty: leave it out for all rules that match (`skip` exempts requests)";
            return Err(Error::new(ErrorKind::InvalidArgument, empty));
        }
        for name in names.iter() {
            self.limiter.rules().find(name)?;
        }
        self.names = Names::These(names);
        Ok(self)
    }

    /// The same by a function of the request, such as for plans that are rules of their own; `None`: all rules that match. A name that
    /// no rule has is a mistake, which is answered with 500, and so is an empty list.
    pub fn rules_by<A: Into<Answer<Option<Vec<String>>>>>(
        mut self,
        names: impl Fn(&Parts) -> A + Send + Sync + 'static,
    ) -> Self {
        self.names = Names::By(hook(names));
        self
    }

    common_options!(common);

    /// Says that the response makes no difference to what is charged, where no rule is reserved until it is there.
    pub(super) fn warn_if_response_does_not_count(&self) {
        let has_none = || self.limiter.rules().iter().all(|rule| rule.lease_us.is_none());
        if self.common.count.word().is_some() && has_none() {
            log::warn!(
                "count: every request is charged, whatever its response (add \"reservations\": true to a rule)"
            );
        }
    }

    /// Decides a request; `None` where no rule is to be applied.
    pub(super) async fn decide(&self, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        self.decided(parts).await.map_err(|refusal| refusal.at("middleware"))
    }

    async fn decided(&self, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        let user_id = find(&self.common.user_id, parts).await;
        let api_key = find(&self.common.api_key, parts).await;
        if user_id.as_ref().is_some_and(String::is_empty) {
            return Err(Refusal::empty_user());
        }
        let ip = self.common.client(parts);
        let ip = ip.map(|address| address.to_string());
        let headers = texts(parts);
        let mut request = Request::new(parts.method.as_str(), target(parts));
        request.user_id = user_id.as_deref();
        request.api_key = api_key.as_deref();
        request.ip = ip.as_deref();
        request.headers = headers.iter().map(|(name, value)| (*name, value.as_ref())).collect();
        request.ignore_case = self.ignore_case;
        match self.chooses() {
            // In one call.
            false => Ok(Some(self.limiter.reserve_request(&request).await?)),
            true => chosen::decide(&self.limiter, (&self.common, &self.names), (&request, parts)).await,
        }
    }

    /// Whether the application says more of a request than who sent it.
    fn chooses(&self) -> bool {
        !matches!(self.names, Names::All) || self.common.cost.is_some() || self.common.limit.is_some()
    }
}

/// The path as the client sent it; CONNECT has none.
fn target(parts: &Parts) -> &str {
    parts.uri.path_and_query().map_or("/", |target| target.as_str())
}

/// Values need not be UTF-8; a rule that only wants the header to be present still applies.
fn texts(parts: &Parts) -> Vec<(&str, Cow<'_, str>)> {
    let headers = parts.headers.iter();
    headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()))).collect()
}

impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("common", &self.common)
            .field("ignore_case", &self.ignore_case)
            .finish_non_exhaustive()
    }
}
