//! What is read from good files, what is said about bad ones, and that no input is a panic.

#![allow(clippy::unwrap_used, clippy::panic)]

mod bad_rules;

use super::{
    Algorithm, Fallback, GcraName, Identifier, Limit, Match, Rule, Rules, Scope, Structure, WindowStart,
};
use crate::error::ErrorKind;
use bad_rules::rule_text;

/// Every feature of the format once; also what the mutations of the last test start from.
const GOOD: &str = r#"// The rules of a shop.
{ "rules": [
    {
        "rule_id": "api_user_get_orders",
        "description": "GET /orders/* // per \"user\" /* not a comment */",
        "identifier_type": "path:user",
        "algorithm": "sliding_window",
        "limit": 50, /* a
        minute */ "window_size_seconds": 60,
        "match": {
            "path_pattern": "/users/{user}/orders/*",
            "methods": ["get", "HEAD"],
            "requires_authentication": true,
            "required_headers": { "X-Client-Type": "mobile", "x-trace": "*" },
            "ip_subnet": "192.168.1.0/24"
        },
        "unless": { "methods": ["options"] },
        "cost": 3, "priority": 10, "shadow": true, "fallback": "deny", "count_denied": true, "ipv6_prefix_length": 56
    },
    {
        "rule_id": "two-level", "algorithm": "sliding_buckets", "resolution_seconds": 2,
        "identifier_type": "header:X-API-Key", "resource_identifier_type": "global",
        "limits": [
            { "limit": 3, "window_size_seconds": 10 },
            { "limit": 5, "window_size_seconds": 10, "scope": "resource", "resolution_seconds": 0.5 }
        ]
    },
    { "rule_id": "fade", "algorithm": "decay", "limit": 2.5, "resolution_seconds": 1, "decay_factor": 1.5 },
    { "rule_id": "log", "algorithm": "sliding_log", "limit": 9, "window_size_seconds": 0.001, "structure": "sorted_set" },
    { "rule_id": "fixed", "algorithm": "fixed_window", "limit": 1e3, "window_size_seconds": 1, "window_start": "first_request" },
    { "rule_id": "bucket", "algorithm": "token_bucket", "rate": "10/s", "burst": 20 }
] } // the end"#;

