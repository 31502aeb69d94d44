//! A rule as a file of rules states it, in one form: what is left to its default is left out.

use super::block::longest_by_default;
use super::model::{
    Algorithm, Block, GcraName, Identifier, Limit, Match, Rule, Scope, Structure, WindowStart,
};
use serde_json::{Map, Value, json};

const DEFAULT_IPV6_PREFIX: u8 = 64;
const DEFAULT_LEASE_US: u64 = 60_000_000;

type Object = Map<String, Value>;

impl Rule {
    /// The rule as a JSON object, in one form: see [`Rules::to_json`](crate::Rules::to_json).
    pub fn to_json(&self) -> String {
        Value::Object(object(self)).to_string()
    }
}

pub(crate) fn object(rule: &Rule) -> Object {
    let fields = [
        ("rule_id", Some(json!(*rule.id))),
        ("description", present(!rule.description.is_empty(), &rule.description)),
        ("identifier_type", rule.identifier_type.as_ref().map(identifier)),
        ("resource_identifier_type", rule.resource_identifier_type.as_ref().map(identifier)),
        ("algorithm", Some(json!(rule.algorithm.name()))),
        ("count_denied", present(rule.count_denied, true)),
        ("reservations", present(rule.lease_us.is_some() && rule.algorithm != Algorithm::Concurrency, true)),
        ("lease_seconds", rule.lease_us.filter(|us| *us != DEFAULT_LEASE_US).map(seconds)),
        ("block", rule.block.as_ref().map(|it| Value::Object(block(it)))),
        ("overrides", present(rule.overrides, true)),
        ("global", rule.global_us.map(|us| json!({ "max_age_ms": us as f64 / 1e3 }))),
        (
            "lease",
            rule.lease.map(
                |it| json!({ "max_age_ms": it.max_age_us as f64 / 1e3, "pace_ms": it.pace_us as f64 / 1e3 }),
            ),
        ),
        ("shadow", present(rule.shadow, true)),
        ("fallback", rule.fallback.map(|fallback| json!(fallback.name()))),
        ("priority", Some(json!(rule.priority))),
        (
            "ipv6_prefix_length",
            present(rule.ipv6_prefix_length != DEFAULT_IPV6_PREFIX, rule.ipv6_prefix_length),
        ),
        ("cost", present(rule.cost != 1, rule.cost)),
        ("match", rule.matches.as_ref().map(|matches| Value::Object(conditions(matches)))),
        ("unless", exemptions(&rule.unless)),
        option(rule.algorithm),
    ];
    let mut object = only_present(fields);
    match rule.limits.as_slice() {
        [one] if one.scope == Scope::Key => object.extend(limit(one)),
        several => {
            let limits = several.iter().map(|it| Value::Object(limit(it)));
            object.insert("limits".to_owned(), limits.collect());
        }
    }
    object
}

/// Where keys or resources are taken from.
pub(crate) fn identifier(identifier: &Identifier) -> Value {
    match identifier {
        Identifier::UserId => "user_id".into(),
        Identifier::IpAddress => "ip_address".into(),
        Identifier::ApiKey => "api_key".into(),
        Identifier::Header(name) => format!("header:{name}").into(),
        Identifier::Path(name) => format!("path:{name}").into(),
        Identifier::Global => "global".into(),
        Identifier::Composite(parts) => parts.iter().map(self::identifier).collect(),
    }
}

/// No algorithm has more than one option of its own.
fn option(algorithm: Algorithm) -> (&'static str, Option<Value>) {
    match algorithm {
        Algorithm::FixedWindow { window_start } => {
            ("window_start", present(window_start == WindowStart::FirstRequest, "first_request"))
        }
        Algorithm::SlidingLog { structure } => {
            ("structure", present(structure == Structure::SortedSet, "sorted_set"))
        }
        Algorithm::Gcra { name, burst } => {
            ("burst", burst.filter(|_| name != GcraName::Uniform).map(Value::from))
        }
        Algorithm::Decay { factor } => ("decay_factor", Some(number(factor))),
        _ => ("", None),
    }
}

fn limit(limit: &Limit) -> Object {
    let calendar = limit.calendar;
    only_present([
        ("limit", Some(number(limit.limit))),
        ("window_size_seconds", present(limit.window_us > 0 && calendar.is_none(), seconds(limit.window_us))),
        ("window", calendar.map(|it| json!(it.unit.name()))),
        ("time_zone", calendar.filter(|it| it.time_zone != "UTC").map(|it| json!(it.time_zone))),
        (
            "month_start_day",
            calendar.map(|it| it.month_start_day).filter(|day| *day != 1).map(|day| json!(day)),
        ),
        ("resolution_seconds", present(limit.resolution_us > 0, seconds(limit.resolution_us))),
        ("scope", present(limit.scope == Scope::Resource, "resource")),
    ])
}

