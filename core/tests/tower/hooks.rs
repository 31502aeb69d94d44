//! Functions of the application in the layers of tower: what they say of requests that rules match, and how they wait.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::Response;
use axum::routing::{any, get};
use sluicegate::ErrorKind;
use sluicegate::tower::{RateLimitLayer, RouteLimits, later};
use tokio::task::yield_now;

use super::axum_sites::{assert_mistake_is_named, header, limiter, number, server, statuses};
use super::logged::keep_lines;
use super::over_http::ask;

const RULES: &str = r#"[
    {"rule_id": "all", "identifier_type": "global", "rate": "100/hour", "cost": 2, "match": {}},
    {"rule_id": "orders", "identifier_type": "user_id", "rate": "2/hour", "match": {"path_pattern": "/orders/*"}},
    {"rule_id": "free", "rate": "1/hour"},
    {"rule_id": "gold", "limits": [{"rate": "3/minute"}, {"rate": "100/day"}]},
    {"rule_id": "place", "identifier_type": "global", "algorithm": "concurrency", "limit": 1}
]"#;

/// A layer that knows users.
async fn layer() -> RateLimitLayer {
    RateLimitLayer::new(limiter(RULES).await).user_id(|request| header(request, "x-user"))
}

async fn limited(layer: RateLimitLayer) -> SocketAddr {
    server(Router::new().fallback(any(async || "reached")).layer(layer)).await
}

#[tokio::test]
async fn the_limit_of_a_plan_takes_the_place_of_that_of_the_rules() {
    let plans = layer().await.limit(|request| number(request, "x-limit"));
    let server = limited(plans.clone().rules(["orders"]).unwrap()).await;
    let (alice, bob): (&[&str], &[&str]) =
        (&["GET /orders/1", "x-user: alice"], &["GET /orders/1", "x-user: bob", "x-limit: 3"]);
    assert_eq!(statuses(server, [alice, alice, alice]).await, [200, 200, 429]);
    assert_eq!(statuses(server, [bob, bob, bob, bob]).await, [200, 200, 200, 429]);
    let all = ask(limited(plans).await, &["GET /", "x-limit: 8"]).await;
    assert_eq!(all.header("ratelimit-policy"), Some("\"all\";q=8;w=3600"));
}

#[tokio::test]
async fn a_request_costs_what_its_rules_say_or_as_much_as_its_body_is_long() {
    let stated = ask(limited(layer().await.rules(["all"]).unwrap()).await, &["GET /"]).await;
    assert!(stated.header("ratelimit").unwrap().starts_with("\"all\";r=98;"), "{}", stated.head);
    let server =
        limited(layer().await.cost(|request| number(request, "content-length").unwrap_or(1).max(1))).await;
    // Each body has four bytes.
    for left in [96, 92] {
        let answer = ask(server, &["POST /"]).await;
        assert!(
            answer.header("ratelimit").unwrap().starts_with(&format!("\"all\";r={left};")),
            "{}",
            answer.head
        );
    }
}

#[tokio::test]
async fn the_application_chooses_the_rules() {
    let subset = limited(layer().await.rules(["orders"]).unwrap()).await;
    let order: &[&str] = &["GET /orders/1", "x-user: alice"];
    assert_eq!(statuses(subset, [order, order, order, &["GET /"]]).await, [200, 200, 429, 200]);
    assert_eq!(ask(subset, &["GET /"]).await.header("ratelimit"), None, "no rule is applied");

    let plans = layer().await.rules_by(|request| header(request, "x-plan").map(|plan| vec![plan]));
    let server = limited(plans).await;
    let (free, gold): (&[&str], &[&str]) =
        (&["GET /", "x-user: alice", "x-plan: free"], &["GET /", "x-user: alice", "x-plan: gold"]);
    assert_eq!(statuses(server, [free, free]).await, [200, 429]);
    assert_eq!(statuses(server, [gold, gold, gold, gold]).await, [200, 200, 200, 429]);
    assert_eq!(statuses(server, [order, order, order]).await, [200, 200, 429], "all that match");
}

