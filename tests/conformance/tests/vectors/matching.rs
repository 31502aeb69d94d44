//! The vectors for the matching of requests, through both limiters.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sluicegate::{
    AsyncRateLimiter, Decision, Error, ErrorKind, Explanation, RateLimiter, Request, RequestMatch, Result,
    Rules,
};
use sluicegate_conformance::request_of;
use tokio::runtime;

#[test]
fn every_case_is_answered_as_expected() {
    let (mut cases, mut failed) = (0, Vec::new());
    for vector in vectors() {
        for (number, case) in array(&vector["cases"]).iter().enumerate() {
            cases += 1;
            if let Err(difference) = run(&vector["rules"], case) {
                failed.push(format!("{}, case {number}: {case}\n  {difference}", vector["id"]));
            }
        }
    }
    println!("matching: {} of {cases} cases passed", cases - failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(cases >= 100, "only {cases} cases were found");
}

#[test]
fn a_closed_limiter_admits_no_request() {
    let request = Request::new("GET", "/");
    for url in ["memory://", "redis://127.0.0.1:1"] {
        let limiter = RateLimiter::builder(url).build().unwrap();
        assert!(limiter.check_request(&request).unwrap().allowed, "no rule, no server needed");
        limiter.close();
        assert_eq!(limiter.check_request(&request).unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[test]
fn a_request_costs_what_its_rule_says() {
    let rules = r#"[
        {"rule_id": "expensive", "rate": "10/s", "cost": 3, "identifier_type": "global", "match": {"path_pattern": "/export"}},
        {"rule_id": "all", "rate": "10/s", "identifier_type": "global", "match": {}}
    ]"#;
    let limiter = RateLimiter::builder("memory://").rules(Rules::from_json(rules).unwrap()).build().unwrap();
    let decision = limiter.check_request(&Request::new("GET", "/export")).unwrap();
    let left: Vec<_> = decision.parts.iter().map(|part| (part.rule.as_ref(), part.remaining)).collect();
    assert_eq!(left, [("expensive", 7), ("all", 9)]);
    assert_eq!(limiter.check("expensive", "global").unwrap().remaining, 6);
}

fn vectors() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/matching");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_vectors = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|extension| extension == "json") && !path.ends_with("schema.json")
    };
    let read = |path| {
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        array(&file["vectors"]).to_vec()
    };
    files.filter(is_vectors).flat_map(read).collect()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// What a limiter answers to a request.
struct Answers {
    matches: Result<Vec<RequestMatch>>,
    explanations: Result<Vec<Explanation>>,
    decision: Result<Decision>,
}

fn run(rules: &Value, case: &Value) -> Result<(), String> {
    let rules = Rules::from_json(&rules.to_string()).map_err(|error| error.to_string())?;
    let request = request_of(&case["request"]);
    compare(case, &blocking(rules.clone(), &request))?;
    compare(case, &asynchronous(rules, &request)).map_err(|difference| format!("async: {difference}"))
}

fn blocking(rules: Rules, request: &Request<'_>) -> Answers {
    let limiter = RateLimiter::builder("memory://").rules(rules).build().unwrap();
    Answers {
        matches: limiter.match_request(request),
        explanations: limiter.explain_request(request),
        decision: limiter.check_request(request),
    }
}

fn asynchronous(rules: Rules, request: &Request<'_>) -> Answers {
    runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let limiter = AsyncRateLimiter::builder("memory://").rules(rules).connect().await.unwrap();
        Answers {
            matches: limiter.match_request(request),
            explanations: limiter.explain_request(request),
            decision: limiter.check_request(request).await,
        }
    })
}

fn compare(case: &Value, answers: &Answers) -> Result<(), String> {
    if let Some(argument) = case["argument"].as_str() {
        refused(argument, answers.matches.as_ref().err())?;
        refused(argument, answers.explanations.as_ref().err())?;
        return refused(argument, answers.decision.as_ref().err());
    }
    let text = |error: &Error| error.to_string();
    let expected = &case["matches"];
    same("matches", expected, &listed(answers.matches.as_ref().map_err(text)?))?;
    explained(case, answers.explanations.as_ref().map_err(text)?)?;
    decided(expected, answers.decision.as_ref().map_err(text)?)
}

fn refused(argument: &str, error: Option<&Error>) -> Result<(), String> {
    let is_right = |error: &&Error| {
        error.kind() == ErrorKind::InvalidArgument && error.message().starts_with(&format!("{argument} "))
    };
    error.filter(is_right).map(drop).ok_or_else(|| format!("answered {error:?}"))
}

fn listed(matches: &[RequestMatch]) -> Value {
    matches.iter().map(|it| fields(&it.rule_id, &it.key, it.resource.as_deref())).collect()
}

fn fields(rule_id: &str, key: &str, resource: Option<&str>) -> Value {
    match resource {
        Some(resource) => json!({ "rule_id": rule_id, "key": key, "resource": resource }),
        None => json!({ "rule_id": rule_id, "key": key }),
    }
}

fn explained(case: &Value, explanations: &[Explanation]) -> Result<(), String> {
    let (matched, others): (Vec<_>, Vec<_>) = explanations.iter().partition(|it| it.matched);
    let listed =
        matched.iter().map(|it| fields(&it.rule_id, it.key.as_ref().unwrap(), it.resource.as_deref()));
    same("explained matches", &case["matches"], &listed.collect())?;
    if let Some(it) = matched.iter().find(|it| it.reason != "every condition holds") {
        return Err(format!("{} matched because {}", it.rule_id, it.reason));
    }
    let reasons: BTreeMap<_, _> = others.iter().map(|it| (it.rule_id.as_ref(), &it.reason)).collect();
    if case["reasons"].is_null() { Ok(()) } else { same("reasons", &case["reasons"], &json!(reasons)) }
}

fn decided(matches: &Value, decision: &Decision) -> Result<(), String> {
    let expected: Value = array(matches).iter().map(|it| it["rule_id"].clone()).collect();
    let parts: Value = decision.parts.iter().map(|part| json!(part.rule.as_ref())).collect();
    same("parts", &expected, &parts)?;
    same("rule_applied", &json!(!array(matches).is_empty()), &json!(decision.rule_applied()))?;
    same("allowed", &json!(true), &json!(decision.allowed))
}

fn same(what: &str, expected: &Value, answered: &Value) -> Result<(), String> {
    if expected == answered {
        return Ok(());
    }
    Err(format!("{what}: expected {expected}\n  answered {answered}"))
}
