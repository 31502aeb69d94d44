//! Limits of single routes of axum, asked over HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{ConnectInfo, Extension, MatchedPath};
use axum::http::{Method, Response, StatusCode};
use axum::routing::{any, get, post};
use sluicegate::rules::Rule;
use sluicegate::tower::{Count, NoAddress, RateLimitLayer, RouteLimits};
use sluicegate::{AsyncRateLimiter, Decision, ErrorKind};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::axum_sites::{assert_mistake_is_named, header, limiter, number, server, statuses};
use super::logged::keep_lines;
use super::over_http::ask;

const RULES: &str = r#"[
    {"rule_id": "tight", "identifier_type": "global", "rate": "1/day"},
    {"rule_id": "users", "identifier_type": ["user_id", "header:x-device"], "rate": "1/day"},
    {"rule_id": "places", "identifier_type": "global", "algorithm": "concurrency", "limit": 2},
    {"rule_id": "segments", "identifier_type": "path:id", "rate": "1/day", "match": {"path_pattern": "/x/{id}"}}
]"#;

/// Limits that know the routes of axum and the addresses of peers.
fn limits(limiter: &Arc<AsyncRateLimiter>) -> RouteLimits {
    RouteLimits::new(Arc::clone(limiter))
        .template(|request| request.extensions.get::<MatchedPath>().map(MatchedPath::as_str))
        .peer(|request| Some(request.extensions.get::<ConnectInfo<SocketAddr>>()?.0.ip()))
}

#[tokio::test]
async fn each_route_has_its_limit_whatever_the_path() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter).name("shop");
    let seen = async |Extension(decision): Extension<Decision>| decision.rule.to_string();
    let items = Router::new().route("/items/{id}", any(seen).layer(limits.layer("1 / hour").unwrap()));
    let app = Router::new()
        .route("/search", get(seen).layer(limits.layer("1/hour").unwrap()))
        .route("/free", get(async || "free"))
        .nest("/v1", items);
    let server = server(app).await;
    let first = ask(server, &["GET /v1/items/1"]).await;
    assert_eq!(first.status, 200);
    assert!(first.body.starts_with("shop:/v1/items/_id_:1/hour-"), "{}", first.body);
    assert!(first.header("ratelimit").unwrap().contains(";r=0;t="), "{}", first.head);
    let denied = ask(server, &["POST /v1/items/2?x"]).await;
    assert_eq!((denied.status, denied.problem()["rule"].as_str()), (429, Some(&*first.body)));
    assert_eq!(denied.header("cache-control"), Some("no-store"));
    assert_eq!(ask(server, &["GET /search"]).await.body, "shop:/search:1/hour");
    let others: [&[&str]; 3] = [&["GET /search"], &["GET /free"], &["GET /free"]];
    assert_eq!(statuses(server, others).await, [429, 200, 200]);
}

#[tokio::test]
async fn several_limits_admit_together_or_charge_nothing() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter).key(|_| Some("alice".to_owned()));
    let layer = limits.layer(["5/hour", "tight"]).unwrap();
    let server = server(Router::new().route("/a", get(async || "a").layer(layer))).await;
    let twice: [&[&str]; 2] = [&["GET /a"], &["GET /a"]];
    assert_eq!(statuses(server, twice).await, [200, 429]);
    assert_eq!(limiter.peek("routes:/a:5/hour", "alice").await.unwrap().remaining, 4);
    assert_eq!(limiter.peek("tight", "global").await.unwrap().remaining, 0);
}

