//! What a decision tells an HTTP client.

use std::time::Duration;

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use sluicegate::{Decision, HeaderStyle};

use crate::failure::Failure;

/// What headers are made from: a decision as JavaScript has it, or one of its parts.
#[napi(object, object_to_js = false)]
pub(crate) struct Figures {
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
    decision: Figures,
    parts: Vec<Figures>,
    style: String,
) -> Either<Vec<Vec<String>>, Failure> {
    let style: HeaderStyle = match style.parse() {
        Ok(style) => style,
        Err(error) => return Either::B(Failure::from(&error)),
    };
    let mut decision = Decision::from(&decision);
    decision.parts = parts.iter().map(Decision::from).collect();
    let headers = decision.headers(style).into_iter();
    Either::A(headers.map(|(name, value)| vec![name.to_owned(), value]).collect())
}

impl From<&Figures> for Decision {
    fn from(figures: &Figures) -> Self {
        let mut decision = Self::blank();
        decision.allowed = figures.allowed;
        decision.rule = figures.rule.as_str().into();
        decision.limit = figures.limit as u64;
        decision.window = span(figures.window_ms);
        decision.remaining = figures.remaining as u64;
        decision.retry_after = span(figures.retry_after_ms);
        decision.reset_after = span(figures.reset_after_ms);
        decision.shadow = figures.shadow;
        decision
    }
}

/// The whole microseconds that the figure was made from.
fn span(ms: f64) -> Duration {
    if ms == f64::INFINITY { Duration::MAX } else { Duration::from_micros((ms * 1e3).round() as u64) }
}
