//! A layer that admits or denies HTTP requests, for axum, hyper and other services of tower.
//!
//! Every request is decided by [`reserve_request`](crate::AsyncRateLimiter::reserve_request). One that is denied is
//! answered with `429 Too Many Requests`, the [headers](crate::Decision::headers) of the decision and a small
//! `application/problem+json` body (RFC 9457). One that is admitted goes on to the service, whose answer gets the
//! headers too. A call of gRPC (`content-type: application/grpc`) is denied with its status `RESOURCE_EXHAUSTED` in place of 429, and
//! the handshake of a WebSocket is denied before it is accepted.
//!
//! ```
//! use std::net::SocketAddr;
//! use std::sync::Arc;
//!
//! use axum::extract::ConnectInfo;
//! use axum::{Router, routing::post};
//! use sluicegate::tower::RateLimitLayer;
//! use sluicegate::{AsyncRateLimiter, Rules};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = Rules::from_json(
//!     r#"[{ "rule_id": "login", "identifier_type": "ip_address",
//!           "algorithm": "gcra", "limit": 5, "window_size_seconds": 60,
//!           "match": { "path_pattern": "/login", "methods": ["POST"] } }]"#,
//! )?;
//! let limiter = AsyncRateLimiter::builder("memory://").rules(rules).connect().await?;
//! let layer = RateLimitLayer::new(Arc::new(limiter)).peer(|request| {
//!     request.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip())
//! });
//! let app: Router = Router::new().route("/login", post(async || "welcome")).layer(layer);
//! let service = app.into_make_service_with_connect_info::<SocketAddr>();
//! # let _ = service;
//! # Ok(())
//! # }
//! ```
//!
//! # Limits of routes
//!
//! [`RouteLimits`] limit single routes by rates that are stated there, `limits.layer("5/minute")?`, or by rules that are named.
//!
//! # Requests in flight
//!
//! What is reserved for a request, such as a place of a rule with the algorithm `concurrency`, is held until the body of
//! its response is over or dropped, also if the service fails or the client hangs up. It is renewed at half its lease while
//! that lasts, and then committed as it was reserved. The service finds it in the extensions of the request, as an
//! `Arc<`[`Reservation`](crate::Reservation)`>`, and may commit what it has used itself.
//!
//! The [`Decision`](crate::Decision) is in the extensions of the request too. What rules in shadow would have denied is in its
//! `parts`, and logged at debug.
//!
//! # Who is counted
//!
//! Users, API keys and addresses are found by functions of yours, which see the head of the request and whatever
//! earlier layers and the server put into its extensions. Where they have to wait, they answer [`later`]. **A rule does not apply to a request that lacks what
//! the rule counts by**: without [`peer`](RateLimitLayer::peer), rules per address limit nobody.
//!
//! `X-Forwarded-For` is ignored, since any client can send it, unless
//! [`trusted_proxies`](RateLimitLayer::trusted_proxies) says how many proxies of yours add to it.
//!
//! # Where to put it
//!
//! Outside of whatever rewrites paths (in axum: on the outermost `Router`, not on one that is nested), so that
//! path patterns see what the client sent; inside of whatever authenticates, if rules count users. How a path is
//! read is given with [`Request`](crate::Request); a request that can be read in too many ways is answered with
//! `400 Bad Request`.

mod answer;
mod body;
mod caches;
mod chosen;
mod common;
mod count;
mod flight;
mod keys;
mod layer;
mod named;
mod refusal;
mod route;
mod service;

pub use crate::http::{ForwardedHeader, TrustedProxies};
pub use answer::{Answer, later};
pub use body::ResponseBody;
pub use common::OnError;
pub use count::Count;
pub use keys::NoAddress;
pub use layer::RateLimitLayer;
pub use route::{Limits, RouteLimit, RouteLimitLayer, RouteLimits};
pub use service::RateLimit;
