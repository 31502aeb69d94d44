//! One way to drive both limiters, so that every test runs on both.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::{
    AsyncRateLimiter, Builder, Check, CheckAllOptions, CheckOptions, CompositeKey, Decision, RateLimiter,
    Reservation, ReservationRef, Result, Usage,
};

use crate::request::request_of;
use crate::vectors::answer;
use tokio::runtime::{self, Runtime};

/// Which limiter a test drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// `RateLimiter`
    Blocking,
    /// `AsyncRateLimiter`
    Async,
}

/// A limiter of either kind.
#[derive(Debug)]
pub enum Limiter {
    /// Blocks by itself.
    Blocking(RateLimiter),
    /// Blocked on by a runtime of its own.
    Async(AsyncRateLimiter, Runtime),
}

/// The same call on either limiter.
macro_rules! forward {
    ($self:expr, $limiter:ident => $call:expr) => {
        match $self {
            Limiter::Blocking($limiter) => $call,
            Limiter::Async($limiter, runtime) => runtime.block_on($call),
        }
    };
}

impl Limiter {
    /// Builds, or connects, a limiter.
    pub fn new(driver: Driver, builder: Builder) -> Result<Self> {
        match driver {
            Driver::Blocking => builder.build().map(Self::Blocking),
            Driver::Async => {
                let runtime =
                    runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
                let limiter = runtime.block_on(builder.connect())?;
                Ok(Self::Async(limiter, runtime))
            }
        }
    }

    /// Makes the call that a vector names, with the arguments that it states; the decision, if there is one.
    pub fn call(&self, vector: &Value) -> Result<Option<Decision>> {
        let op = vector["op"].as_str().unwrap();
        match op {
            "ping" => {
                let done = match vector["timeout"].as_u64().map(Duration::from_micros) {
                    Some(timeout) => forward!(self, limiter => limiter.ping_with(timeout)),
                    None => forward!(self, limiter => limiter.ping()),
                };
                return done.map(|()| None);
            }
            "check_all" | "wait_all" => {
                let items = vector["items"].as_array().unwrap();
                let keys = items.iter().map(key).collect::<Result<Vec<_>>>()?;
                let items: Vec<_> = items.iter().zip(&keys).map(|(item, key)| check(item, key)).collect();
                let timeout = vector["timeout"].as_u64().map(Duration::from_micros);
                return match timeout.filter(|_| op == "wait_all") {
                    Some(timeout) => forward!(self, limiter => limiter.wait_all(&items, timeout)),
                    None => self.check_all_with(&items, vector["request_id"].as_str()),
                }
                .map(Some);
            }
            _ => {}
        }
        let key = key(vector)?;
        let Check { rule, key, options, .. } = check(vector, &key);
        match op {
            "check" => self.check(rule, key, options),
            "peek" => self.peek(rule, key, options),
            "refund" => self.refund(rule, key, options),
            "charge" => self.charge(rule, key, options),
            "wait" => {
                let timeout = Duration::from_micros(vector["timeout"].as_u64().unwrap());
                forward!(self, limiter => limiter.wait_with(rule, key, options, timeout))
            }
            "reset" => return self.reset(rule, key, options).map(|()| None),
            other => panic!("the runner knows no operation {other}"),
        }
        .map(Some)
    }

    /// Makes the call that a vector names about reservations, which are kept in `made` by the names it gives them;
    /// `None` for another call.
    pub fn call_about_reservations(&self, vector: &Value, made: &mut Reservations) -> Option<Result<Value>> {
        let reservation = || made.get(vector["reservation"].as_str().unwrap()).unwrap();
        let ended = match vector["op"].as_str().unwrap() {
            "reserve" | "reserve_all" | "reserve_request" => {
                let reservation = match self.reserve(vector) {
                    Ok(reservation) => reservation,
                    Err(error) => return Some(Err(error)),
                };
                let answer = about(&reservation, vector["op"] != "reserve");
                let id = reservation.id();
                made.insert(vector["as"].as_str().unwrap().to_owned(), (reservation, id));
                return Some(Ok(answer));
            }
            "commit" | "release" | "renew" => self.end(by_value_or_id(reservation()), vector),
            _ => return None,
        };
        Some(ended.map(took_effect))
    }

