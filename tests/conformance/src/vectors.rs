//! Runs the vectors of `tests/vectors`, whose README describes them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sluicegate::{Decision, ManualClock, RateLimiter, Rules};

use crate::clocked::TIMEOUT;
use crate::limiter::Reservations;
use crate::{Backend, Driver, Limiter};

/// How many vectors passed, and what the others said.
#[derive(Debug, Default)]
pub struct Tally {
    /// Vectors whose every step was answered as expected.
    pub passed: usize,
    /// The first step of each other vector that was not.
    pub failed: Vec<String>,
}

/// Runs every vector on a backend.
pub fn run_all(driver: Driver, backend: &Backend) -> Tally {
    let mut tally = Tally::default();
    for vector in load() {
        match run(driver, backend, &vector) {
            Ok(()) => tally.passed += 1,
            Err(difference) => tally.failed.push(difference),
        }
    }
    tally
}

fn load() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors");
    let parts =
        ["", "reservations", "blocks", "stored_limits", "request_ids", "mixed", "waiting", "overview"];
    let folders: Vec<_> = parts.iter().map(|part| folder.join(part)).collect();
    let files = |folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = folders.into_iter().flat_map(files).collect();
    files.retain(|path| {
        path.extension().is_some_and(|extension| extension == "json") && !path.ends_with("schema.json")
    });
    files.sort();
    let vectors = |path| {
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        file["vectors"].as_array().unwrap().clone()
    };
    files.into_iter().flat_map(vectors).collect()
}

/// Vectors have prefixes of their own, so each finds nothing stored.
fn run(driver: Driver, backend: &Backend, vector: &Value) -> Result<(), String> {
    let id = text(vector, "id");
    let clock = ManualClock::new(0);
    let rules = Rules::from_json(&vector["rules"].to_string()).map_err(|error| format!("{id}: {error}"))?;
    let builder = RateLimiter::builder(backend.url()).rules(rules).prefix(format!("{driver:?}/{id}"));
    let builder = builder.clock(clock.clone()).response_timeout(TIMEOUT);
    let limiter = Limiter::new(driver, builder).unwrap();
    let mut made = Reservations::new();
    for (number, step) in vector["steps"].as_array().unwrap().iter().enumerate() {
        clock.set_us(step["at_us"].as_u64().unwrap());
        let answer = act(&limiter, step, &mut made);
        if answer != step["expect"] {
            let expected = &step["expect"];
            return Err(format!("{id}, step {number}: {step}\n  expected {expected}\n  answered {answer}"));
        }
    }
    Ok(())
}

/// Makes the call of a step; its answer in the form of the vectors.
pub fn act(limiter: &Limiter, step: &Value, made: &mut Reservations) -> Value {
    let others = || limiter.call_by_hand(step).or_else(|| limiter.call_about_all(step));
    let answered = limiter.call_about_reservations(step, made).or_else(others).unwrap_or_else(|| {
        let decision = limiter.call(step)?;
        Ok(decision.map_or_else(|| json!({}), |decision| answer(&decision, step.get("items").is_some())))
    });
    answered.unwrap_or_else(|error| json!({ "error": error.kind().name() }))
}

/// A decision in the form of the vectors.
pub(crate) fn answer(decision: &Decision, has_parts: bool) -> Value {
    match has_parts {
        true if !decision.rule_applied() => json!({ "allowed": decision.allowed, "rule_applied": false }),
        true => with_parts(decision),
        false => Value::Object(fields(decision)),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

fn with_parts(decision: &Decision) -> Value {
    let mut fields_of_all = fields(decision);
    let parts = decision.parts.iter().map(|part| Value::Object(fields(part)));
    fields_of_all.insert("parts".to_owned(), parts.collect());
    Value::Object(fields_of_all)
}

fn fields(decision: &Decision) -> Map<String, Value> {
    let fields = json!({
        "allowed": decision.allowed,
        "rule": decision.rule.as_ref(),
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_after_us": micros(decision.retry_after),
        "reset_after_us": micros(decision.reset_after),
        "shadow_denied": decision.shadow_denied,
    });
    let mut fields = fields.as_object().unwrap().clone();
    if decision.blocked {
        fields.insert("blocked".to_owned(), json!(true));
    }
    fields
}

fn micros(span: Duration) -> Value {
    if span == Duration::MAX { json!("never") } else { json!(span.as_micros() as u64) }
}
