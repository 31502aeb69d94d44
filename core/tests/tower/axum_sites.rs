//! Sites of axum with limits.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::{Router, serve};
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::net::TcpListener;

use super::logged::faults_with;
use super::over_http::ask;

pub(crate) async fn limiter(rules: &str) -> Arc<AsyncRateLimiter> {
    let rules = Rules::from_json(rules).unwrap();
    Arc::new(AsyncRateLimiter::builder("memory://").rules(rules).connect().await.unwrap())
}

pub(crate) fn header(request: &Parts, name: &str) -> Option<String> {
    Some(request.headers.get(name)?.to_str().ok()?.to_owned())
}

pub(crate) fn number(request: &Parts, name: &str) -> Option<u64> {
    header(request, name)?.parse().ok()
}

/// Serves on a free port.
pub(crate) async fn server(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { serve(listener, service).await });
    address
}

/// The statuses of requests one after the other.
pub(crate) async fn statuses<const N: usize>(server: SocketAddr, requests: [&[&str]; N]) -> [u16; N] {
    let mut statuses = [0; N];
    for (status, request) in statuses.iter_mut().zip(requests) {
        *status = ask(server, request).await.status;
    }
    statuses
}

/// A request that is answered 500, for which the log has an error that begins so, and never a key.
pub(crate) async fn assert_mistake_is_named(server: SocketAddr, request: &[&str], said: &str) {
    let answer = ask(server, request).await;
    assert_eq!((answer.status, answer.problem()["title"].as_str()), (500, Some("Internal Server Error")));
    let line = format!("ERROR {said}");
    assert_ne!(faults_with(&line), [""; 0], "{line}: {:?}", faults_with(""));
    assert_eq!(faults_with("secret"), [""; 0]);
}