    /// Makes the call that a vector names about a block or a stored limit; `None` for another call.
    pub fn call_by_hand(&self, vector: &Value) -> Option<Result<Value>> {
        let op = vector["op"].as_str().unwrap();
        if !["block", "unblock", "set_limit", "clear_limit"].contains(&op) {
            return None;
        }
        let key = match key(vector) {
            Ok(key) => key,
            Err(error) => return Some(Err(error)),
        };
        let Check { rule, key, options, .. } = check(vector, &key);
        let mut options = options;
        options.limit = None;
        let span = |name: &str| vector[name].as_f64().map(seconds);
        Some(match op {
            "block" => {
                let duration = span("seconds").unwrap();
                forward!(self, limiter => limiter.block_with(rule, key, duration, options))
                    .map(|()| json!({}))
            }
            "set_limit" => {
                let (limit, expires_in) = (vector["limit"].as_u64().unwrap(), span("expires_in"));
                forward!(self, limiter => limiter.set_limit_with(rule, key, limit, expires_in, options))
                    .map(|()| json!({}))
            }
            "unblock" => forward!(self, limiter => limiter.unblock_with(rule, key, options)).map(took_effect),
            _ => forward!(self, limiter => limiter.clear_limit_with(rule, key, options)).map(took_effect),
        })
    }

    /// Makes the call that a vector names about every rule; `None` for another call.
    pub fn call_about_all(&self, vector: &Value) -> Option<Result<Value>> {
        let op = vector["op"].as_str().unwrap();
        if op == "rules" {
            let rules = match self {
                Self::Blocking(limiter) => limiter.rules(),
                Self::Async(limiter, _) => limiter.rules(),
            };
            return Some(Ok(json!({ "rules": serde_json::from_str::<Value>(&rules.to_json()).unwrap() })));
        }
        if !["inspect", "reset_all"].contains(&op) {
            return None;
        }
        let key = match key(vector) {
            Ok(key) => key,
            Err(error) => return Some(Err(error)),
        };
        let options = options(vector);
        Some(if op == "inspect" {
            forward!(self, limiter => limiter.inspect_with(&key, options)).map(|seen| answer(&seen, true))
        } else {
            forward!(self, limiter => limiter.reset_all_with(&key, options)).map(|()| json!({}))
        })
    }

    /// Reserves what a vector says.
    pub fn reserve(&self, vector: &Value) -> Result<Reservation> {
        if let Some(request) = vector.get("request") {
            let request = request_of(request);
            return forward!(self, limiter => limiter.reserve_request(&request));
        }
        let wait = vector["wait"].as_u64().map(Duration::from_micros);
        if let Some(items) = vector["items"].as_array() {
            let keys = items.iter().map(key).collect::<Result<Vec<_>>>()?;
            let items: Vec<_> = items.iter().zip(&keys).map(|(item, key)| check(item, key)).collect();
            return match wait {
                Some(wait) => forward!(self, limiter => limiter.reserve_all_within(&items, wait)),
                None => forward!(self, limiter => limiter.reserve_all(&items)),
            };
        }
        let key = key(vector)?;
        let Check { rule, key, options, .. } = check(vector, &key);
        match wait {
            Some(wait) => forward!(self, limiter => limiter.reserve_within(rule, key, options, wait)),
            None => forward!(self, limiter => limiter.reserve_with(rule, key, options)),
        }
    }

    /// Ends or renews a reservation, as a vector says.
    pub fn end(&self, reservation: ReservationRef<'_>, vector: &Value) -> Result<bool> {
        match vector["op"].as_str().unwrap() {
            "release" => forward!(self, limiter => limiter.release(reservation)),
            "renew" => forward!(self, limiter => limiter.renew(reservation)),
            _ => self.commit(reservation, vector),
        }
    }

