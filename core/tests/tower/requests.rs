//! The tower layer around a real server of axum, asked over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Extension};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::routing::any;
use sluicegate::tower::{OnError, RateLimitLayer};
use sluicegate::{AsyncRateLimiter, Decision, HeaderStyle, Rules};
use sluicegate_test_servers::Redis;

use super::axum_sites::server as serving;
use super::logged::{keep_lines, lines_with};
use super::over_http::ask;

const RULES: &str = r#"[
    {"rule_id": "orders", "identifier_type": "user_id", "algorithm": "fixed_window", "limit": 2,
     "window_size_seconds": 36000, "match": {"path_pattern": "/orders/*", "methods": ["GET"]}},
    {"rule_id": "login", "identifier_type": "ip_address", "algorithm": "gcra", "limit": 1,
     "window_size_seconds": 3600, "match": {"path_pattern": "/login"}},
    {"rule_id": "keys", "identifier_type": "api_key", "algorithm": "gcra", "limit": 1,
     "window_size_seconds": 3600, "match": {"path_pattern": "/keys"}},
    {"rule_id": "tried", "identifier_type": "global", "algorithm": "fixed_window", "limit": 1, "shadow": true,
     "window_size_seconds": 3600, "match": {"path_pattern": "/tried/*"}},
    {"rule_id": "sure", "identifier_type": "global", "algorithm": "fixed_window", "limit": 9,
     "window_size_seconds": 3600, "match": {"path_pattern": "/tried/*"}},
    {"rule_id": "alone", "identifier_type": "global", "algorithm": "fixed_window", "limit": 1, "shadow": true,
     "window_size_seconds": 3600, "match": {"path_pattern": "/alone/*"}},
    {"rule_id": "chats", "identifier_type": "global", "rate": "1/hour", "match": {"path_pattern": "/chat/*"}}
]"#;

async fn limiter(url: &str) -> Arc<AsyncRateLimiter> {
    let rules = Rules::from_json(RULES).unwrap();
    Arc::new(AsyncRateLimiter::builder(url).rules(rules).connect().await.unwrap())
}

fn header(name: &'static str) -> impl Fn(&Parts) -> Option<String> {
    move |request| Some(request.headers.get(name)?.to_str().ok()?.to_owned())
}

/// A layer that finds users, keys and peers.
async fn layer(url: &str) -> RateLimitLayer {
    RateLimitLayer::new(limiter(url).await)
        .user_id(header("x-user"))
        .api_key(header("x-api-key"))
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
}

/// A server on a free port that answers everything it gets.
async fn server(layer: RateLimitLayer) -> SocketAddr {
    serving(
        Router::new()
            .route("/", any(async || "home"))
            .route("/tried/{name}", any(shadow))
            .route("/alone/{name}", any(shadow))
            .route("/chat/{room}", any(async || StatusCode::SWITCHING_PROTOCOLS))
            .route("/{*path}", any(async |body: String| format!("served {body}")))
            .layer(layer),
    )
    .await
}

/// The rules in shadow that would have denied a request.
async fn shadow(decision: Option<Extension<Decision>>) -> String {
    let Some(Extension(decision)) = decision else { return "undecided".to_owned() };
    let parts = if decision.parts.is_empty() { std::slice::from_ref(&decision) } else { &decision.parts };
    let denied: Vec<&str> = parts.iter().filter(|part| part.shadow_denied).map(|part| &*part.rule).collect();
    denied.join(",")
}

#[tokio::test]
async fn a_request_is_admitted_with_headers_until_it_is_denied() {
    let server = server(layer("memory://").await).await;
    let alice = ["GET /orders/7?full", "x-user: alice"];
    let admitted = ask(server, &alice).await;
    assert_eq!((admitted.status, admitted.body.as_str()), (200, "served here"));
    assert_eq!(admitted.header("ratelimit-policy"), Some("\"orders\";q=2;w=36000"));
    assert!(admitted.header("ratelimit").unwrap().starts_with("\"orders\";r=1;t="));
    assert_eq!(admitted.header("retry-after"), None);
    assert_eq!(ask(server, &alice).await.status, 200);

    let denied = ask(server, &alice).await;
    assert_eq!(denied.status, 429);
    let wait = denied.header("retry-after").unwrap();
    assert!(denied.header("ratelimit").unwrap().starts_with("\"orders\";r=0;t="));
    let problem = denied.problem();
    assert_eq!((&problem["type"], &problem["status"]), (&"about:blank".into(), &429.into()));
    assert_eq!((&problem["title"], &problem["rule"]), (&"Too Many Requests".into(), &"orders".into()));
    assert_eq!(problem["detail"], format!("Try again in {wait} seconds."));

    assert_eq!(ask(server, &["GET /orders/7", "x-user: bob"]).await.status, 200);
    let unruled = ask(server, &["PUT /orders/7", "x-user: alice"]).await;
    assert_eq!((unruled.status, unruled.header("ratelimit")), (200, None));
}

