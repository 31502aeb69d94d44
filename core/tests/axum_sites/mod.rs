//! Sites of axum with limits, and what their log says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use axum::{Router, serve};
use log::{LevelFilter, Log, Metadata, Record};
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::net::TcpListener;

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

/// Keeps the warnings and errors.
struct Kept;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Log for Kept {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LINES.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }

    fn flush(&self) {}
}

pub(crate) fn keep_log() {
    log::set_logger(&Kept).unwrap();
    log::set_max_level(LevelFilter::Warn);
}

/// A request that is answered 500, for which the log has an error that begins so, and never a key.
pub(crate) async fn assert_mistake_is_named(server: SocketAddr, request: &[&str], said: &str) {
    let answer = ask(server, request).await;
    assert_eq!((answer.status, answer.problem()["title"].as_str()), (500, Some("Internal Server Error")));
    let lines = std::mem::take(&mut *LINES.lock().unwrap());
    let line = format!("ERROR {said}");
    assert!(lines.iter().any(|logged| logged.starts_with(&line)), "{line}: {lines:?}");
    assert!(!lines.iter().any(|logged| logged.contains("secret")), "{lines:?}");
}