#[tokio::test]
async fn users_devices_and_addresses_are_counted_apart() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter).user_id(|request| header(request, "x-user"));
    let app = Router::new()
        .route("/rate", get(async || "a").layer(limits.layer("1/hour").unwrap()))
        .route("/rule", get(async || "a").layer(limits.layer("users").unwrap()));
    let server = server(app).await;
    let requests: [&[&str]; 5] = [
        &["GET /rate", "x-user: alice"],
        &["GET /rate", "x-user: alice"],
        &["GET /rate", "x-user: 127.0.0.1"],
        &["GET /rate"],
        &["GET /rate"],
    ];
    assert_eq!(statuses(server, requests).await, [200, 429, 200, 200, 429]);
    let requests: [&[&str]; 4] = [
        &["GET /rule", "x-user: alice", "x-device: phone"],
        &["GET /rule", "x-user: alice", "x-device: desk"],
        &["GET /rule", "x-user: alice", "x-device: desk"],
        &["GET /rule", "x-user: alice"],
    ];
    assert_eq!(statuses(server, requests).await, [200, 200, 429, 400]);
}

#[tokio::test]
async fn cost_plan_and_exemption_are_the_applications_word() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter)
        .skip(|request| request.method == Method::OPTIONS)
        .cost(|request| number(request, "x-cost").unwrap_or(1))
        .limit(|request| number(request, "x-plan"));
    let server =
        server(Router::new().route("/", any(async || "a").layer(limits.layer("5/hour").unwrap()))).await;
    let requests: [&[&str]; 6] = [
        &["GET /", "x-cost: 5"],
        &["GET /"],
        &["OPTIONS /"],
        &["GET /", "x-plan: 100"],
        &["GET /", "x-cost: 0"],
        &["GET /", "x-plan: 0"],
    ];
    assert_eq!(statuses(server, requests).await, [200, 429, 200, 200, 500, 500]);
}

#[tokio::test]
async fn a_denial_may_be_answered_by_the_application() {
    let limiter = limiter(RULES).await;
    let decisions = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&decisions);
    let limits = limits(&limiter)
        .on_decision(move |_, decision| told.lock().unwrap().push(decision.allowed))
        .on_denied(|request, decision| {
            let text = format!("{}: {}", request.uri.path(), decision.rule);
            Response::builder().status(420).header("cache-control", "private").body(text).unwrap()
        });
    let server =
        server(Router::new().route("/", get(async || "a").layer(limits.layer("1/hour").unwrap()))).await;
    assert_eq!(ask(server, &["GET /"]).await.status, 200);
    let denied = ask(server, &["GET /"]).await;
    assert_eq!((denied.status, denied.body.as_str()), (420, "/: routes:/:1/hour"));
    assert_eq!(denied.header("cache-control"), Some("private"), "its own");
    assert!(denied.header("retry-after").is_some() && denied.header("ratelimit").is_some());
    assert_eq!(*decisions.lock().unwrap(), [true, false]);
}

#[tokio::test]
async fn headers_are_those_of_the_innermost_limit() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter);
    let all = limits.clone().shared("all").layer("1000/hour").unwrap();
    let app = Router::new().route("/free", get(async || "free")).route(
        "/a",
        get(async || [("ratelimit", "the application's")]).layer(limits.layer("1/hour").unwrap()),
    );
    let server = server(app.layer(all).layer(RateLimitLayer::new(limiter))).await;
    for status in [200, 429] {
        let answer = ask(server, &["GET /a"]).await;
        let told = answer.header("ratelimit").unwrap();
        assert_eq!(
            (answer.status, told.split(';').next()),
            (status, Some("\"routes:/a:1/hour\"")),
            "{}",
            answer.head
        );
    }
    assert!(ask(server, &["GET /free"]).await.header("ratelimit").unwrap().starts_with("\"routes:all:"));
}

