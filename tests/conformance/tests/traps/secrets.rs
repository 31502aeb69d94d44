//! API keys and values of headers: nowhere but in memory.

use sluicegate::{Builder, Check, CheckOptions, CompositeKey, Request, Rules};

use crate::server::Server;
use crate::{KINDS, NOW_US};

const SECRET: &str = "sk-live-4242424242";
const IDENTIFIER_SECRET: &str = "0123456789abcdef";
const PATH: &str = "/charges/7";

/// A rule of every kind for each sort of secret, which all requests to the path choose, and one whose resource is a
/// secret.
fn rules() -> String {
    let chosen = r#""match": {"path_pattern": "/charges/*"}"#;
    let rule = |name: &str, identifier: &str, fields: &str| {
        format!(
            r#"{{"rule_id": "{name}/{identifier}", "identifier_type": "{identifier}", {chosen}, {fields}}}"#
        )
    };
    let mut rules: Vec<_> = KINDS
        .iter()
        .flat_map(|(name, fields)| [rule(name, "api_key", fields), rule(name, "header:x-token", fields)])
        .collect();
    rules.push(rule("pool", "user_id", r#""algorithm": "gcra", "resource_identifier_type": "api_key", "limits": [
        {"limit": 10, "window_size_seconds": 60}, {"limit": 10, "window_size_seconds": 60, "scope": "resource"}]"#));
    format!("[{}]", rules.join(","))
}

fn request() -> Request<'static> {
    Request::new("GET", PATH).user_id("alice").api_key(SECRET).header("X-Token", SECRET)
}

/// Everything a server is sent and keeps, after every call there is.
fn leavings(with: impl Fn(Builder) -> Builder) -> Vec<String> {
    let mut server = Server::start();
    let limiter = with(server.builder(&rules())).clock(sluicegate::ManualClock::new(NOW_US)).build().unwrap();
    let by_request = limiter.check_request(&request()).unwrap();
    assert_eq!(by_request.parts.len(), 2 * KINDS.len() + 1);
    for part in &by_request.parts {
        let rule = part.rule.as_ref();
        let mut options = CheckOptions::new();
        let mut key = SECRET;
        if rule.starts_with("pool") {
            (options.resource, key) = (Some(SECRET), "alice");
        }
        // Who calls by name is counted with the requests.
        assert_eq!(limiter.peek_with(rule, key, options).unwrap().remaining, part.remaining, "{rule}");
        limiter.check_all(&[Check::new(rule, key).with(options)]).unwrap();
        limiter.refund_with(rule, key, options).unwrap();
    }
    let (sent, names) = (server.sent_scripts(), server.stored.names());
    let sent = sent.iter().flatten().map(|word| String::from_utf8_lossy(word).into_owned());
    let leavings = names.iter().cloned().chain(sent).collect();
    for part in &by_request.parts {
        let rule = part.rule.as_ref();
        if rule.starts_with("pool") {
            limiter.reset_with(rule, "alice", CheckOptions::new().resource(SECRET)).unwrap();
        } else {
            limiter.reset(rule, SECRET).unwrap();
        }
    }
    assert!(server.stored.names().iter().all(|name| name.contains(":pool/")), "a reset forgot another key");
    leavings
}

#[test]
fn a_key_with_a_secret_part_is_hashed_as_a_whole() {
    let mut server = Server::start();
    let rules = r#"[{"rule_id": "pair", "rate": "5/minute", "identifier_type": ["user_id", "api_key"], "match": {}}]"#;
    let limiter = server.builder(rules).clock(sluicegate::ManualClock::new(NOW_US)).build().unwrap();
    limiter.check_request(&request()).unwrap();
    let key = CompositeKey::new(["alice", SECRET]).unwrap();
    assert_eq!(limiter.peek("pair", &key).unwrap().remaining, 4);
    let names = server.stored.names();
    assert!(names.len() == 1 && names[0].contains(":pair:{%s"), "{names:?}");
    assert!(!names[0].contains("alice") && !names[0].contains(SECRET), "{names:?}");
}

#[test]
fn a_secret_is_stored_by_its_hash() {
    let plain = leavings(|builder| builder);
    // `printf %s sk-live-4242424242 | sha256sum`
    assert!(
        plain.iter().any(|text| text.contains(":gcra/api_key:{%sd6d51bc5b8a0de6a9330129265c5992a}:")),
        "{plain:?}"
    );
    // `printf %s sk-live-4242424242 | openssl dgst -sha256 -hmac 0123456789abcdef`
    let keyed = leavings(|builder| builder.identifier_secret(IDENTIFIER_SECRET));
    assert!(
        keyed.iter().any(|text| text.contains(":gcra/api_key:{%s17ab925a1a5915040d1c2e1161fd2572}:")),
        "{keyed:?}"
    );
    for text in plain.iter().chain(&keyed) {
        assert!(!text.contains(SECRET) && !text.contains(IDENTIFIER_SECRET), "{text}");
    }
}

/// Errors and their logs say whose rule it is, and not who was counted.
#[test]
fn an_error_names_no_key() {
    let mut server = Server::start();
    let limiter = server.limiter(&rules());
    limiter.check_request(&request()).unwrap();
    for name in server.stored.names() {
        let _: i64 = server.stored.command("DEL", &name);
        let _: i64 = server.stored.command("HSET", (&name, "field", "value"));
    }
    let error = limiter.check_request(&request()).unwrap_err();
    let (shown, debugged) = (error.to_string(), format!("{error:?}"));
    for text in [&shown, &debugged] {
        assert!(!text.contains(SECRET) && !text.contains("%s") && !text.contains("alice"), "{text}");
    }
    assert!(shown.contains("(rule \"") && error.key().unwrap().contains(":{%s"), "{error}");
}

/// Without a secret in common, keys are not those of others.
#[test]
fn another_identifier_secret_counts_apart() {
    let server = Server::start();
    let limiter = |secret: &str| {
        let rules = Rules::from_json(&rules()).unwrap();
        sluicegate::RateLimiter::builder(server.redis.url())
            .rules(rules)
            .identifier_secret(secret)
            .build()
            .unwrap()
    };
    let (one, same, other) =
        (limiter(IDENTIFIER_SECRET), limiter(IDENTIFIER_SECRET), limiter("fedcba9876543210"));
    let rule = "aligned/api_key";
    let left = one.check(rule, SECRET).unwrap().remaining;
    assert_eq!(same.check(rule, SECRET).unwrap().remaining, left - 1);
    assert_eq!(other.check(rule, SECRET).unwrap().remaining, left);
}
