//! The service that the layer makes of another.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::body::ResponseBody;
use super::flight::Flight;
use super::layer::{OnError, RateLimitLayer};
use super::seldom::Seldom;
use crate::http::Problem;
use crate::{Decision, Error, ErrorKind};

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
    Answered: Body,
    Answered::Data: From<String>,
{
    type Response = Response<ResponseBody<Answered>>;
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
            let (mut parts, body) = request.into_parts();
            let (headers, flight) = match judge(&layer, &mut parts).await {
                LimitOutcome::Admit(headers, flight) => (headers, flight),
                LimitOutcome::Answer(problem) => {
                    let problem = problem.for_content_type(content_type(&parts));
                    return Ok(response(problem).map(ResponseBody::of_text));
                }
            };
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            for (name, value) in &headers {
                response.headers_mut().insert(name, value.clone());
            }
            Ok(response.map(|body| ResponseBody::new(body, flight)))
        })
    }
}

/// What becomes of a request.
enum LimitOutcome {
    /// It goes on to the service, whose answer gets these headers, and until its end something may be held.
    Admit(HeaderMap, Option<Flight>),
    /// It does not get there.
    Answer(Problem),
}

async fn judge(layer: &RateLimitLayer, parts: &mut Parts) -> LimitOutcome {
    match layer.decide(parts).await {
        Ok(reservation) if reservation.allowed => {
            let headers = fields(reservation.headers(layer.style));
            log_shadow(&reservation);
            parts.extensions.insert(Decision::clone(&reservation));
            let reservation = Arc::new(reservation);
            let flight = Flight::begin(Arc::clone(&layer.limiter), Arc::clone(&reservation), layer.max_lease);
            if flight.is_some() {
                parts.extensions.insert(reservation);
            }
            LimitOutcome::Admit(headers, flight)
        }
        Ok(decision) => LimitOutcome::Answer(Problem::denied(&decision, layer.style)),
        Err(error) if error.kind() == ErrorKind::InvalidArgument => {
            LimitOutcome::Answer(Problem::invalid(error.message()))
        }
        Err(error) => undecided(&error, layer.on_error),
    }
}

fn log_shadow(decision: &Decision) {
    if decision.shadow_denied {
        let parts =
            if decision.parts.is_empty() { std::slice::from_ref(decision) } else { &decision.parts[..] };
        let rules: Vec<&str> =
            parts.iter().filter(|part| part.shadow_denied).map(|part| part.rule.as_ref()).collect();
        log::debug!("a rule in shadow would deny this request: {}", rules.join(", "));
    }
}

fn undecided(error: &Error, on_error: OnError) -> LimitOutcome {
    match on_error {
        OnError::Admit => {
            static ADMITTED: Seldom = Seldom::new();
            ADMITTED.warn(format_args!("request admitted (fail open): {error}"));
            LimitOutcome::Admit(HeaderMap::new(), None)
        }
        OnError::Deny => {
            static DENIED: Seldom = Seldom::new();
            DENIED.warn(format_args!("request denied (fail closed): {error}"));
            LimitOutcome::Answer(Problem::undecided())
        }
    }
}

fn content_type(parts: &Parts) -> Option<&str> {
    parts.headers.get(CONTENT_TYPE)?.to_str().ok()
}

fn response(problem: Problem) -> Response<String> {
    let mut response = Response::new(problem.body);
    *response.status_mut() =
        StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = fields(problem.headers);
    response
}

fn fields(headers: Vec<(&'static str, String)>) -> HeaderMap {
    let field = |(name, value): (&str, String)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::try_from(value).ok()?))
    };
    headers.into_iter().filter_map(field).collect()
}