#[tokio::test]
async fn parallel_guesses_do_not_pass_together() {
    let limiter = limiter(RULES).await;
    let gate = Arc::new(Semaphore::new(0));
    let answered = Arc::clone(&gate);
    let login = async move || {
        answered.acquire().await.unwrap().forget();
        StatusCode::UNAUTHORIZED
    };
    let limits = limits(&limiter);
    let failures = limits.clone().count(Count::Failures).layer("3/hour").unwrap();
    let successes = limits.clone().count(Count::Successes).layer("1/hour").unwrap();
    let own = limits.count(Count::by(|response| response.status == 418)).layer("1/hour").unwrap();
    let app = Router::new()
        .route("/login", post(login).layer(failures))
        .route("/found", get(async || StatusCode::NOT_FOUND).layer(successes))
        .route("/tea/{status}", get(tea).layer(own));
    let server = server(app).await;
    let mut clients = JoinSet::new();
    for _ in 0..20 {
        clients.spawn(async move { ask(server, &["POST /login"]).await.status });
    }
    // While the first ones are not answered.
    for _ in 0..17 {
        assert_eq!(clients.join_next().await.unwrap().unwrap(), 429);
    }
    gate.add_permits(20);
    assert_eq!(clients.join_all().await, [401, 401, 401]);
    assert_eq!(ask(server, &["POST /login"]).await.status, 429, "failures are charged");

    let found: [&[&str]; 3] = [&["GET /found"]; 3];
    assert_eq!(self::statuses(server, found).await, [404, 404, 404], "failures are given back");
    let tea: [&[&str]; 4] = [&["GET /tea/200"], &["GET /tea/200"], &["GET /tea/418"], &["GET /tea/200"]];
    assert_eq!(self::statuses(server, tea).await, [200, 200, 418, 429]);
}

async fn tea(axum::extract::Path(status): axum::extract::Path<u16>) -> StatusCode {
    StatusCode::from_u16(status).unwrap()
}

#[tokio::test]
async fn exactly_the_limit_is_admitted_of_many_clients() {
    let limiter = limiter(RULES).await;
    let layer = limits(&limiter).layer(Rule::gcra("crowd").rate("50/day")).unwrap();
    let server = server(Router::new().route("/{any}", get(async || "a").layer(layer))).await;
    let mut clients = JoinSet::new();
    for client in 0..200 {
        clients.spawn(async move { ask(server, &[&format!("GET /{client}")]).await.status });
    }
    let statuses = clients.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 50);
    assert_eq!(limiter.peek("crowd", "127.0.0.1").await.unwrap().remaining, 0);
}

#[tokio::test]
async fn routes_may_share_a_limit_and_methods_may_not() {
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter);
    let shared = limits.clone().shared("both").layer("1/hour").unwrap();
    let methods = limits.clone().per_method(true).layer("1/hour").unwrap();
    let off = limits.enabled(false).layer("1/hour").unwrap();
    let app = Router::new()
        .route("/a", get(async || "a").layer(shared.clone()))
        .route("/b", get(async || "b").layer(shared))
        .route("/c", any(async || "c").layer(methods))
        .route("/d", get(async || "d").layer(off));
    let server = server(app).await;
    let requests: [&[&str]; 7] =
        [&["GET /a"], &["GET /b"], &["GET /c"], &["HEAD /c"], &["POST /c"], &["GET /d"], &["GET /d"]];
    assert_eq!(statuses(server, requests).await, [200, 429, 200, 429, 200, 200, 200]);
    assert!(limiter.rules().get("routes:both:1/hour").is_some());
}

#[tokio::test]
async fn what_no_route_matches_shares_a_limit() {
    let limiter = limiter(RULES).await;
    let layer = limits(&limiter).layer("1/hour").unwrap();
    let server = server(Router::new().route("/a", get(async || "a")).layer(layer)).await;
    let requests: [&[&str]; 3] = [&["GET /no"], &["GET /neither"], &["GET /a"]];
    assert_eq!(statuses(server, requests).await, [404, 429, 200]);
}

#[tokio::test]
async fn a_place_is_held_for_a_request_in_flight() {
    let limiter = limiter(RULES).await;
    let (rule, left) = (limits(&limiter).layer("places").unwrap(), Arc::clone(&limiter));
    let inside = async move || left.peek("places", "global").await.unwrap().remaining.to_string();
    let server = server(Router::new().route("/", get(inside).layer(rule))).await;
    for _ in 0..3 {
        assert_eq!(ask(server, &["GET /"]).await.body, "1");
    }
}