    fn commit(&self, reservation: ReservationRef<'_>, vector: &Value) -> Result<bool> {
        let costs: Vec<_> = vector["costs"].as_object().into_iter().flatten().collect();
        let costs: Vec<_> =
            costs.iter().map(|(rule, cost)| (rule.as_str(), cost.as_u64().unwrap())).collect();
        let usage = match vector["cost"].as_u64() {
            Some(cost) => Usage::Cost(cost),
            None if costs.is_empty() => Usage::AsReserved,
            None => Usage::Rules(&costs),
        };
        forward!(self, limiter => limiter.commit(reservation, usage))
    }

    /// `close`
    pub fn close(&self) {
        match self {
            Self::Blocking(limiter) => limiter.close(),
            Self::Async(limiter, _) => limiter.close(),
        }
    }

    /// `check_with`
    pub fn check(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.check_with(rule, key, options))
    }

    /// `peek_with`
    pub fn peek(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.peek_with(rule, key, options))
    }

    /// `refund_with`
    pub fn refund(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.refund_with(rule, key, options))
    }

    /// `reset_with`
    pub fn reset(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<()> {
        forward!(self, limiter => limiter.reset_with(rule, key, options))
    }

    /// `check_all`
    pub fn check_all(&self, checks: &[Check<'_>]) -> Result<Decision> {
        forward!(self, limiter => limiter.check_all(checks))
    }

    /// `check_all_with`
    pub fn check_all_with(&self, checks: &[Check<'_>], request_id: Option<&str>) -> Result<Decision> {
        let mut options = CheckAllOptions::new();
        options.request_id = request_id;
        forward!(self, limiter => limiter.check_all_with(checks, options))
    }

    /// `charge_with`
    pub fn charge(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        forward!(self, limiter => limiter.charge_with(rule, key, options))
    }
}

/// A time in seconds, rounded up to the microsecond; one below zero is none.
fn seconds(seconds: f64) -> Duration {
    Duration::from_micros((seconds * 1e6).ceil() as u64)
}

type Made = (Reservation, Option<String>);

/// Reservations by the names that a vector gives them.
pub type Reservations = HashMap<String, Made>;

/// Either way: what is made of one has to be what is made of the other.
fn by_value_or_id((reservation, id): &Made) -> ReservationRef<'_> {
    match id {
        Some(id) if id.len() % 2 == 0 => id.into(),
        _ => reservation.into(),
    }
}

fn took_effect(took_effect: bool) -> Value {
    json!({ "took_effect": took_effect })
}

fn about(reservation: &Reservation, with_parts: bool) -> Value {
    let mut answer = answer(reservation, with_parts);
    let fields = answer.as_object_mut().unwrap();
    fields.insert("id".to_owned(), json!(reservation.id().is_some()));
    if let Some(token) = reservation.token() {
        fields.insert("token".to_owned(), json!(token));
    }
    answer
}

/// The key of an item, or of a call about one.
fn key(item: &Value) -> Result<String> {
    match item["key"].as_array() {
        Some(parts) => CompositeKey::new(parts.iter().map(|part| part.as_str().unwrap())).map(String::from),
        None => Ok(item["key"].as_str().unwrap().to_owned()),
    }
}

/// What an item, or a call about one, states.
fn check<'a>(item: &'a Value, key: &'a str) -> Check<'a> {
    Check::new(item["rule"].as_str().unwrap(), key).with(options(item))
}

fn options(item: &Value) -> CheckOptions<'_> {
    let mut options = CheckOptions::new().cost(item.get("cost").map_or(1, |cost| cost.as_u64().unwrap()));
    options.resource = item["resource"].as_str();
    options.limit = item["limit"].as_u64();
    options.request_id = item["request_id"].as_str();
    // That of a wait is an argument.
    let timeout = item["timeout"].as_u64().filter(|_| item["op"] != "wait");
    options.timeout = timeout.map(Duration::from_micros);
    options
}
