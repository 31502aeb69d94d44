//! Requests that take places, behind a real server of axum: never more handlers at once than there are places, and every
//! place comes back.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::routing::get;
use axum::{Extension, Router, serve};
use http_body::Frame;
use sluicegate::tower::RateLimitLayer;
use sluicegate::{AsyncRateLimiter, Reservation, Rules, Usage};
use sluicegate_test_servers::Redis;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Interval, interval, sleep, timeout};

const PLACES: u64 = 3;
const RULES: &str = r#"[
    {"rule_id": "places", "identifier_type": "global", "algorithm": "concurrency", "limit": 3,
     "match": {"path_pattern": "/jobs/*"}},
    {"rule_id": "tokens", "identifier_type": "global", "rate": "1000/h", "reservations": true, "cost": 10,
     "match": {"path_pattern": "/jobs/metered"}},
    {"rule_id": "short", "identifier_type": "global", "algorithm": "concurrency", "limit": 1, "lease_seconds": 0.6,
     "match": {"path_pattern": "/short"}}
]"#;

/// Counts who is inside.
#[derive(Default)]
struct Room {
    inside: AtomicUsize,
    most: AtomicUsize,
}

struct Inside(Arc<Room>);

impl Room {
    fn enter(self: &Arc<Self>) -> Inside {
        self.most.fetch_max(self.inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        Inside(Arc::clone(self))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Forty chunks, one after the other.
struct Chunks {
    left: usize,
    interval: Interval,
    _inside: Inside,
}

impl HttpBody for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.interval.poll_tick(context).map(|_| {
            self.left -= 1;
            Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 65_536]))))
        })
    }
}

async fn connect(url: &str) -> Arc<AsyncRateLimiter> {
    let rules = Rules::from_json(RULES).unwrap();
    Arc::new(AsyncRateLimiter::builder(url).rules(rules).connect().await.unwrap())
}

async fn site(limiter: &Arc<AsyncRateLimiter>, room: &Arc<Room>) -> SocketAddr {
    let (rooms, streams, metered) = (Arc::clone(room), Arc::clone(room), Arc::clone(limiter));
    let quick = async move || {
        let _inside = rooms.enter();
        sleep(Duration::from_millis(20)).await;
        "done"
    };
    let stream = async move || {
        let interval = interval(Duration::from_millis(5));
        Body::new(Chunks { left: 40, interval, _inside: streams.enter() })
    };
    let meter = async move |Extension(held): Extension<Arc<Reservation>>| {
        metered.commit(&*held, Usage::Rules(&[("tokens", 3)])).await.unwrap().to_string()
    };
    let app = Router::new()
        .route("/jobs/quick", get(quick))
        .route("/jobs/stream", get(stream))
        .route("/jobs/metered", get(meter))
        .route("/jobs/panics", get(async || -> &'static str { panic!("as it is to") }))
        .route("/short", get(async || sleep(Duration::from_millis(1500)).await))
        .layer(RateLimitLayer::new(Arc::clone(limiter)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { serve(listener, app).await });
    address
}

async fn begin(site: SocketAddr, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(site).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The whole answer; nothing where the server hangs up.
async fn ask(site: SocketAddr, target: &str) -> String {
    let mut answer = String::new();
    begin(site, target).await.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn left(limiter: &AsyncRateLimiter, rule: &str) -> u64 {
    limiter.peek(rule, "global").await.unwrap().remaining
}

async fn until_left(limiter: &AsyncRateLimiter, rule: &str, places: u64) {
    let wait = async {
        while left(limiter, rule).await != places {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), wait).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_than_the_limit_are_served_at_once() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let (limiter, room) = (connect(url).await, Arc::default());
        let site = site(&limiter, &room).await;
        for target in ["/jobs/quick", "/jobs/stream"] {
            let answers: JoinSet<_> = (0..40).map(|_| ask(site, target)).collect();
            let answers = answers.join_all().await;
            let count = |status: &str| answers.iter().filter(|answer| answer.starts_with(status)).count();
            assert!(count("HTTP/1.1 200") >= PLACES as usize && count("HTTP/1.1 429") > 0);
            assert_eq!(count("HTTP/1.1 200") + count("HTTP/1.1 429"), 40);
            until_left(&limiter, "places", PLACES).await;
        }
        assert_eq!(room.most.load(Ordering::SeqCst), PLACES as usize);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_finds_its_place_free_again() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = connect(url).await;
        let site = site(&limiter, &Arc::default()).await;
        let _others = (limiter.reserve("places", "global").await, limiter.reserve("places", "global").await);
        // A script that the server does not know yet is sent twice, and the next request may come in between.
        ask(site, "/jobs/quick").await;
        until_left(&limiter, "places", 1).await;
        for _ in 0..20 {
            let answer = ask(site, "/jobs/quick").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{url}: {answer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_are_released_after_panics_and_closed_connections() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = connect(url).await;
        let site = site(&limiter, &Arc::default()).await;
        for number in 0..2 * PLACES {
            assert_eq!(ask(site, "/jobs/panics").await, "");
            let mut stream = begin(site, "/jobs/stream").await;
            assert!(stream.read(&mut [0; 100]).await.unwrap() > 0);
            drop(stream);
            // Perhaps while the limiter is asked.
            let early = begin(site, "/jobs/quick").await;
            sleep(Duration::from_micros(300 * number)).await;
            drop(early);
            until_left(&limiter, "places", PLACES).await;
        }
    }
}

#[tokio::test]
async fn a_service_may_commit_what_it_used() {
    let limiter = connect("memory://").await;
    let site = site(&limiter, &Arc::default()).await;
    assert!(ask(site, "/jobs/metered").await.ends_with("true"));
    assert_eq!((left(&limiter, "tokens").await, left(&limiter, "places").await), (997, PLACES));
}

#[tokio::test]
async fn what_takes_longer_than_its_lease_is_renewed() {
    let redis = Redis::start().unwrap();
    for url in ["memory://", redis.url()] {
        let limiter = connect(url).await;
        let site = site(&limiter, &Arc::default()).await;
        let slow = tokio::spawn(async move { ask(site, "/short").await });
        until_left(&limiter, "short", 0).await;
        sleep(Duration::from_secs(1)).await;
        assert!(ask(site, "/short").await.starts_with("HTTP/1.1 429"));
        assert!(slow.await.unwrap().starts_with("HTTP/1.1 200"));
        until_left(&limiter, "short", 1).await;
    }
}
