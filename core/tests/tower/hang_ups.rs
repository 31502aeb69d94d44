//! Clients of a real server of axum that hang up: what was reserved for a request comes back long before its lease ends.

use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::routing::any;
use axum::{Router, serve};
use http_body::Frame;
use sluicegate::tower::{RateLimitLayer, later};
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::logged::{keep_lines, lines_with};

const PLACES: u64 = 3;

const RULES: &str = r#"[
    {"rule_id": "places", "algorithm": "concurrency", "limit": 3, "identifier_type": "global",
     "match": {"path_pattern": "/jobs/*"}},
    {"rule_id": "short", "algorithm": "concurrency", "limit": 1, "lease_seconds": 0.6, "identifier_type": "global",
     "match": {"path_pattern": "/short/*"}}
]"#;

struct Site {
    limiter: Arc<AsyncRateLimiter>,
    address: SocketAddr,
}

impl Site {
    async fn open(limit: impl Fn(RateLimitLayer) -> RateLimitLayer) -> Self {
        let rules = Rules::from_json(RULES).unwrap();
        let limiter = Arc::new(AsyncRateLimiter::builder("memory://").rules(rules).connect().await.unwrap());
        let app = Router::new()
            .route("/jobs/quick", any(async || sleep(Duration::from_millis(20)).await))
            .route("/jobs/stream", any(async || Body::new(Endless)))
            .route("/jobs/body", any(async |body: Bytes| body))
            .route("/{room}/never", any(pending::<()>))
            .layer(limit(RateLimitLayer::new(Arc::clone(&limiter))));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { serve(listener, app).await });
        Self { limiter, address }
    }

    async fn send(&self, bytes: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        stream
    }

    async fn left(&self, rule: &str) -> u64 {
        self.limiter.peek(rule, "global").await.unwrap().remaining
    }

    async fn until(&self, rule: &str, is_so: impl Fn(u64) -> bool) {
        let seen = async {
            while !is_so(self.left(rule).await) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(20), seen).await.unwrap();
    }
}

/// A body that always has more.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 4096])))))
    }
}

fn head(method: &str, path: &str, lines: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: here\r\n{lines}\r\n")
}

#[tokio::test]
async fn a_place_comes_back_when_the_client_has_hung_up() {
    let site = Site::open(|layer| layer).await;
    let (never, quick) = (head("GET", "/jobs/never", ""), head("GET", "/jobs/quick", ""));
    let sent = [
        never.clone(),
        quick.repeat(3),
        head("GET", "/jobs/stream", "") + &quick,
        head("POST", "/jobs/body", "content-length: 100000\r\n"),
        head("POST", "/jobs/body", "transfer-encoding: chunked\r\n") + "5\r\nhello\r\n",
        head("POST", "/jobs/body", "content-length: 9\r\nexpect: 100-continue\r\n"),
        head("POST", "/jobs/never", "content-length: 9\r\n") + "unwanted\n",
        head("HEAD", "/jobs/never", ""),
        head("HEAD", "/jobs/stream", "").repeat(3),
        head("GET", "/jobs/never", "connection: upgrade\r\nupgrade: h3c\r\n"),
    ];
    for bytes in &sent {
        for is_reset in [false, true] {
            let mut stream = site.send(bytes).await;
            if bytes.contains("quick") || bytes.contains("stream") {
                stream.read_u8().await.unwrap();
            } else {
                site.until("places", |left| left < PLACES).await;
            }
            if is_reset {
                stream.set_zero_linger().unwrap();
            }
            drop(stream);
            site.until("places", |left| left == PLACES).await;
        }
    }
}

#[tokio::test]
async fn a_place_comes_back_when_the_client_hangs_up_before_the_service_is_called() {
    let site = Site::open(|layer| layer.on_decision(|_, _| later(pending()))).await;
    let stream = site.send(&head("GET", "/jobs/quick", "")).await;
    site.until("places", |left| left < PLACES).await;
    drop(stream);
    site.until("places", |left| left == PLACES).await;
}

#[tokio::test]
async fn what_is_held_is_renewed_for_so_long_and_no_longer() {
    // hyper does not see that a client has hung up while a handler neither answers nor takes what was sent behind the head.
    keep_lines();
    let site = Site::open(|layer| layer.max_lease(Duration::from_millis(800))).await;
    let sent = [
        head("GET", "/short/never", "").repeat(2),
        head("POST", "/short/never", "content-length: 100000\r\n"),
    ];
    let told = "WARN a reservation is not renewed any more: the response to its request is not over after 0.8 s (raise max_lease \
         if requests take that long)";
    for (before, bytes) in sent.iter().enumerate() {
        let stream = site.send(bytes).await;
        site.until("short", |left| left == 0).await;
        drop(stream);
        sleep(Duration::from_millis(700)).await;
        assert_eq!((site.left("short").await, lines_with("not renewed").len()), (0, before), "{bytes}");
        site.until("short", |left| left == 1).await;
        assert_eq!(lines_with("not renewed"), vec![told; before + 1]);
    }
}
