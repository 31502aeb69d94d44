//! Limits at the routes of axum 0.7, the version before.

use std::net::SocketAddr;
use std::sync::Arc;

use axum_previous::extract::{ConnectInfo, Extension, MatchedPath};
use axum_previous::http::{HeaderMap, Response, StatusCode};
use axum_previous::routing::get;
use axum_previous::{Router, serve};
use sluicegate::tower::{Count, RouteLimits};
use sluicegate::{AsyncRateLimiter, Decision, Rules};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::over_http::ask;

/// Limits that know the routes and the addresses of peers.
async fn limits() -> RouteLimits {
    let builder = AsyncRateLimiter::builder("memory://").rules(Rules::default());
    RouteLimits::new(Arc::new(builder.connect().await.unwrap()))
        .template(|request| request.extensions.get::<MatchedPath>().map(MatchedPath::as_str))
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
}

async fn server(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(
        async move { serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await },
    );
    address
}

#[tokio::test]
async fn each_route_has_its_limit() {
    let limits = limits().await;
    let seen = |Extension(decision): Extension<Decision>| async move { decision.rule.to_string() };
    let items = Router::new().route("/items/:id", get(seen).layer(limits.layer("1/hour").unwrap()));
    let own = limits
        .clone()
        .on_denied(|_, decision| Response::builder().status(418).body(decision.rule.to_string()).unwrap());
    let app = Router::new()
        .nest("/v1", items)
        .route("/own", get(|| async { "own" }).layer(own.layer("1/hour").unwrap()))
        .route("/free", get(|| async { "free" }));
    let server = server(app).await;
    let first = ask(server, &["GET /v1/items/1"]).await;
    assert!(first.status == 200 && first.body.starts_with("routes:/v1/items/"), "{}", first.body);
    assert_eq!(ask(server, &["HEAD /v1/items/2"]).await.status, 429);
    let denied = ask(server, &["GET /v1/items/3"]).await;
    assert_eq!((denied.status, denied.problem()["rule"].as_str()), (429, Some(&*first.body)));
    assert_eq!(ask(server, &["GET /own"]).await.status, 200);
    let own = ask(server, &["GET /own"]).await;
    assert_eq!((own.status, own.body.as_str()), (418, "routes:/own:1/hour"));
    assert_eq!(
        [ask(server, &["GET /free"]).await.status, ask(server, &["GET /free"]).await.status],
        [200; 2]
    );
}

#[tokio::test]
async fn exactly_the_limit_is_admitted_of_many_clients() {
    let layer = limits().await.layer("50/day").unwrap();
    let server = server(Router::new().route("/:any", get(|| async { "a" }).layer(layer))).await;
    let mut clients = JoinSet::new();
    for client in 0..200 {
        clients.spawn(async move { ask(server, &[&format!("GET /{client}")]).await.status });
    }
    let statuses = clients.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 50);
}

#[tokio::test]
async fn failures_are_counted() {
    let layer = limits().await.count(Count::Failures).layer("1/hour").unwrap();
    let handler = get(|headers: HeaderMap| async move {
        if headers.contains_key("x-wrong") { StatusCode::UNAUTHORIZED } else { StatusCode::OK }
    });
    let server = server(Router::new().route("/login", handler.layer(layer))).await;
    let mut statuses = Vec::new();
    for request in [&["GET /login"][..], &["GET /login", "x-wrong: 1"], &["GET /login"]] {
        statuses.push(ask(server, request).await.status);
    }
    assert_eq!(statuses, [200, 401, 429]);
}
