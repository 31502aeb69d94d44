//! The tower layer in front of a service of gRPC, called by a real client over HTTP/2.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::routing::post;
use axum::{Router, serve};
use bytes::{Buf, BufMut};
use sluicegate::tower::{OnError, RateLimitLayer};
use sluicegate::{AsyncRateLimiter, Rules};
use tokio::net::TcpListener;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

const RULES: &str = r#"[{"rule_id": "calls", "identifier_type": "global", "rate": "1/hour",
    "match": {"path_pattern": "/shop.Orders/*"}}]"#;

/// Messages that are nothing but text.
#[derive(Default)]
struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, item: String, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(item.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = buffer.copy_to_bytes(buffer.remaining());
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// Greets whoever calls.
#[derive(Clone)]
struct Greeting;

impl Service<tonic::Request<String>> for Greeting {
    type Response = tonic::Response<String>;
    type Error = Status;
    type Future = Ready<Result<tonic::Response<String>, Status>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: tonic::Request<String>) -> Self::Future {
        ready(Ok(tonic::Response::new(format!("hello {}", request.into_inner()))))
    }
}

async fn greet(request: Request) -> axum::http::Response<tonic::body::Body> {
    tonic::server::Grpc::new(Text).unary(Greeting, request).await
}

async fn limiter() -> Arc<AsyncRateLimiter> {
    let rules = Rules::from_json(RULES).unwrap();
    Arc::new(AsyncRateLimiter::builder("memory://").rules(rules).connect().await.unwrap())
}

/// A client of a server with this layer.
async fn client(layer: RateLimitLayer) -> tonic::client::Grpc<Channel> {
    let call = async |request| greet(request).await.map(Body::new);
    let app: Router = Router::new().route("/shop.Orders/{call}", post(call)).layer(layer);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { serve(listener, app).await });
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    tonic::client::Grpc::new(channel)
}

async fn call(client: &mut tonic::client::Grpc<Channel>) -> Result<tonic::Response<String>, Status> {
    client.ready().await.unwrap();
    client.unary(tonic::Request::new("world".to_owned()), "/shop.Orders/Place".parse().unwrap(), Text).await
}

#[tokio::test]
async fn a_call_that_is_denied_has_used_up_its_quota() {
    let mut client = client(RateLimitLayer::new(limiter().await)).await;
    let admitted = call(&mut client).await.unwrap();
    assert!(admitted.metadata().get("ratelimit").unwrap().to_str().unwrap().starts_with("\"calls\";r=0"));
    assert_eq!(admitted.into_inner(), "hello world");
    let denied = call(&mut client).await.unwrap_err();
    let wait: u64 = denied.metadata().get("retry-after").unwrap().to_str().unwrap().parse().unwrap();
    assert_eq!(denied.code(), Code::ResourceExhausted);
    assert_eq!(denied.message(), format!("Try again in {wait} seconds."));
    assert!(Duration::from_secs(wait) <= Duration::from_secs(3600));
    assert_eq!(denied.metadata().get("cache-control").unwrap(), "no-store");
}

#[tokio::test]
async fn a_call_that_cannot_be_decided_finds_the_service_unavailable() {
    let limiter = limiter().await;
    let mut client = client(RateLimitLayer::new(Arc::clone(&limiter)).on_error(OnError::Deny)).await;
    limiter.close();
    assert_eq!(call(&mut client).await.unwrap_err().code(), Code::Unavailable);
}

#[tokio::test]
async fn a_denial_is_a_head_alone() {
    let mut service = RateLimitLayer::new(limiter().await).layer(Plain);
    let request = || {
        let request = Request::post("/shop.Orders/Place").header("content-type", "application/grpc+proto");
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(service.call(request()).await.unwrap().status(), 200);
    let denied = service.call(request()).await.unwrap();
    assert_eq!((denied.status().as_u16(), &denied.headers()["grpc-status"]), (200, &"8".parse().unwrap()));
    assert!(denied.body().is_end_stream());
}

/// A service whose bodies are tonic's, which are made of no text.
#[derive(Clone)]
struct Plain;

impl Service<Request> for Plain {
    type Response = axum::http::Response<tonic::body::Body>;
    type Error = std::convert::Infallible;
    type Future = Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Ok(axum::http::Response::new(tonic::body::Body::empty())))
    }
}
