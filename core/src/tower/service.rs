//! The service that a layer makes of another.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use tower_layer::Layer;
use tower_service::Service;

use super::body::ResponseBody;
use super::caches;
use super::common::{Common, OnError};
use super::flight::Flight;
use super::layer::RateLimitLayer;
use super::refusal::Refusal;
use super::route::{Route, RouteLimitLayer};
use crate::events::Seldom;
use crate::http::Problem;
use crate::{AsyncRateLimiter, Decision, Error, Reservation};

/// A service whose requests are limited. Made by [`RateLimitLayer`] and [`RouteLimitLayer`].
#[derive(Debug, Clone)]
pub struct RateLimit<S> {
    inner: S,
    limits: Limits,
}

/// What decides.
#[derive(Debug, Clone)]
enum Limits {
    /// The rules that match.
    Matching(Arc<RateLimitLayer>),
    /// Those that a route states.
    Route(Arc<Route>),
}

impl Limits {
    fn common(&self) -> &Common {
        match self {
            Self::Matching(layer) => &layer.common,
            Self::Route(route) => route.common(),
        }
    }

    fn limiter(&self) -> &Arc<AsyncRateLimiter> {
        match self {
            Self::Matching(layer) => &layer.limiter,
            Self::Route(route) => route.limiter(),
        }
    }

    /// `None` for a request that is not limited.
    async fn decide(&self, parts: &Parts) -> Result<Option<Reservation>, Refusal> {
        if self.common().skips(parts).await {
            return Ok(None);
        }
        match self {
            Self::Matching(layer) => layer.decide(parts).await,
            Self::Route(route) => route.decide(parts).await,
        }
    }
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        self.warn_if_response_does_not_count();
        RateLimit { inner, limits: Limits::Matching(Arc::new(self.clone())) }
    }
}

impl<S> Layer<S> for RouteLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, limits: Limits::Route(Arc::clone(&self.0)) }
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
        let limits = self.limits.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let (headers, mut flight) = match judge(&limits, &mut parts).await {
                LimitOutcome::Admit(headers, flight) => (headers, flight),
                LimitOutcome::Answer(mut response) => {
                    response.extensions_mut().insert(Told);
                    return Ok(response.map(ResponseBody::of_text));
                }
            };
            let (mut head, body) = inner.call(Request::from_parts(parts, body)).await?.into_parts();
            if let Some(flight) = &mut flight {
                flight.answered(&head);
            }
            add_headers(&mut head, &headers);
            Ok(Response::from_parts(head, ResponseBody::new(body, flight)))
        })
    }
}

/// In the extensions of a response that has the headers of a limit.
#[derive(Clone)]
struct Told;

/// Adds the headers of a decision in place of the application's. Those of a limit further in, which may have denied, stay, and what
/// caches may send to others gets none.
fn add_headers(head: &mut http::response::Parts, headers: &HeaderMap) {
    if headers.is_empty() || head.extensions.insert(Told).is_some() || caches::is_for_all(&head.headers) {
        return;
    }
    for (name, value) in headers {
        head.headers.insert(name, value.clone());
    }
}

/// What becomes of a request.
enum LimitOutcome {
    /// It goes on to the service, whose answer gets these headers, and until its end something may be held.
    Admit(HeaderMap, Option<Flight>),
    /// It does not get there.
    Answer(Response<String>),
}

async fn judge(limits: &Limits, parts: &mut Parts) -> LimitOutcome {
    let common = limits.common();
    let decided = match limits.decide(parts).await {
        Ok(Some(decided)) => decided,
        Ok(None) => return LimitOutcome::Admit(HeaderMap::new(), None),
        Err(refusal) => return refused(refusal, parts, common.on_error),
    };
    let decided = Arc::new(decided);
    let held = (Arc::clone(limits.limiter()), Arc::clone(&decided));
    // Before anything is waited for: a client may hang up at any time.
    let flight = Flight::begin(held, common.max_lease, common.count.clone());
    if let Some(tell) = &common.on_decision {
        tell(parts, &decided).get().await;
    }
    match decided.allowed {
        true => admitted(decided, flight, common, parts),
        false => LimitOutcome::Answer(denied(&decided, common, parts).await),
    }
}

fn admitted(
    reservation: Arc<Reservation>,
    flight: Option<Flight>,
    common: &Common,
    parts: &mut Parts,
) -> LimitOutcome {
    let headers = fields(reservation.headers(common.style));
    log_shadow(&reservation);
    parts.extensions.insert(Decision::clone(&reservation));
    if flight.is_some() {
        parts.extensions.insert(reservation);
    }
    LimitOutcome::Admit(headers, flight)
}

/// The application's own response gets those headers of a denial that it lacks.
async fn denied(decision: &Decision, common: &Common, parts: &Parts) -> Response<String> {
    let problem = Problem::denied(decision, common.style);
    let Some(respond) = &common.on_denied else { return response(problem, parts) };
    let mut response = respond(parts, decision).get().await;
    let of_denial = problem.headers.into_iter().filter(|(name, _)| *name != "Content-Type").collect();
    for (name, value) in fields(of_denial).iter() {
        response.headers_mut().entry(name).or_insert_with(|| value.clone());
    }
    response
}

fn refused(refusal: Refusal, parts: &Parts, on_error: OnError) -> LimitOutcome {
    let problem = match refusal {
        Refusal::Invalid(message) => Problem::invalid(&message),
        Refusal::Broken(message) => {
            log::error!("{message}");
            Problem::failed()
        }
        Refusal::Undecided(error) => match undecided(&error, on_error) {
            Some(problem) => problem,
            None => return LimitOutcome::Admit(HeaderMap::new(), None),
        },
    };
    LimitOutcome::Answer(response(problem, parts))
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

fn undecided(error: &Error, on_error: OnError) -> Option<Problem> {
    match on_error {
        OnError::Admit => {
            static ADMITTED: Seldom = Seldom::new();
            ADMITTED.warn(format_args!("request admitted (fail open): {error}"));
            None
        }
        OnError::Deny => {
            static DENIED: Seldom = Seldom::new();
            DENIED.warn(format_args!("request denied (fail closed): {error}"));
            Some(Problem::undecided())
        }
    }
}

fn response(problem: Problem, parts: &Parts) -> Response<String> {
    // Every call of gRPC is a POST.
    let content_type = parts.headers.get(CONTENT_TYPE).filter(|_| parts.method == Method::POST);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let problem = problem.for_content_type(content_type);
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

#[cfg(test)]
mod tests {
    use http::Response;
    use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue};

    use super::add_headers;

    #[test]
    fn answers_for_all_get_no_headers_of_one_client() {
        let limit = HeaderName::from_static("ratelimit");
        let of_decision: HeaderMap = [(limit.clone(), HeaderValue::from_static("r=1"))].into_iter().collect();
        for (cache, is_told) in [("public", false), ("private", true)] {
            let response = Response::builder().header(CACHE_CONTROL, cache).body(()).expect("a response");
            let mut head = response.into_parts().0;
            add_headers(&mut head, &of_decision);
            assert_eq!(head.headers.contains_key(&limit), is_told, "{cache}");
            assert_eq!(head.headers[CACHE_CONTROL], cache);
        }
    }
}
