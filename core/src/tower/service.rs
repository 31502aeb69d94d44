//! The service that the layer makes of another.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{HeaderMap, Request, Response};
use tower_layer::Layer;
use tower_service::Service;

use super::answer;
use super::layer::{OnError, RateLimitLayer};
use crate::{Error, ErrorKind};

/// A service whose requests are limited. Made by [`RateLimitLayer`].
#[derive(Debug, Clone)]
pub struct RateLimit<S> {
    inner: S,
    layer: Arc<RateLimitLayer>,
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, layer: Arc::new(self.clone()) }
    }
}

impl<S, Asked, Answered> Service<Request<Asked>> for RateLimit<S>
where
    S: Service<Request<Asked>, Response = Response<Answered>> + Clone + Send + 'static,
    S::Future: Send,
    Asked: Send + 'static,
    Answered: From<String>,
{
    type Response = Response<Answered>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Asked>) -> Self::Future {
        // The one that said it is ready is the one to be called.
        let next = self.inner.clone();
        let mut inner = mem::replace(&mut self.inner, next);
        let layer = Arc::clone(&self.layer);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let headers = match judge(&layer, &parts).await {
                Ruling::Admit(headers) => headers,
                Ruling::Answer(answer) => return Ok(answer.map(Answered::from)),
            };
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            for (name, value) in &headers {
                response.headers_mut().insert(name, value.clone());
            }
            Ok(response)
        })
    }
}

/// What becomes of a request.
enum Ruling {
    /// It goes on to the service, whose answer gets these headers.
    Admit(HeaderMap),
    /// It does not get there.
    Answer(Response<String>),
}

async fn judge(layer: &RateLimitLayer, parts: &Parts) -> Ruling {
    match layer.decide(parts).await {
        Ok(decision) if decision.allowed => Ruling::Admit(answer::headers(&decision, layer.style)),
        Ok(decision) => Ruling::Answer(answer::denied(&decision, layer.style)),
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ruling::Answer(answer::invalid(&error)),
        Err(error) => undecided(&error, layer.on_error),
    }
}

fn undecided(error: &Error, on_error: OnError) -> Ruling {
    match on_error {
        OnError::Admit => {
            log::warn!("a request is admitted undecided: {error}");
            Ruling::Admit(HeaderMap::new())
        }
        OnError::Deny => {
            log::warn!("a request is refused undecided: {error}");
            Ruling::Answer(answer::undecided())
        }
    }
}
