//! One limit, as every algorithm keeps it.

use serde_json::{Value, json};
use sluicegate::Result;
use sluicegate::internal;
use sluicegate::internal::{nearest, quote};

/// The algorithms that [`compare`] knows.
pub const ALGORITHMS: [&str; 9] = [
    "fixed_window",
    "sliding_window",
    "sliding_log",
    "sliding_buckets",
    "gcra",
    "token_bucket",
    "leaky_bucket",
    "uniform",
    "decay",
];

/// Rules, as JSON, that keep one limit of `limit` per `window_us` microseconds, each named after its algorithm. `decay`,
/// which has no window, halves its level twice a window, so that in the long run it admits as much.
///
/// With `key`, such as `ip_address`, the rules apply to every request, and what they count is that.
///
/// # Errors
/// [`ErrorKind::InvalidArgument`](sluicegate::ErrorKind::InvalidArgument)
/// for an algorithm that is not known, with the nearest, or is given twice. Limits and windows that no
/// rule may have are found when the rules are read.
pub fn compare(algorithms: &[&str], limit: u64, window_us: u64, key: Option<&str>) -> Result<String> {
    let twice = (1..algorithms.len()).find(|place| algorithms[..*place].contains(&algorithms[*place]));
    if let Some(place) = twice {
        let message = format!("algorithm {} is given twice", quote(algorithms[place]));
        return Err(internal::invalid_argument(message));
    }
    let rules = algorithms.iter().map(|name| {
        let mut rule = rule(name, limit, window_us as f64 / 1e6)?;
        if let Some(key) = key {
            rule["identifier_type"] = json!(key);
            rule["match"] = json!({ "path_pattern": "*" });
        }
        Ok(rule)
    });
    Ok(Value::Array(rules.collect::<Result<_>>()?).to_string())
}

fn rule(algorithm: &str, limit: u64, window: f64) -> Result<Value> {
    if !ALGORITHMS.contains(&algorithm) {
        let instead = match nearest(algorithm, ALGORITHMS.into_iter()) {
            Some(near) => format!("did you mean {}?", quote(near)),
            None => format!("the algorithms are {}", ALGORITHMS.join(", ")),
        };
        let message = format!("algorithm {} is not known; {instead}", quote(algorithm));
        return Err(internal::invalid_argument(message));
    }
    let mut rule = json!({ "rule_id": algorithm, "algorithm": algorithm, "limit": limit });
    match algorithm {
        "decay" => rule["resolution_seconds"] = json!(window / 2.0),
        _ => rule["window_size_seconds"] = json!(window),
    }
    Ok(rule)
}

#[cfg(test)]
mod tests {
    use sluicegate::rules::Rules;

    use super::*;

    #[test]
    fn every_algorithm_keeps_the_limit() {
        let read = |text: String| Rules::from_json(&text);
        let rules = read(compare(&ALGORITHMS, 10, 60_000_000, Some("ip_address")).unwrap()).unwrap();
        assert_eq!(rules.len(), ALGORITHMS.len());
        assert!(rules.iter().all(|rule| rule.matches.is_some()));
        let error = compare(&["sliding_windo"], 10, 60_000_000, None).unwrap_err();
        assert_eq!(
            error.message(),
            "algorithm \"sliding_windo\" is not known; did you mean \"sliding_window\"?"
        );
        let twice = compare(&["gcra", "decay", "gcra"], 10, 60_000_000, None).unwrap_err();
        assert_eq!(twice.message(), "algorithm \"gcra\" is given twice");
        assert!(read(compare(&["gcra"], 0, 60_000_000, None).unwrap()).is_err());
    }
}