fn rule(fields: &str) -> Rule {
    let rules = Rules::from_json(&format!(r#"[{{ "rule_id": "r", {fields} }}]"#)).unwrap();
    Rule::clone(rules.get("r").unwrap())
}

#[test]
fn a_rate_is_a_limit_and_a_window() {
    let seconds = |us: u64| us * 1_000_000;
    for (rate, most, window_us) in [
        ("5/minute", 5.0, seconds(60)),
        ("100/s", 100.0, seconds(1)),
        ("20/30s", 20.0, seconds(30)),
        ("1/250ms", 1.0, 250_000),
        ("7/2min", 7.0, seconds(120)),
        ("1/m", 1.0, seconds(60)),
        ("3/12hours", 3.0, seconds(12 * 3600)),
        ("9007199254740991/3650days", 9_007_199_254_740_991.0, seconds(3650 * 86_400)),
    ] {
        let read = rule(&format!(r#""rate": "{rate}", "algorithm": "fixed_window""#));
        assert_eq!(read.limits, [limit(most, window_us, 0, Scope::Key)], "{rate}");
    }
    assert_eq!(
        rule(r#""rate": "5/minute""#),
        rule(r#""algorithm": "gcra", "limit": 5, "window_size_seconds": 60"#)
    );
    let in_limits =
        rule(r#""limits": [{"rate": "5/s"}, {"rate": "50/m", "scope": "resource"}], "algorithm": "gcra""#);
    assert_eq!(
        in_limits.limits,
        [limit(5.0, seconds(1), 0, Scope::Key), limit(50.0, seconds(60), 0, Scope::Resource)]
    );
}

fn fault(text: &str) -> String {
    let error = Rules::from_json(text).map(|_| text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRule);
    error.message().to_owned()
}

fn limit(limit: f64, window_us: u64, resolution_us: u64, scope: Scope) -> Limit {
    Limit { limit, window_us, resolution_us, scope, calendar: None }
}

#[test]
fn reads_every_field() {
    let rules: Rules = GOOD.parse().unwrap();
    let headers = [("x-client-type", "mobile"), ("x-trace", "*")];
    let expected = Rule {
        id: "api_user_get_orders".into(),
        description: "GET /orders/* // per \"user\" /* not a comment */".into(),
        identifier_type: Some(Identifier::Path("user".into())),
        resource_identifier_type: None,
        algorithm: Algorithm::SlidingWindow,
        limits: vec![limit(50.0, 60_000_000, 0, Scope::Key)],
        count_denied: true,
        lease_us: None,
        block: None,
        overrides: false,
        global_us: None,
        lease: None,
        shadow: true,
        fallback: Some(Fallback::Deny),
        priority: 10,
        ipv6_prefix_length: 56,
        matches: Some(Match {
            path_pattern: Some("/users/{user}/orders/*".into()),
            methods: vec!["GET".into(), "HEAD".into()],
            requires_authentication: true,
            required_headers: headers.map(|(name, value)| (name.into(), value.into())).into(),
            ip_subnet: vec!["192.168.1.0/24".into()],
        }),
        unless: vec![Match { methods: vec!["OPTIONS".into()], ..Match::default() }],
        cost: 3,
    };
    assert_eq!(**rules.find("api_user_get_orders").unwrap(), expected);
}

#[test]
fn reads_every_algorithm() {
    let rules = Rules::from_json(GOOD).unwrap();
    let algorithm = |id| rules.find(id).unwrap().algorithm;
    assert_eq!(algorithm("fade"), Algorithm::Decay { factor: 1.5 });
    assert_eq!(algorithm("log"), Algorithm::SlidingLog { structure: Structure::SortedSet });
    assert_eq!(algorithm("fixed"), Algorithm::FixedWindow { window_start: WindowStart::FirstRequest });
    assert_eq!(algorithm("bucket"), Algorithm::Gcra { name: GcraName::TokenBucket, burst: Some(20) });
    let uniform = rule(r#""algorithm": "uniform", "limit": 5, "window_size_seconds": 1"#).algorithm;
    assert_eq!(uniform, Algorithm::Gcra { name: GcraName::Uniform, burst: Some(1) });
    for name in ["gcra", "leaky_bucket"] {
        let fields = format!(r#""algorithm": "{name}", "limit": 5, "window_size_seconds": 1"#);
        assert!(matches!(rule(&fields).algorithm, Algorithm::Gcra { burst: None, .. }));
    }
}

#[test]
fn reads_several_limits_with_the_rules_own_resolution_as_default() {
    let rules = Rules::from_json(GOOD).unwrap();
    let rule = rules.find("two-level").unwrap();
    assert_eq!(rule.limits[0], limit(3.0, 10_000_000, 2_000_000, Scope::Key));
    assert_eq!(rule.limits[1], limit(5.0, 10_000_000, 500_000, Scope::Resource));
    assert_eq!(rule.identifier_type, Some(Identifier::Header("x-api-key".into())));
    assert_eq!(rule.resource_identifier_type, Some(Identifier::Global));
}

#[test]
fn defaults_are_those_documented() {
    let rule = rule(r#""algorithm": "sliding_buckets", "limit": 1, "window_size_seconds": 1"#);
    assert_eq!(rule.limits, [limit(1.0, 1_000_000, 16_667, Scope::Key)]);
    assert_eq!((rule.priority, rule.ipv6_prefix_length), (0, 64));
    assert!(!rule.shadow && !rule.count_denied && rule.description.is_empty());
    assert!(rule.matches.is_none() && rule.identifier_type.is_none());
}

#[test]
fn accepts_the_extremes() {
    let window = |seconds| format!(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": {seconds}"#);
    assert_eq!(rule(&window("315360000")).limits[0].window_us, 315_360_000_000_000);
    assert_eq!(rule(&window("0.001")).limits[0].window_us, 1_000);
    assert_eq!(rule(&window("0.0010006")).limits[0].window_us, 1_001);
    let most = rule(r#""algorithm": "sliding_window", "limit": 9007199254740991, "window_size_seconds": 1"#);
    assert_eq!(most.limits[0].limit, 9_007_199_254_740_991.0);
    rule(r#""algorithm": "gcra", "limit": 1, "window_size_seconds": 1, "burst": 4294967296"#);
    rule(r#""algorithm": "decay", "limit": 1, "resolution_seconds": 15674, "decay_factor": 1.0001"#);
    rule(r#""algorithm": "decay", "limit": 1, "resolution_seconds": 315360000, "decay_factor": 1e308"#);
    let slots = r#""algorithm": "sliding_buckets", "limit": 1, "window_size_seconds": 4.096"#;
    assert_eq!(rule(&format!(r#"{slots}, "resolution_seconds": 0.001"#)).limits[0].resolution_us, 1_000);
    rule(r#""algorithm": "sliding_log", "limit": 100000, "window_size_seconds": 1"#);
}

#[test]
fn a_path_pattern_has_at_most_2048_bytes() {
    let rest = r#""identifier_type": "global", G"#;
    let pattern =
        |bytes: usize| format!(r#""match": {{ "path_pattern": "/{}" }}, {rest}"#, "a".repeat(bytes - 1));
    Rules::from_json(&rule_text(&pattern(2048))).unwrap();
    assert!(fault(&rule_text(&pattern(2049))).ends_with("it has to be at most 2048 bytes long"));
}

#[test]
fn an_empty_set_is_valid() {
    for text in ["[]", r#"{ "rules": [] }"#, "\u{feff}[ /**/ ] //"] {
        let rules = Rules::from_json(text).unwrap();
        assert!(rules.is_empty() && rules.get("").is_none());
    }
}

#[test]
fn keeps_the_order_of_the_file() {
    let rules = Rules::from_json(GOOD).unwrap();
    let ids: Vec<&str> = rules.iter().map(|rule| &*rule.id).collect();
    assert_eq!(ids, ["api_user_get_orders", "two-level", "fade", "log", "fixed", "bucket"]);
    assert_eq!(rules.len(), rules.iter().len());
}

#[test]
fn numbers_are_read_when_the_program_asks_for_arbitrary_precision() {
    let number = r#"{ "$serde_json::private::Number": "5" }"#;
    let rule = rule(&format!(r#""algorithm": "gcra", "limit": {number}, "window_size_seconds": 1"#));
    assert_eq!(rule.limits[0].limit, 5.0);
}

#[test]
fn an_unknown_rule_is_answered_with_the_nearest_name() {
    let rules = Rules::from_json(GOOD).unwrap();
    let message = |id: &str| {
        let error = rules.find(id).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownRule);
        error.message().to_owned()
    };
    assert_eq!(message("bukcet"), r#"no rule is called "bukcet"; did you mean "bucket"?"#);
    assert_eq!(message("FIXED"), r#"no rule is called "FIXED"; did you mean "fixed"?"#);
    assert_eq!(
        message("\n"),
        "no rule is called \"\\n\"; the rules are \
         \"api_user_get_orders\", \"two-level\", \"fade\", \"log\", \"fixed\" and 1 more"
    );
    assert!(message(&"\u{202e}".repeat(1_000_000)).len() < 1_000);
    let error = Rules::default().find("x").unwrap_err();
    assert_eq!(error.message(), r#"no rule is called "x"; there are no rules"#);
}

#[test]
fn an_error_of_a_file_names_the_file() {
    let path = std::env::temp_dir().join(format!("sluicegate-rules-{}.json", std::process::id()));
    let name = path.display();
    let message = || Rules::from_file(&path).unwrap_err().message().to_owned();
    assert!(message().starts_with(&format!("{name}: cannot be read: ")));
    // For a rate in place of a file, the error says where it belongs.
    let hint = r#" (a rate belongs to a rule: [{"rule_id": "all", "rate": "5/minute"}])"#;
    assert!(Rules::from_file("5/minute").unwrap_err().message().ends_with(hint));
    assert!(!message().contains("a rate"));
    std::fs::write(&path, b"[\xff]").unwrap();
    assert!(message().contains("UTF-8"));
    std::fs::write(&path, r#"[{ "rule_id": "orders", "windw_size_seconds": 1 }]"#).unwrap();
    let fault = r#"field "windw_size_seconds" is not known; did you mean "window_size_seconds"?"#;
    assert_eq!(message(), format!(r#"{name}: rule "orders": {fault}"#));
    std::fs::write(&path, GOOD).unwrap();
    assert_eq!(Rules::from_file(&path).unwrap().len(), 6);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_position_in_the_text_is_that_of_the_text_with_its_comments() {
    let message = fault("[ // é {\n/* é \n */ {\"a\" 1}]");
    assert_eq!(message, "not valid JSON: expected `:` at line 3 column 10");
}

/// The file as a whole.
const BAD_FILES: &[(&str, &str)] = &[
    ("", "not valid JSON: EOF while parsing a value at line 1 column 0"),
    ("[1,]", "not valid JSON: trailing comma at line 1 column 4"),
    ("[] []", "not valid JSON: trailing characters at line 1 column 4"),
    ("[\"/*\"]\n[/*", "not valid JSON: the comment that begins with /* in line 2 has no */"),
    ("[/*/]", "not valid JSON: the comment that begins with /* in line 1 has no */"),
    ("[1 / 2]", "not valid JSON: expected `,` or `]` at line 1 column 4"),
    ("[1e400]", "not valid JSON: number out of range at line 1 column 6"),
    ("5", "it is 5; it has to be an array of rules, or an object with \"rules\""),
    (
        r#"{"rule_id": "a", "rate": "1/s"}"#,
        "it is a single rule; it has to be an array of rules (put the rule in brackets)",
    ),
    ("{}", "field \"rules\" is missing; it has to be an array of rules"),
    ("{\"rules\": {}}", "field \"rules\" is an object; it has to be an array of rules"),
    ("{\"rules\": [], \"rules\": []}", "field \"rules\" is stated twice; state it once"),
    ("{\"rule\": []}", "field \"rule\" is not known; did you mean \"rules\"?"),
    (
        "{\"rules\": [], \"version\": 1}",
        "field \"version\" is not known; it could be \"rules\" or \"$schema\"",
    ),
    ("[[]]", "rule 1: it is an empty array; it has to be an object"),
    ("[{}]", "rule 1: field \"rule_id\" is missing; it has to be 1 to 128 of A-Z a-z 0-9 _ . : / -"),
    (
        "[{\"rule_id\": \"a b\"}]",
        "rule 1: field \"rule_id\" is \"a b\"; it has to be 1 to 128 of A-Z a-z 0-9 _ . : / -",
    ),
    (
        "[{\"rule_id\": \"\"}]",
        "rule 1: field \"rule_id\" is \"\"; it has to be 1 to 128 of A-Z a-z 0-9 _ . : / -",
    ),
    (
        r#"[{"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1},
            {"rule_id": "a", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1}]"#,
        "rule \"a\": field \"rule_id\" is the same in rule 1 and rule 2; ids have to differ",
    ),
];

#[test]
fn a_bad_file_is_answered_with_its_fault() {
    for (text, expected) in BAD_FILES {
        assert_eq!(fault(text), *expected, "{text}");
    }
}

#[test]
fn a_message_is_short_and_on_one_line_whatever_the_value() {
    let long = "\\n\\u001b[31m\u{202e}é".repeat(10_000);
    for text in [
        format!(r#"[{{ "rule_id": "{long}" }}]"#),
        format!(r#"[{{ "{long}": 1 }}]"#),
        format!(r#"[{{ "rule_id": "r", "algorithm": "{long}" }}]"#),
        format!(r#"{{ "{long}": 1 }}"#),
        format!(r#""{long}""#),
        rule_text(&format!(r#""match": {{ "required_headers": {{ "{long}": 1 }} }}, G"#)),
        rule_text(&format!(r#""match": {{ "path_pattern": "/{long}" }}, G"#)),
    ] {
        let message = fault(&text);
        assert!(message.len() < 1_000 && !message.contains(char::is_control), "{message}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    for open in ["[", r#"{"rules":"#, r#"[{"match":"#] {
        assert!(fault(&open.repeat(100_000)).contains("recursion limit exceeded"));
    }
}

/// Xorshift: the same inputs in every run.
fn random(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 33) as usize
}

#[test]
fn no_input_is_a_panic() {
    let pieces: Vec<&str> = GOOD.split_inclusive([' ', ',', ':', '"', '{', '[']).collect();
    let odd = ["1e308", "-1", "0.0000005", "\"", "\\", "/*", "*/", "{", "]", "null", "\u{feff}", "é", "1e16"];
    let seed = &mut 0x5eed;
    for _ in 0..5_000 {
        let mut mutated = pieces.clone();
        for _ in 0..=random(seed) % 4 {
            let at = random(seed) % mutated.len();
            match random(seed) % 3 {
                0 => drop(mutated.remove(at)),
                1 => mutated[at] = odd[random(seed) % odd.len()],
                _ => mutated.swap(at, random(seed) % pieces.len().min(at + 1)),
            }
        }
        if let Err(error) = Rules::from_json(&mutated.concat()) {
            assert!(error.message().len() < 2_000 && !error.message().contains(char::is_control));
        }
        let bytes: Vec<u8> = (0..random(seed) % 40).map(|_| random(seed) as u8 & 0x7f).collect();
        drop(Rules::from_json(&String::from_utf8_lossy(&bytes)));
    }
}
