//! Limits of single routes.

mod keys;
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

use keys::{Keys, NoKey};
pub use options::NoAddress;
use options::Options;
use rules::RouteRules;
pub use stated::{Limits, RouteLimit};

use super::common::{Common, OnError, common_options};
use super::count::Count;
use super::refusal::Refusal;
use crate::http::{ForwardedHeader, TrustedProxies};
use crate::rules::Rule;
use crate::{
    AsyncRateLimiter, Check, CheckOptions, Decision, Error, ErrorKind, HeaderStyle, Reservation, Result,
};

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
    /// [`InvalidRule`](ErrorKind::InvalidRule) for a limit that is not valid, for a named rule whose key is a part of the path, and
    /// for one without reservations where [`count`](Self::count) is not [`All`](Count::All);
    /// [`UnknownRule`](ErrorKind::UnknownRule) for a name that no rule has; [`InvalidArgument`](ErrorKind::InvalidArgument) for no
    /// limit, and for a rate where the [`template`](Self::template) is not known.
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

    /// Who is counted by rates, and by rules without `identifier_type`; to find nobody is a mistake, which is answered with 500.
    /// For a key of several parts see [`CompositeKey`](crate::CompositeKey). Default: the user if [`user_id`](Self::user_id) finds
    /// one, or else the address.
    pub fn key(mut self, find: impl Fn(&Parts) -> Option<String> + Send + Sync + 'static) -> Self {
        self.options.key = Some(Arc::new(find));
        self
    }

    /// What a request costs; at least 1. Default: 1.
    pub fn cost(mut self, cost: impl Fn(&Parts) -> u64 + Send + Sync + 'static) -> Self {
        self.options.cost = Some(Arc::new(cost));
        self
    }

    /// The limit for a request in place of the rule's, such as that of a plan; `None`: the rule's. At least 1.
    pub fn limit(mut self, limit: impl Fn(&Parts) -> Option<u64> + Send + Sync + 'static) -> Self {
        self.options.limit = Some(Arc::new(limit));
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
        decided.map_err(|refusal| match refusal {
            Refusal::Broken(message) => {
                let route = self.options.shared.as_deref().or(template).unwrap_or("without a template");
                Refusal::Broken(format!("route {route}: {message}"))
            }
            other => other,
        })
    }

    async fn decide_at(&self, template: Option<&str>, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        // What is wrong with them is the application's mistake.
        let rules = self.rules.of(&parts.method, template, &self.options).map_err(mistake)?;
        let check_options = self.check_options(parts)?;
        let mut keys = Keys::new(&self.options, parts);
        let keys = match rules.iter().map(|rule| keys.of(rule)).collect::<Result<Vec<_>, _>>() {
            Ok(keys) => keys,
            Err(NoKey::Exempt) => return Ok(None),
            Err(NoKey::Refused(refusal)) => return Err(refusal),
        };
        let checks: Vec<Check<'_>> = rules
            .iter()
            .zip(&keys)
            .map(|(rule, key)| Check::new(&rule.id, key).with(check_options))
            .collect();
        let decided = call(&self.options.limiter, &rules, &checks).await;
        decided.map(Some).map_err(|error| match error.kind() {
            // What a client chooses is looked at before: this is what the route states.
            ErrorKind::InvalidArgument | ErrorKind::InvalidRule | ErrorKind::UnknownRule => mistake(error),
            _ => Refusal::Undecided(error),
        })
    }

    fn check_options(&self, parts: &Parts) -> Result<CheckOptions<'static>, Refusal> {
        let zero = |what| Refusal::Broken(format!("{what} returned 0 (at least 1; `skip` exempts requests)"));
        let mut options = CheckOptions::new();
        if let Some(cost) = &self.options.cost {
            options.cost = cost(parts);
        }
        options.limit = self.options.limit.as_ref().and_then(|limit| limit(parts));
        match options {
            CheckOptions { cost: 0, .. } => Err(zero("cost")),
            CheckOptions { limit: Some(0), .. } => Err(zero("limit")),
            options => Ok(options),
        }
    }
}

fn mistake(error: Error) -> Refusal {
    Refusal::Broken(error.message().to_owned())
}

async fn call(limiter: &AsyncRateLimiter, rules: &[Arc<Rule>], checks: &[Check<'_>]) -> Result<Reservation> {
    if rules.iter().any(|rule| rule.lease_us.is_some()) {
        return limiter.reserve_all(checks).await;
    }
    let decision = match checks {
        [check] => limiter.check_with(check.rule, check.key, check.options).await,
        several => limiter.check_all(several).await,
    };
    decision.map(Reservation::unheld)
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
