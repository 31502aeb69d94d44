//! Names of state: whatever callers pass as keys.

use std::collections::BTreeSet;

use sluicegate::{CheckOptions, ErrorKind, ManualClock, RateLimiter, Rules};
use sluicegate_conformance::{Backend, Stored};

use crate::server::Server;
use crate::{KINDS, NOW_US, cost, every_kind, rule};

/// A limit per key and one per resource, of two windows each.
const TWO_LEVELS: &str = r#""algorithm": "gcra", "limits": [
    {"limit": 10, "window_size_seconds": 60}, {"limit": 100, "window_size_seconds": 3600},
    {"limit": 10, "window_size_seconds": 60, "scope": "resource"},
    {"limit": 100, "window_size_seconds": 3600, "scope": "resource"}]"#;

/// They come first among a cluster's nodes.
const PRIMARIES: usize = 3;

/// Keys that differ in nothing but what a careless name would lose.
fn awkward_keys() -> Vec<String> {
    let mut keys: Vec<String> = [
        "a",
        "{a}",
        "{a",
        "a}",
        "}a{",
        "{}",
        "{}a",
        "{",
        "}",
        "{{a}}",
        "a:b",
        "a",
        "%",
        "%7Ba%7D",
        "%25",
        "a\n",
        "\n",
        "a\0",
        "\0",
        "a\0b",
        "a\r\nDEL x",
        "\x7f",
        "ä",
        "a\u{308}",
        "日本",
        "🦀",
        "*",
        "a*",
        "[a]",
        " ",
        "a ",
        "\u{200b}",
    ]
    .map(str::to_owned)
    .to_vec();
    let megabyte = "x".repeat(1 << 20);
    keys.extend([
        format!("{megabyte}1"),
        format!("{megabyte}2"),
        "x".repeat(128),
        "x".repeat(129),
        "é".repeat(65),
    ]);
    keys.sort();
    keys.dedup();
    keys
}

/// Each key has a count of its own.
fn no_two_share_a_count(
    limiter: &RateLimiter,
    rule: &str,
    call: impl Fn(u64, usize) -> CheckOptions<'static>,
) {
    let keys = awkward_keys();
    for (number, key) in keys.iter().enumerate() {
        let used = 1 + number as u64 % 9;
        let decision = limiter.check_with(rule, key, call(used, number)).unwrap();
        assert_eq!(decision.remaining, 10 - used, "{key:.20?} was seen before");
    }
    for (number, key) in keys.iter().enumerate() {
        let used = 1 + number as u64 % 9;
        assert_eq!(limiter.peek_with(rule, key, call(1, number)).unwrap().remaining, 10 - used, "{key:.20?}");
    }
}

#[test]
fn trap_16_braces_and_control_characters() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        no_two_share_a_count(&limiter, kind, |used, _| cost(used));
    }
    for name in server.stored.names() {
        assert!(name.len() < 512, "a caller chose the size of a name: {} bytes", name.len());
        assert!(!name.contains(char::is_control), "{name:?}");
        let braces: String = name.chars().filter(|c| matches!(c, '{' | '}')).collect();
        assert_eq!(braces, "{}", "{name}: the tag is not the key");
    }
    let rules = Rules::from_json(&every_kind()).unwrap();
    let memory =
        RateLimiter::builder("memory://").rules(rules).clock(ManualClock::new(NOW_US)).build().unwrap();
    no_two_share_a_count(&memory, "aligned", |used, _| cost(used));
}

#[test]
fn trap_16_keys_of_different_slots() {
    let backend = Backend::cluster();
    let Backend::Cluster(cluster) = &backend else { unreachable!() };
    let rules = Rules::from_json(&rule("two_levels", TWO_LEVELS)).unwrap();
    let limiter = RateLimiter::builder(backend.url()).rules(rules).build().unwrap();
    let mut primaries: Vec<_> = cluster.nodes()[..PRIMARIES].iter().map(Stored::on).collect();
    let resources = awkward_keys();
    for (key, resource) in resources.iter().rev().zip(&resources) {
        let options = CheckOptions::new().resource(resource);
        assert_eq!(limiter.check_with("two_levels", key, options).unwrap().remaining, 9, "{resource:.20?}");
        let mut slots = BTreeSet::new();
        for primary in &mut primaries {
            for name in primary.names() {
                slots.insert(primary.command::<u64>("CLUSTER", ("KEYSLOT", name)));
            }
            primary.clear();
        }
        assert_eq!(slots.len(), 1, "{resource:.20?}");
    }
}

#[test]
fn trap_16_empty_keys() {
    let server = Server::start();
    let two_levels = rule("two_levels", TWO_LEVELS);
    let (limiter, _) = server.limiter_at(NOW_US, &two_levels);
    let kind = |key: &str, resource: &str| {
        limiter.check_with("two_levels", key, CheckOptions::new().resource(resource)).unwrap_err().kind()
    };
    assert_eq!(kind("", "printer"), ErrorKind::InvalidArgument);
    assert_eq!(kind("alice", ""), ErrorKind::InvalidArgument);
    assert_eq!(limiter.check("two_levels", "alice").unwrap_err().kind(), ErrorKind::InvalidArgument);
}

/// A key and a resource must not be able to trade places, or parts.
#[test]
fn trap_16_keys_beside_resources() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &rule("two_levels", TWO_LEVELS));
    let pairs = [("a", "b:c"), ("b", "a:c"), ("c", "a}:b"), ("b:c", "a"), ("gt1m", "x"), ("x", "x:gt1m")];
    for (key, resource) in pairs {
        let options = CheckOptions::new().resource(resource);
        assert_eq!(limiter.check_with("two_levels", key, options).unwrap().remaining, 9, "{key} {resource}");
    }
    assert_eq!(server.stored.names().len(), 4 * pairs.len());
}

#[test]
fn trap_17_keys_built_inside_a_script() {
    let mut server = Server::start();
    let rules = every_kind().replacen('[', &rule("two_levels", TWO_LEVELS).replace("}]}]", "}]},"), 1);
    let (limiter, _) = server.limiter_at(NOW_US, &rules);
    for (kind, _) in KINDS {
        limiter.check(kind, "alice").unwrap();
        limiter.refund_with(kind, "bob", cost(2)).unwrap();
        limiter.check_with(kind, "bob", cost(2)).unwrap();
    }
    limiter.check_with("two_levels", "alice", CheckOptions::new().resource("printer")).unwrap();
    let mut declared = BTreeSet::new();
    for command in server.sent_scripts() {
        let count: usize = String::from_utf8_lossy(&command[2]).parse().unwrap();
        declared.extend(command[3..3 + count].iter().map(|key| String::from_utf8_lossy(key).into_owned()));
    }
    let names = server.stored.names();
    assert_eq!(names.len(), 2 * KINDS.len() + 4);
    assert!(names.iter().all(|name| declared.contains(name)), "{names:?}");
}

#[test]
fn trap_24_a_key_that_every_call_writes() {
    let mut server = Server::start();
    let (limiter, _) = server.limiter_at(NOW_US, &every_kind());
    for (kind, _) in KINDS {
        for number in 0..20 {
            limiter.check(kind, &format!("caller{number}")).unwrap();
        }
    }
    let names = server.stored.names();
    assert_eq!(names.len(), 20 * KINDS.len());
    assert!(names.iter().all(|name| name.contains("{caller")));
}
