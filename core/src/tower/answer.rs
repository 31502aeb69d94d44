//! What clients are answered: headers of decisions, and problem details (RFC 9457).

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::{Decision, Error, HeaderStyle};

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// The headers of a decision.
pub(super) fn headers(decision: &Decision, style: HeaderStyle) -> HeaderMap {
    let header = |(name, value): (&str, String)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::try_from(value).ok()?))
    };
    decision.headers(style).into_iter().filter_map(header).collect()
}

/// To a request that is denied.
pub(super) fn denied(decision: &Decision, style: HeaderStyle) -> Response<String> {
    let mut answer = problem(StatusCode::TOO_MANY_REQUESTS, &when(decision.retry_after));
    answer.1["rule"] = decision.rule.as_ref().into();
    let mut response = response(answer);
    response.headers_mut().extend(headers(decision, style));
    response
}

/// To a request that the limiter cannot make sense of.
pub(super) fn invalid(error: &Error) -> Response<String> {
    response(problem(StatusCode::BAD_REQUEST, error.message()))
}

/// To a request that is not let through undecided. The reason is for the log, not for the client.
pub(super) fn undecided() -> Response<String> {
    response(problem(
        StatusCode::SERVICE_UNAVAILABLE,
        "It cannot be decided now whether a limit is exceeded.",
    ))
}

fn when(retry_after: Duration) -> String {
    match retry_after.as_secs().saturating_add(u64::from(retry_after.subsec_nanos() > 0)) {
        _ if retry_after == Duration::MAX => "This is never admitted.".to_owned(),
        1 => "Try again in 1 second.".to_owned(),
        seconds => format!("Try again in {seconds} seconds."),
    }
}

fn problem(status: StatusCode, detail: &str) -> (StatusCode, Value) {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason(),
        "status": status.as_u16(),
        "detail": detail,
    });
    (status, body)
}

fn response((status, body): (StatusCode, Value)) -> Response<String> {
    let mut response = Response::new(body.to_string());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM);
    response
}