#[tokio::test]
async fn requests_without_an_address_are_a_stated_choice() {
    let limiter = limiter(RULES).await;
    let limits = RouteLimits::new(limiter).template(|_| Some("/fixed"));
    let layer = |choice| limits.clone().no_address(choice).layer("1/hour").unwrap();
    let app = Router::new()
        .route("/shared", get(async || "a").layer(layer(NoAddress::Shared)))
        .route("/deny", get(async || "a").layer(layer(NoAddress::Deny)))
        .route("/skip", get(async || "a").layer(layer(NoAddress::Skip)));
    let server = server(app).await;
    let requests: [&[&str]; 6] =
        [&["GET /shared"], &["GET /shared"], &["GET /deny"], &["GET /deny"], &["GET /skip"], &["GET /skip"]];
    assert_eq!(statuses(server, requests).await, [200, 429, 400, 400, 200, 200]);
}

#[tokio::test]
async fn what_cannot_limit_is_refused_at_the_start() {
    let limiter = limiter(RULES).await;
    let known = limits(&limiter);
    let refused = |limits: &RouteLimits, limit: &str| {
        let error = limits.layer(limit).unwrap_err();
        (error.kind(), error.message().to_owned())
    };
    assert_eq!(refused(&known, "5/fortnight").0, ErrorKind::InvalidRule);
    let (kind, message) = refused(&known, "tigth");
    assert_eq!(kind, ErrorKind::UnknownRule);
    assert!(message.contains("did you mean \"tight\""), "{message}");
    assert_eq!(refused(&known, "segments").0, ErrorKind::InvalidRule);
    let by_outcome = known.clone().count(Count::Failures);
    let (kind, message) = refused(&by_outcome, "tight");
    assert_eq!(kind, ErrorKind::InvalidRule);
    assert!(message.contains("reservations"), "{message}");
    let (kind, message) = refused(&RouteLimits::new(limiter), "5/minute");
    assert_eq!(kind, ErrorKind::InvalidArgument);
    assert!(message.starts_with("template: "), "{message}");
    assert_eq!(known.layer(Vec::<&str>::new()).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_mistake_of_the_application_is_named_and_limits_nobody_silently() {
    keep_lines();
    let charging =
        limiter(r#"[{"rule_id": "all", "identifier_type": "global", "rate": "1/s", "match": {}}]"#).await;
    let _: Router = Router::new().layer(RateLimitLayer::new(charging).count(Count::Failures));
    let limiter = limiter(RULES).await;
    let limits = limits(&limiter);
    let mistakes = [
        ("/nobody", limits.clone().key(|_| None), "key returned nothing"),
        ("/empty", limits.clone().key(|_| Some(String::new())), "key returned nothing"),
        ("/user", limits.clone().user_id(|_| Some(String::new())), "user_id returned an empty text"),
        ("/cost", limits.clone().cost(|_| 0), "cost returned 0"),
        ("/limit", limits.clone().limit(|_| Some(0)), "limit returned 0"),
        (
            "/costly",
            limits.clone().key(|_| Some("secret".to_owned())).cost(|_| u64::MAX),
            "rule \"routes:/costly:5/hour\": cost",
        ),
    ];
    let served = mistakes.iter().fold(Router::new(), |app, (path, limits, _)| {
        app.route(path, get(async || "reached").layer(limits.layer("5/hour").unwrap()))
    });
    let server = server(served).await;
    for (path, _, said) in mistakes {
        assert_mistake_is_named(server, &[&format!("GET {path}")], &format!("route {path}: {said}")).await;
    }
}

/// As with any function of an application that panics, the server ends the connection.
#[tokio::test]
async fn a_function_that_panics_admits_nobody() {
    let limits =
        limits(&limiter(RULES).await).key(|_| -> Option<String> { panic!("a key that cannot be found") });
    let reached = Arc::new(Semaphore::new(0));
    let handler = Arc::clone(&reached);
    let app = get(async move || handler.add_permits(1)).layer(limits.layer("5/hour").unwrap());
    let server = server(Router::new().route("/", app)).await;
    assert!(tokio::spawn(async move { ask(server, &["GET /"]).await.status }).await.is_err());
    assert_eq!(reached.available_permits(), 0);
}