fn block(block: &Block) -> Object {
    let length_us = block.length_us;
    let is_longest_stated = length_us.is_some_and(|us| longest_by_default(us) != block.max_us);
    only_present([
        ("seconds", length_us.map(seconds)),
        ("factor", present(block.factor != 1.0, number(block.factor))),
        ("max_seconds", present(is_longest_stated, seconds(block.max_us))),
    ])
}

fn conditions(matches: &Match) -> Object {
    only_present([
        ("path_pattern", matches.path_pattern.as_deref().map(Value::from)),
        ("methods", present(!matches.methods.is_empty(), &matches.methods)),
        ("requires_authentication", present(matches.requires_authentication, true)),
        ("required_headers", present(!matches.required_headers.is_empty(), &matches.required_headers)),
        ("ip_subnet", present(!matches.ip_subnet.is_empty(), &matches.ip_subnet)),
    ])
}

fn exemptions(unless: &[Match]) -> Option<Value> {
    match unless {
        [] => None,
        [one] => Some(Value::Object(conditions(one))),
        several => Some(several.iter().map(|it| Value::Object(conditions(it))).collect()),
    }
}

fn only_present<const N: usize>(fields: [(&str, Option<Value>); N]) -> Object {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn present(is_present: bool, value: impl serde::Serialize) -> Option<Value> {
    is_present.then(|| json!(value))
}

fn number(number: f64) -> Value {
    // Whole numbers of rules are below 2^53.
    if number.fract() == 0.0 { json!(number as u64) } else { json!(number) }
}

fn seconds(us: u64) -> Value {
    number(us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;

    const RULES: &str = r#"[
        {"rule_id": "a", "algorithm": "fixed_window", "limit": 1, "window_size_seconds": 0.25,
         "window_start": "first_request", "count_denied": true, "priority": -3, "description": "\"a\"\n"},
        {"rule_id": "b", "algorithm": "sliding_log", "limit": 2, "window_size_seconds": 1.000001,
         "structure": "sorted_set", "shadow": true, "fallback": "local", "identifier_type": "header:X-A"},
        {"rule_id": "c", "algorithm": "sliding_buckets", "identifier_type": "ip_address",
         "limits": [{"limit": 3, "window_size_seconds": 1, "resolution_seconds": 0.1},
                    {"limit": 4, "window_size_seconds": 7}], "ipv6_prefix_length": 48},
        {"rule_id": "d", "algorithm": "token_bucket", "limit": 5, "window_size_seconds": 315360000, "burst": 9,
         "identifier_type": ["user_id", "header:x-a"]},
        {"rule_id": "e", "algorithm": "uniform", "limit": 9007199254740991, "window_size_seconds": 3600},
        {"rule_id": "f", "algorithm": "decay", "limit": 2.5, "resolution_seconds": 0.003, "decay_factor": 1.5},
        {"rule_id": "g", "algorithm": "sliding_window", "identifier_type": "path:id", "match":
            {"path_pattern": "/o/{id}", "methods": ["get", "PUT"], "requires_authentication": true,
             "required_headers": {"X-B": "*"}, "ip_subnet": ["10.0.0.0/8", "::/0"]},
         "resource_identifier_type": "global",
         "limits": [{"limit": 6, "window_size_seconds": 60, "scope": "resource"}]},
        {"rule_id": "h", "algorithm": "leaky_bucket", "limit": 1, "window_size_seconds": 1, "match": {},
         "identifier_type": "user_id", "unless": {"path_pattern": "/health"}},
        {"rule_id": "i", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1,
         "identifier_type": "api_key", "match": {},
         "unless": [{"ip_subnet": ["10.0.0.0/8"]}, {"methods": ["OPTIONS"], "required_headers": {"x-a": "*"}}]},
        {"rule_id": "j", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1, "block": {}, "overrides": true},
        {"rule_id": "k", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1, "block": {"seconds": 0.5}},
        {"rule_id": "l", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1,
         "block": {"seconds": 600, "factor": 1.5, "max_seconds": 86400}}
    ]"#;

    #[test]
    fn a_rule_and_its_object_are_the_same() {
        let rules = Rules::from_json(RULES).unwrap();
        for rule in rules.iter() {
            let text = Value::from(vec![Value::Object(object(rule))]).to_string();
            assert_eq!(Rules::from_json(&text).unwrap().find(&rule.id).unwrap(), rule, "{text}");
        }
    }
}