#[tokio::test]
async fn no_spelling_of_a_path_slips_past() {
    let server = server(layer("memory://").await).await;
    let ask = async |target: &str| ask(server, &[&format!("POST {target}"), "x-api-key: k"]).await.status;
    assert_eq!(ask("/keys").await, 200);
    for target in ["/keys", "//keys", "/%6beys", "/x/../keys", "/keys/", "http://there/keys?a"] {
        assert_eq!(ask(target).await, 429, "{target}");
    }
}

#[tokio::test]
async fn forwarded_addresses_count_when_proxies_are_trusted() {
    let forwarded =
        ["POST /login", "x-forwarded-for: 192.0.2.1, [2001:db8::1]:80", "x-forwarded-for: 192.0.2.3"];
    let statuses = async |trusted_proxies: usize, others: &[&str]| {
        let server = server(layer("memory://").await.trusted_proxies(trusted_proxies)).await;
        (ask(server, &forwarded).await.status, ask(server, others).await.status)
    };
    let other_client = ["POST /login", "x-forwarded-for: 2001:db8:1::, 192.0.2.3"];
    let same_client = ["POST /login", "x-forwarded-for: 6.6.6.6, 2001:db8::2, 192.0.2.3"];
    assert_eq!(statuses(0, &other_client).await, (200, 429), "the peer is the same");
    assert_eq!(statuses(2, &other_client).await, (200, 200));
    assert_eq!(statuses(2, &same_client).await, (200, 429), "of the same network");
    assert_eq!(
        statuses(9, &["POST /login", "x-forwarded-for: who"]).await,
        (200, 429),
        "both are the peer's"
    );
}

#[tokio::test]
async fn the_handshake_of_a_websocket_is_denied_before_it_is_accepted() {
    let server = server(layer("memory://").await).await;
    let shake = ["GET /chat/1", "upgrade: websocket", "sec-websocket-version: 13"];
    assert_eq!(ask(server, &shake).await.status, 101);
    let denied = ask(server, &shake).await;
    assert_eq!((denied.status, denied.header("upgrade")), (429, None));
    assert_eq!(denied.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn headers_of_another_style() {
    let server = server(layer("memory://").await.headers(HeaderStyle::XRateLimitSeconds)).await;
    let answer = ask(server, &["POST /login"]).await;
    assert_eq!(
        (answer.header("x-ratelimit-limit"), answer.header("x-ratelimit-remaining")),
        (Some("1"), Some("0"))
    );
    assert_eq!((answer.header("x-ratelimit-reset"), answer.header("ratelimit")), (Some("3600"), None));
}

#[tokio::test]
async fn what_rules_in_shadow_would_deny_is_seen() {
    keep_lines();
    let limiter = limiter("memory://").await;
    let server = server(RateLimitLayer::new(Arc::clone(&limiter))).await;
    // A decision by one rule has no parts.
    for (path, rule) in [("/tried/1", "tried"), ("/alone/1", "alone")] {
        for expected in ["", rule] {
            let answer = ask(server, &[&format!("GET {path}")]).await;
            assert_eq!((answer.status, answer.body.as_str()), (200, expected));
        }
    }
    let line = |rule| format!("DEBUG a rule in shadow would deny this request: {rule}");
    // The limiter's own events come beside them.
    assert_eq!(lines_with("deny this request"), [line("tried"), line("alone")]);
    limiter.close();
    assert_eq!(ask(server, &["GET /alone/1"]).await.body, "undecided");
}

#[tokio::test]
async fn what_is_no_request_for_rules_is_a_bad_one() {
    let server = server(layer("memory://").await).await;
    let long = format!("GET /{}", "a".repeat(20_000));
    let answer = ask(server, &[&long]).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.problem()["detail"], "path is longer than 16384 bytes");
}

#[tokio::test]
async fn without_its_server_requests_are_admitted_or_denied() {
    let redis = Redis::start().unwrap();
    let admitting = server(layer(redis.url()).await).await;
    let denying = server(layer(redis.url()).await.on_error(OnError::Deny)).await;
    assert_eq!(ask(admitting, &["POST /login"]).await.status, 200);
    assert_eq!(ask(denying, &["POST /login"]).await.status, 429);
    redis.kill();
    let admitted = ask(admitting, &["POST /login"]).await;
    assert_eq!((admitted.status, admitted.header("ratelimit")), (200, None));
    let refused = ask(denying, &["POST /login"]).await;
    assert_eq!((refused.status, &refused.problem()["status"]), (503, &503.into()));
    redis.restart().unwrap();
    let back = async || {
        while ask(denying, &["POST /login"]).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back()).await.unwrap();
}
