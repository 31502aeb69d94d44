//! What middleware does about HTTP.

use std::time::Duration;

use napi::bindgen_prelude::{Either, Error};
use napi_derive::napi;
use sluicegate::{Decision, HeaderStyle, bridge};

use crate::failure::Failure;

/// What headers are made from: a decision as JavaScript has it, or one of its parts.
#[napi(object, object_to_js = false)]
pub(crate) struct DecisionFields {
    /// Whether it was admitted.
    pub allowed: bool,
    /// The rule; empty where none applied.
    pub rule: String,
    /// The most that is admitted at once.
    pub limit: f64,
    /// The time in which that comes back.
    pub window_ms: f64,
    /// What is left.
    pub remaining: f64,
    /// Time until the cost fits.
    pub retry_after_ms: f64,
    /// Time until all is back.
    pub reset_after_ms: f64,
    /// Whether nothing but rules in shadow decided.
    pub shadow: bool,
}

/// Pairs of a name and a value.
#[napi(catch_unwind)]
pub(crate) fn headers(
    decision: DecisionFields,
    parts: Vec<DecisionFields>,
    style: String,
) -> Either<Vec<Vec<String>>, Failure> {
    let style: HeaderStyle = match style.parse() {
        Ok(style) => style,
        Err(error) => return Either::B(Failure::from(&error)),
    };
    Either::A(pairs(whole(&decision, &parts).headers(style)))
}

/// A complete HTTP response of middleware: problem details (RFC 9457), or a status of gRPC.
#[napi(object, object_from_js = false)]
pub(crate) struct Problem {
    /// The status.
    pub status: u16,
    /// Pairs of a name and a value.
    pub headers: Vec<Vec<String>>,
    /// JSON; to gRPC empty.
    pub body: String,
}

/// To a denied request: 429.
#[napi(catch_unwind)]
pub(crate) fn answer_denied(
    decision: DecisionFields,
    parts: Vec<DecisionFields>,
    style: String,
    content_type: Option<String>,
) -> napi::Result<Problem> {
    let style = style.parse().map_err(|error: sluicegate::Error| Error::from_reason(error.message()))?;
    Ok(Problem::to(bridge::Problem::denied(&whole(&decision, &parts), style), content_type))
}

/// To an invalid request: 400.
#[napi(catch_unwind)]
pub(crate) fn answer_invalid(message: String, content_type: Option<String>) -> Problem {
    Problem::to(bridge::Problem::invalid(&message), content_type)
}

/// When the limiter could not decide and middleware fails closed: 503.
#[napi(catch_unwind)]
pub(crate) fn answer_undecided(content_type: Option<String>) -> Problem {
    Problem::to(bridge::Problem::undecided(), content_type)
}

/// The address of the client behind trusted proxies, of which the number or the networks are given: by the lines of the header
/// that they write, joined, or else the peer's. A list, of none or of one.
#[napi(catch_unwind)]
pub(crate) fn client_address(
    peer: Option<String>,
    forwarded: Option<String>,
    trusted_proxies: Either<f64, Vec<String>>,
    forwarded_header: String,
) -> Either<Vec<String>, Failure> {
    let trusted = match trusted(&trusted_proxies, &forwarded_header) {
        Ok(trusted) => trusted,
        Err(error) => return Either::B(Failure::from(&error)),
    };
    let lines = forwarded.iter().map(|line| line.as_bytes());
    let peer = peer.as_deref().unwrap_or_default();
    let client = bridge::client_address(lines, peer, &trusted);
    Either::A(client.iter().map(ToString::to_string).collect())
}

fn trusted(proxies: &Either<f64, Vec<String>>, header: &str) -> sluicegate::Result<bridge::TrustedProxies> {
    let proxies = match proxies {
        Either::A(count) => bridge::TrustedProxies::count(*count as usize),
        Either::B(networks) => bridge::TrustedProxies::networks(networks.iter().map(String::as_str))?,
    };
    Ok(proxies.with_header(header.parse()?))
}

/// Whether a text can be the name of an HTTP header.
#[napi(catch_unwind)]
pub(crate) fn is_header_name(name: String) -> bool {
    bridge::is_header_name(&name)
}

impl Problem {
    /// The response to a request with this `Content-Type`.
    fn to(problem: bridge::Problem, content_type: Option<String>) -> Self {
        let bridge::Problem { status, headers, body, .. } = problem.for_content_type(content_type.as_deref());
        Self { status, headers: pairs(headers), body }
    }
}

fn pairs(headers: Vec<(&'static str, String)>) -> Vec<Vec<String>> {
    headers.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn whole(decision: &DecisionFields, parts: &[DecisionFields]) -> Decision {
    let mut decision = Decision::from(decision);
    decision.parts = parts.iter().map(Decision::from).collect();
    decision
}

impl From<&DecisionFields> for Decision {
    fn from(fields: &DecisionFields) -> Self {
        let mut decision = Self::blank();
        decision.allowed = fields.allowed;
        decision.rule = fields.rule.as_str().into();
        decision.limit = fields.limit as u64;
        decision.window = span(fields.window_ms);
        decision.remaining = fields.remaining as u64;
        decision.retry_after = span(fields.retry_after_ms);
        decision.reset_after = span(fields.reset_after_ms);
        decision.shadow = fields.shadow;
        decision
    }
}

/// The whole microseconds that the figure was made from.
fn span(ms: f64) -> Duration {
    if ms == f64::INFINITY { Duration::MAX } else { Duration::from_micros((ms * 1e3).round() as u64) }
}
