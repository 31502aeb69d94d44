//! The compiled matcher against plain ones.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::pattern::Pattern;
use super::{Matcher, Request};
use crate::rules::Rules;

fn rule(number: usize, identifier: &str, conditions: &Value) -> Value {
    json!({
        "rule_id": format!("r{number}"), "identifier_type": identifier, "priority": number % 3,
        "algorithm": "gcra", "limit": 1, "window_size_seconds": 1, "match": conditions,
    })
}

fn matcher(rules: Vec<Value>) -> Matcher {
    Matcher::new(&Rules::from_json(&Value::Array(rules).to_string()).unwrap())
}

/// What a pattern means, tried out in every way; slashes at the end are no empty segment if it matches without them.
fn means(pattern: &str, path: &str) -> bool {
    let is_again = pattern.contains('*')
        && pattern.ends_with('}')
        && path.ends_with('/')
        && fits(pattern, path.trim_end_matches('/'));
    !is_again && fits(pattern, path)
}

fn fits(pattern: &str, path: &str) -> bool {
    if let Some(rest) = pattern.strip_prefix('*') {
        return (0..=path.len()).any(|at| fits(rest, &path[at..]));
    }
    if let Some((_, rest)) = pattern.strip_prefix('{').and_then(|opened| opened.split_once('}')) {
        let end = path.find('/').unwrap_or(path.len());
        return fits(rest, &path[end..]);
    }
    match pattern.chars().next() {
        None => path.is_empty(),
        Some(first) => path.strip_prefix(first).is_some_and(|path| fits(&pattern[first.len_utf8()..], path)),
    }
}

/// Patterns of few letters, so that they often match; names are numbered.
fn pattern() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec!["a", "b", "aa", "ab", "a*", "*b", "a*a", "*", "{}", "{}"]);
    (prop::collection::vec(segment, 1..6), prop::sample::select(vec!["/", "*/", "*a/"])).prop_map(
        |(segments, start)| {
            let named = |(at, segment): (usize, &str)| segment.replace("{}", &format!("{{n{at}}}"));
            let named: Vec<_> = segments.into_iter().enumerate().map(named).collect();
            start.to_owned() + &named.join("/")
        },
    )
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "aa", "ab", "aab", "ba", ""]), 1..7)
        .prop_map(|segments| format!("/{}", segments.join("/")))
}

fn conditions() -> impl Strategy<Value = Value> {
    let methods = prop::sample::subsequence(vec!["GET", "PUT"], 1..=2);
    let header = prop::sample::select(vec!["*", "1", "2"]);
    let subnets = prop::sample::subsequence(vec!["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"], 1..=2);
    let optional = |strategy| prop::option::weighted(0.3, strategy);
    (
        prop::option::of(pattern()),
        prop::option::weighted(0.3, methods),
        optional(header.clone()),
        optional(header),
        prop::option::weighted(0.3, subnets),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(pattern, methods, x, y, subnets, authenticated)| {
            let mut fields = json!({ "requires_authentication": authenticated });
            let mut set = |name: &str, value: Option<Value>| {
                if let Some(value) = value {
                    fields[name] = value;
                }
            };
            set("path_pattern", pattern.map(Value::from));
            set("methods", methods.map(Value::from));
            set("ip_subnet", subnets.map(Value::from));
            set("required_headers", x.map(|x| json!({ "X": x })));
            set("required_headers", y.map(|y| json!({ "Y": y, "x": "1" })));
            fields
        })
}

fn rules() -> impl Strategy<Value = Vec<Value>> {
    let identifier = prop::sample::select(vec!["global", "user_id", "ip_address", "header:x"]);
    prop::collection::vec((identifier, conditions()), 1..80).prop_map(|rules| {
        let rules = rules.iter().enumerate();
        rules.map(|(number, (identifier, conditions))| rule(number, identifier, conditions)).collect()
    })
}

proptest! {
    #[test]
    fn a_pattern_matches_what_it_means(pattern in pattern(), path in path()) {
        prop_assert_eq!(Pattern::new(&pattern).matches(&path), means(&pattern, &path), "{} {}", pattern, path);
    }

    /// A capture put back into the pattern still matches.
    #[test]
    fn a_capture_is_what_stands_there(pattern in pattern(), path in path()) {
        let compiled = Pattern::new(&pattern);
        for at in 0..6 {
            let name = format!("n{at}");
            if let Some(segment) = compiled.capture(&path, &name) {
                prop_assert!(!segment.contains('/'));
                let filled_in = pattern.replace(&format!("{{{name}}}"), segment);
                prop_assert!(means(&filled_in, &path), "{}", filled_in);
            }
        }
    }

    /// The index leaves out no rule that applies.
    #[test]
    fn many_rules_are_matched_as_each_alone(
        rules in rules(),
        path in path(),
        method in prop::sample::select(vec!["GET", "put", "POST"]),
        user in prop::option::of(Just("alice")),
        ip in prop::option::of(prop::sample::select(vec!["10.1.2.3", "10.2.0.1", "2001:db8::1", "::ffff:10.1.0.1"])),
        x in prop::option::of(prop::sample::select(vec!["1", "2"])),
        y in prop::option::of(prop::sample::select(vec!["1", "2"])),
    ) {
        let mut request = Request::new(method, &path);
        (request.user_id, request.ip) = (user, ip);
        request.headers = [("X", x), ("y", y)].into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let matcher = matcher(rules);
        let matched = matcher.matches(&request).unwrap();
        let mut expected = matcher.explain(&request).unwrap();
        expected.retain(|explanation| explanation.matched);
        let expected: Vec<_> = expected.into_iter().map(|it| (it.rule_id, it.key.unwrap())).collect();
        let matched: Vec<_> = matched.into_iter().map(|it| (it.rule_id, it.key)).collect();
        prop_assert_eq!(matched, expected);
    }
}

#[test]
fn long_literals_are_distinguished() {
    let long = |last: &str| format!("/{}/{last}", "é".repeat(40));
    let with_pattern = |(at, last)| rule(at, "global", &json!({ "path_pattern": long(last) }));
    // So many that they are looked for.
    let others: Vec<_> = (0..100).map(|number| format!("c{number}")).collect();
    let lasts = ["a", "b", "éa"].into_iter().chain(others.iter().map(String::as_str));
    let matcher = matcher(lasts.enumerate().map(with_pattern).collect());
    let path = long("b");
    let matched = matcher.matches(&Request::new("GET", &path)).unwrap();
    assert_eq!(matched.iter().map(|it| it.rule_id.as_ref()).collect::<Vec<_>>(), ["r1"]);
}

#[test]
fn a_long_path_of_traps_takes_little_time() {
    let patterns = ["*a*a*a*a*a*b", "*/{x}/a/{y}/a/*/b", "/{a}/{b}/*c", "*/a/a/a/a/*/c", "/a/*"];
    let with_pattern =
        |(at, pattern): (usize, &&str)| rule(at, "global", &json!({ "path_pattern": pattern }));
    let matcher = matcher(patterns.iter().enumerate().map(with_pattern).collect());
    for path in ["/a".repeat(8_000), "/%2F%5c\\a".repeat(1_800), "/../a%ff".repeat(2_000)] {
        let began = std::time::Instant::now();
        let _ = matcher.matches(&Request::new("GET", &path));
        assert!(began.elapsed().as_millis() < 2_000, "{:?}", began.elapsed());
    }
}
