//! Limits of single routes.

mod naming;
mod options;
mod rules;
mod stated;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Response;
use http::request::Parts;

use options::Options;
use rules::RouteRules;
pub use stated::{Limits, RouteLimit};

use super::answer::{Answer, hook};
use super::common::{Common, OnError, common_options};
use super::count::Count;
use super::keys::{Keys, NoAddress, NoKey};
use super::named::{self, mistake};
use super::refusal::Refusal;
use crate::http::{ForwardedHeader, TrustedProxies};
use crate::{AsyncRateLimiter, Check, CheckOptions, Decision, HeaderStyle, Reservation, Result};

/// Makes layers that limit single routes, with one limiter and one set of options.
///
/// ```
/// use axum::extract::MatchedPath;
/// use axum::{Router, routing::get};
/// use sluicegate::tower::RouteLimits;
/// use sluicegate::{AsyncRateLimiter, Rules};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = AsyncRateLimiter::builder("memory://").rules(Rules::default()).connect().await?;
/// let limits = RouteLimits::new(limiter.into())
///     .template(|request| request.extensions.get::<MatchedPath>().map(MatchedPath::as_str));
/// let app: Router = Router::new()
///     .route("/search", get(async || "found").layer(limits.layer(["5/second", "100/hour"])?))
///     .route("/items/{id}", get(async || "item").layer(limits.layer("50/minute")?));
/// # let _ = app;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "limits do nothing until a layer of theirs is put around a service"]
pub struct RouteLimits {
    options: Options,
}

impl RouteLimits {
    /// Creates limits that are decided by this limiter.
    pub fn new(limiter: Arc<AsyncRateLimiter>) -> Self {
        Self { options: Options::new(limiter) }
    }

    /// Makes the layer of one route. A limit is a rate such as `5/minute`, the name of a rule of the limiter, or a
    /// [rule](crate::rules::RuleBuilder); several, as an array, are decided together, all or nothing.
    ///
    /// A rate is a rule of its own, which is added to the limiter: `<name>:<template of the route>:<rate>`. A clone of these limits
    /// may have other options for one route: `limits.clone().cost(|_| 5).layer("100/hour")?`.
    ///
    /// # Errors
    /// [`InvalidRule`](crate::ErrorKind::InvalidRule) for a limit that is not valid, for a named rule whose key is a part of the
    /// path, and for one without reservations where [`count`](Self::count) is not [`All`](Count::All);
    /// [`UnknownRule`](crate::ErrorKind::UnknownRule) for a name that no rule has;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for no limit, and for a rate where the [`template`](Self::template)
    /// is not known.
    pub fn layer(&self, limits: impl Into<Limits>) -> Result<RouteLimitLayer> {
        let rules = RouteRules::new(limits.into(), &self.options)?;
        Ok(RouteLimitLayer(Arc::new(Route { options: self.options.clone(), rules })))
    }

    /// What rules that are made of rates are named after, with the route. Services that share a Redis server and are not to share
    /// limits need different names. Default: `routes`.
    pub fn name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.options.name);
        self
    }

    /// Where the template of the route is found, such as `/items/{id}`: axum's `MatchedPath`. Never the raw path, of which
    /// clients can think up as many as they like. Requests without one share a limit.
    pub fn template(
        mut self,
        find: impl for<'a> Fn(&'a Parts) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Self {
        self.options.template = Some(Arc::new(find));
        self
    }

    /// Several routes share their rates, under this name in place of the template.
    pub fn shared(mut self, name: &str) -> Self {
        self.options.shared = Some(name.to_owned());
        self
    }

    /// Whether each method of a route has a limit of its own; HEAD counts with GET. Default: all methods share one.
    pub fn per_method(mut self, per_method: bool) -> Self {
        self.options.per_method = per_method;
        self
    }

    /// What becomes of a request that is counted by its address and has none. Default: [`NoAddress::Shared`].
    pub fn no_address(mut self, no_address: NoAddress) -> Self {
        self.options.no_address = no_address;
        self
    }

    /// Whether anything is limited, for tests and for emergencies; the log says once if not. Default: `true`.
    pub fn enabled(mut self, enabled: bool) -> Self {
        if !enabled {
            log::warn!("limits of routes are off (enabled(false))");
        }
        self.options.enabled = enabled;
        self
    }

    common_options!(options.common);
}

/// Limits the requests to one route. Made by [`RouteLimits::layer`].
#[derive(Debug, Clone)]
#[must_use = "a layer does nothing until it is put around a service"]
pub struct RouteLimitLayer(pub(super) Arc<Route>);

/// The limits of one route.
pub(super) struct Route {
    options: Options,
    rules: RouteRules,
}

impl Route {
    pub(super) fn common(&self) -> &Common {
        &self.options.common
    }

    pub(super) fn limiter(&self) -> &Arc<AsyncRateLimiter> {
        &self.options.limiter
    }

    /// Decides a request; `None` where it is not limited.
    pub(super) async fn decide(&self, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        if !self.options.enabled {
            return Ok(None);
        }
        let template = self.options.template.as_ref().and_then(|find| find(parts));
        let decided = self.decide_at(template, parts).await;
        decided.map_err(|refusal| {
            let route = self.options.shared.as_deref().or(template).unwrap_or("without a template");
            refusal.at(&format!("route {route}"))
        })
    }

    async fn decide_at(&self, template: Option<&str>, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        // What is wrong with them is the application's mistake.
        let rules = self.rules.of(&parts.method, template, &self.options).map_err(mistake)?;
        let mut check_options = CheckOptions::new();
        check_options.cost = self.common().cost(parts).await?.unwrap_or(check_options.cost);
        check_options.limit = self.common().limit(parts).await?;
        let keys = match Keys::new(self.common(), self.options.no_address, parts).of_all(&rules).await {
            Ok(keys) => keys,
            Err(NoKey::Exempt) => return Ok(None),
            Err(NoKey::Refused(refusal)) => return Err(refusal),
        };
        let checks: Vec<Check<'_>> = rules
            .iter()
            .zip(&keys)
            .map(|(rule, key)| Check::new(&rule.id, key).with(check_options))
            .collect();
        named::decide(&self.options.limiter, &rules, &checks).await.map(Some)
    }
}

impl fmt::Debug for RouteLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RouteLimits").field(&self.options).finish()
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Route").field(&self.options).finish()
    }
}
