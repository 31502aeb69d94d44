//! An application in axum behind the layer. It says its port and ends with its input. A handler that runs says in a
//! header what was charged: each request has a limiter of its own, of which the handler looks at the key that it saw.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use serde_json::json;
use sluicegate::tower::RateLimitLayer;
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tower_layer::Layer;
use tower_service::Service;

const RULES: &str = include_str!("../../rules.json");

type Limiter = Extension<Arc<AsyncRateLimiter>>;
type Names = Path<HashMap<String, String>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::from_json(RULES)?;
    let app = routes();
    let limited = any(move |request: Request| limited(rules.clone(), app.clone(), request));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", listener.local_addr()?.port());
    let ended = async { _ = tokio::io::stdin().read_to_end(&mut Vec::new()).await };
    axum::serve(listener, Router::new().fallback_service(limited)).with_graceful_shutdown(ended).await?;
    Ok(())
}

/// Decides the request by a limiter that nobody has asked before.
async fn limited(rules: Rules, app: Router, mut request: Request) -> Response {
    let limiter = AsyncRateLimiter::builder("memory://").rules(rules).connect().await;
    let Ok(limiter) = limiter.map(Arc::new) else { return "no limiter".into_response() };
    request.extensions_mut().insert(limiter.clone());
    let answered: Result<_, Infallible> = RateLimitLayer::new(limiter).layer(app).call(request).await;
    answered.map_or_else(|never| match never {}, |response| response.map(Body::new))
}

fn routes() -> Router {
    let files = Router::new().route("/{*rest}", get(|limiter: Limiter| ran(limiter, "files", None)));
    let graphql = Router::new().fallback(|limiter: Limiter| ran(limiter, "graphql", None));
    let inner = |limiter: Limiter, names: Names| named(limiter, "inner", names, "t");
    Router::new()
        .route("/login", post(|limiter: Limiter| ran(limiter, "login", None)))
        .route("/status", get(|limiter: Limiter| ran(limiter, "status", None)))
        .route("/a", get(|limiter: Limiter| ran(limiter, "a", None)))
        .route("/api/{t}/{*rest}", get(|limiter: Limiter, names: Names| named(limiter, "tenant", names, "t")))
        .route("/items/{id}", get(|limiter: Limiter, names: Names| named(limiter, "item", names, "id")))
        .nest("/files", files)
        .nest("/graphql", graphql)
        .nest("/sub", Router::new().route("/inner/{t}", get(inner)))
        .route(
            "/keys",
            get(|limiter: Limiter, headers: HeaderMap| async move {
                let key = headers.get("x-api-key").and_then(|key| key.to_str().ok()).map(str::to_owned);
                ran(limiter, "keys", key).await
            }),
        )
        .route("/d/{x}/download", get(|limiter: Limiter| ran(limiter, "download", None)))
}

async fn named(limiter: Limiter, rule: &'static str, Path(mut names): Names, name: &str) -> Response {
    ran(limiter, rule, names.remove(name)).await
}

/// The answer of a handler that ran, for this rule and the key that it saw.
async fn ran(Extension(limiter): Limiter, rule: &'static str, key: Option<String>) -> Response {
    let expected = key.as_deref().map_or_else(|| "global".to_owned(), key_of);
    let is_charged = match limiter.peek(rule, &expected).await {
        Ok(decision) => decision.remaining < decision.limit,
        Err(_) => false,
    };
    let charged = if is_charged { vec![(rule, expected)] } else { Vec::new() };
    let report = json!({ "rule": rule, "key": key, "charged": charged }).to_string();
    let escaped: String = report.bytes().map(|byte| format!("%{byte:02X}")).collect();
    ([("x-ran", escaped)], "ran").into_response()
}

/// The key of what a handler saw: what would be misread in a path is escaped, and `/` is an empty name.
fn key_of(seen: &str) -> String {
    if seen.is_empty() {
        return "/".to_owned();
    }
    let escaped = |char: char| match char {
        '%' | '?' | '#' | '/' | '\0'..='\x1f' | '\x7f' => format!("%{:02X}", u32::from(char)),
        _ => char.to_string(),
    };
    seen.chars().map(escaped).collect()
}