#[tokio::test]
async fn a_rule_is_counted_by_the_key_of_the_application() {
    let teams = layer().await.rules(["free"]).unwrap().key(|request| header(request, "x-team"));
    let requests: [&[&str]; 3] = [
        &["GET /", "x-user: alice", "x-team: red"],
        &["GET /", "x-user: bob", "x-team: red"],
        &["GET /", "x-user: bob", "x-team: blue"],
    ];
    assert_eq!(statuses(limited(teams).await, requests).await, [200, 429, 200]);
}

#[tokio::test]
async fn a_place_is_held_for_a_request_in_flight() {
    let server = limited(layer().await.rules(["place"]).unwrap()).await;
    for _ in 0..3 {
        let answer = ask(server, &["GET /"]).await;
        assert_eq!(answer.status, 200);
        assert!(answer.header("ratelimit").unwrap().starts_with("\"place\";r=0;"), "{}", answer.head);
    }
}

#[tokio::test]
async fn names_are_known_at_the_start() {
    let refused = |layer: sluicegate::Result<RateLimitLayer>| layer.unwrap_err().kind();
    assert_eq!(refused(layer().await.rules(["nobody"])), ErrorKind::UnknownRule);
    assert_eq!(refused(layer().await.rules([])), ErrorKind::InvalidArgument);
}

/// Asks somebody else, as a database.
async fn asked<T>(value: T) -> T {
    yield_now().await;
    value
}

#[tokio::test]
async fn functions_of_all_requests_may_wait() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    let layer = RateLimitLayer::new(limiter(RULES).await)
        .user_id(|request| later(asked(header(request, "x-user"))))
        .api_key(|_| later(asked(None)))
        .skip(|request| later(asked(request.uri.path() == "/health")))
        .cost(|_| later(asked(1)))
        .limit(|request| later(asked(number(request, "x-limit"))))
        .rules_by(|_| later(asked(Some(vec!["orders".to_owned()]))))
        .on_decision(move |_, decision| {
            let (telling, allowed) = (Arc::clone(&telling), decision.allowed);
            later(async move {
                let allowed = asked(allowed).await;
                telling.lock().unwrap().push(allowed);
            })
        })
        .on_denied(|_, decision| later(asked(Response::new(format!("own {}", decision.rule)))));
    let server = limited(layer).await;
    let order: &[&str] = &["GET /orders/1", "x-user: alice", "x-limit: 1"];
    assert_eq!(ask(server, order).await.body, "reached");
    let own = ask(server, order).await;
    assert_eq!((own.status, own.body.as_str()), (200, "own orders"));
    assert!(own.header("retry-after").is_some());
    assert_eq!(ask(server, &["GET /health"]).await.body, "reached");
    assert_eq!(*told.lock().unwrap(), [true, false]);
}

#[tokio::test]
async fn functions_of_a_route_may_wait() {
    let limits = RouteLimits::new(limiter(RULES).await)
        .template(|_| Some("/"))
        .key(|request| later(asked(header(request, "x-user"))))
        .limit(|request| later(asked(number(request, "x-limit"))));
    let app = Router::new().route("/", get(async || "reached").layer(limits.layer("1/hour").unwrap()));
    let server = server(app).await;
    let requests: [&[&str]; 4] = [
        &["GET /", "x-user: alice"],
        &["GET /", "x-user: alice"],
        &["GET /", "x-user: bob", "x-limit: 2"],
        &["GET /", "x-user: bob", "x-limit: 2"],
    ];
    assert_eq!(statuses(server, requests).await, [200, 429, 200, 200]);
}

#[tokio::test]
async fn a_mistake_of_the_application_is_named() {
    keep_lines();
    let named = async |name: &'static str| layer().await.rules_by(move |_| Some(vec![name.to_owned()]));
    let mistakes = [
        (layer().await.cost(|_| 0), "cost returned 0"),
        (layer().await.limit(|_| Some(0)), "limit returned 0"),
        (layer().await.user_id(|_| Some(String::new())), "user_id returned an empty text"),
        (named("nobody").await, "no rule"),
        (layer().await.rules_by(|_| Some(Vec::new())), "rules_by returned an empty list"),
        (
            named("gold").await.limit(|_| Some(5)),
            "rule \"gold\": a limit can be given only for a rule with a single limit",
        ),
        (named("free").await.key(|_| None), "key returned nothing"),
    ];
    for (layer, said) in mistakes {
        let server = limited(layer).await;
        assert_mistake_is_named(server, &["GET /", "x-user: secret"], &format!("middleware: {said}")).await;
    }
}
