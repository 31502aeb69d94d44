//! Limits at the routes of axum.
//!
//!     cargo run --package sluicegate-example-axum
//!     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

// --8<-- [start:limits]
use std::env::var;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Extension, MatchedPath, Path, Request};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::routing::{get, post};
use axum::{Router, serve};
use sluicegate::tower::RouteLimits;
use sluicegate::{AsyncRateLimiter, Decision, Rules};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // For several processes: redis://localhost/0.
    let url = var("LIMITER_URL").unwrap_or("memory://".to_owned());
    let limiter = AsyncRateLimiter::builder(&url).rules(Rules::default()).connect().await?;
    let limits = RouteLimits::new(Arc::new(limiter))
        .name("shop")
        .template(|request| request.extensions.get::<MatchedPath>().map(MatchedPath::as_str))
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
        .user_id(|request| Some(request.extensions.get::<User>()?.0.clone()))
        .trusted_proxies(var("PROXIES").map_or(Ok(0), |count| count.parse())?)
        .skip(|request| request.uri.path() == "/health")
        .on_denied(too_many);
    let app = Router::new()
        .merge(signup(&limits)?)
        .merge(with_users(&limits)?)
        .route("/health", get(async || "well"))
        .layer(limits.clone().shared("all").layer("1000/hour")?);
    let port = var("PORT").map_or(Ok(8000), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
// --8<-- [end:limits]

// --8<-- [start:address]
fn signup(limits: &RouteLimits) -> sluicegate::Result<Router> {
    let welcome = post(async || "welcome to the shop");
    Ok(Router::new().route("/signup", welcome.layer(limits.layer("3/hour")?)))
}
// --8<-- [end:address]

// --8<-- [start:user]
#[derive(Clone)]
struct User(String);

/// In place of authentication: `Authorization: Bearer alice` is alice.
async fn signed_in(mut request: Request, next: Next) -> Result<axum::response::Response, StatusCode> {
    let header = request.headers().get("authorization").and_then(|value| value.to_str().ok());
    let user = header.and_then(|value| value.strip_prefix("Bearer ")).ok_or(StatusCode::UNAUTHORIZED)?;
    let user = User(user.to_owned());
    request.extensions_mut().insert(user);
    Ok(next.run(request).await)
}

async fn report(Path(report): Path<u32>, Extension(decision): Extension<Decision>) -> String {
    format!("report {report}, {} left", decision.remaining)
}

fn with_users(limits: &RouteLimits) -> sluicegate::Result<Router> {
    let reports = Router::new().route("/{report}", get(report).layer(limits.layer(["4/hour", "20/day"])?));
    // What is added later runs earlier.
    Ok(Router::new().nest("/reports", reports).merge(exports(limits)?).route_layer(from_fn(signed_in)))
}
// --8<-- [end:user]

// --8<-- [start:plan]
/// How many exports a day a user has bought.
const PLANS: [(&str, u64); 1] = [("alice", 4)];

/// `None`: the limit of the route.
fn of_plan(request: &Parts) -> Option<u64> {
    let User(user) = request.extensions.get()?;
    PLANS.iter().find(|(name, _)| name == user).map(|(_, limit)| *limit)
}

fn exports(limits: &RouteLimits) -> sluicegate::Result<Router> {
    let layer = limits.clone().limit(of_plan).layer("2/day")?;
    Ok(Router::new().route("/exports", get(async || "250 rows").layer(layer)))
}
// --8<-- [end:plan]

// --8<-- [start:denied]
fn too_many(_: &Parts, decision: &Decision) -> Response<String> {
    let mut response = Response::new(format!("Too many requests for {}.", decision.rule));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response
}
// --8<-- [end:denied]
