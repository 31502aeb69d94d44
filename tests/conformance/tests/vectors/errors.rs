//! The vectors of mistakes in `tests/vectors/errors`, whose README describes them, through both limiters.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sluicegate::{Builder, RateLimiter, Result, Rules};
use sluicegate_conformance::{Driver, Limiter};
use sluicegate_test_servers::Redis;

/// What stands in a vector for the address of a server.
struct Servers {
    redis: Redis,
    nobody: String,
    silent: TcpListener,
}

impl Servers {
    fn start() -> Self {
        // Bound and closed again, so it was free a moment ago.
        let nobody = address(&TcpListener::bind("127.0.0.1:0").unwrap());
        Self { redis: Redis::start().unwrap(), nobody, silent: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    fn fill_in(&self, text: &str) -> String {
        text.replace("{redis}", &self.redis.address())
            .replace("{nobody}", &self.nobody)
            .replace("{silent}", &address(&self.silent))
    }
}

fn address(listener: &TcpListener) -> String {
    listener.local_addr().unwrap().to_string()
}

#[test]
fn blocking() -> io::Result<()> {
    passes(Driver::Blocking, "blocking")
}

#[test]
fn asynchronous() -> io::Result<()> {
    passes(Driver::Async, "async")
}

fn passes(driver: Driver, name: &str) -> io::Result<()> {
    let servers = Servers::start();
    let vectors = load();
    let (played, skipped): (Vec<_>, Vec<_>) = vectors.iter().partition(|vector| is_for_rust(vector));
    let failed: Vec<_> = played.iter().flat_map(|vector| differences(driver, &servers, vector)).collect();
    let (passed, failures, left) = (played.len() - failed.len(), failed.len(), skipped.len());
    let reason = "the types of Rust exclude the mistake";
    let counts = format!("{passed} passed, {failures} failed, {left} skipped ({reason})");
    // Not by a macro, whose output is not shown when a test passes.
    writeln!(io::stdout(), "vectors: Rust {name}, mistakes: {counts}")?;
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 100, "only {passed} vectors were found");
    Ok(())
}

/// The vectors, each with the rules of its file unless it has its own.
fn load() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/errors");
    let folders = [folder.clone(), folder.join("reservations")];
    let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension().is_some_and(|extension| extension == "json") && !path.ends_with("schema.json")
    });
    files.sort();
    let vectors = |path| {
        let mut file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let rules = file["rules"].take();
        let Value::Array(mut vectors) = file["vectors"].take() else { panic!("a file has no vectors") };
        for vector in &mut vectors {
            let vector = vector.as_object_mut().unwrap();
            vector.entry("rules").or_insert_with(|| rules.clone());
        }
        vectors
    };
    files.into_iter().flat_map(vectors).collect()
}

fn is_for_rust(vector: &Value) -> bool {
    vector["only"].as_array().is_none_or(|only| only.iter().any(|language| language == "rust"))
}

/// What is not as expected on the first backend where something is not.
fn differences(driver: Driver, servers: &Servers, vector: &Value) -> Option<String> {
    let everywhere = [json!("memory://"), json!("redis://{redis}")];
    let urls = vector.get("url").map_or(&everywhere[..], std::slice::from_ref);
    urls.iter().find_map(|url| {
        let url = servers.fill_in(url.as_str().unwrap());
        let answer = match attempt(driver, &url, vector) {
            Ok(()) => return Some(format!("{}: {url}: no error", vector["id"])),
            Err(error) => error,
        };
        let expect = &vector["expect"];
        let message = |field: &str| expect[field].as_str().map(|text| servers.fill_in(text));
        let said = answer.message();
        let matches = message("message").is_none_or(|message| said == message)
            && message("message_begins").is_none_or(|begins| said.starts_with(&begins))
            && expect["error"] == answer.kind().name()
            && expect["retryable"] == answer.is_retryable();
        let name = answer.kind().name();
        (!matches).then(|| format!("{}: {url}\n  expected {expect}\n  answered {name}: {said}", vector["id"]))
    })
}

fn attempt(driver: Driver, url: &str, vector: &Value) -> Result<()> {
    let rules = match (vector["rules_file"].as_str(), &vector["rules"]) {
        (Some(path), _) => Rules::from_file(path)?,
        (None, Value::String(text)) => Rules::from_json(text)?,
        (None, rules) => Rules::from_json(&rules.to_string())?,
    };
    let prefix = format!("{driver:?}/{}", vector["id"].as_str().unwrap());
    let builder = RateLimiter::builder(url).rules(rules).prefix(prefix);
    let limiter = Limiter::new(driver, with_options(builder.clone(), vector))?;
    if vector["closed"] == true {
        limiter.close();
    }
    match vector["op"].as_str() {
        None => Ok(()),
        Some("reserve" | "reserve_all" | "reserve_request") => limiter.reserve(vector).map(drop),
        Some("commit" | "release" | "renew") => {
            let id = id(&limiter, || Limiter::new(driver, builder.prefix("other")), vector)?;
            limiter.end((&id).into(), vector).map(drop)
        }
        Some(_) => match limiter.call_by_hand(vector).or_else(|| limiter.call_about_all(vector)) {
            Some(answered) => answered.map(drop),
            None => limiter.call(vector).map(drop),
        },
    }
}

/// The id that a call gets: that of what is reserved first, with a change, or one as it stands.
fn id(limiter: &Limiter, other: impl FnOnce() -> Result<Limiter>, vector: &Value) -> Result<String> {
    if let Some(id) = vector["reservation"].as_str() {
        return Ok(id.to_owned());
    }
    let first = json!({ "items": vector["reserve"] });
    let reserved = match vector["change"].as_str() {
        Some("prefix") => other()?.reserve(&first)?,
        _ => limiter.reserve(&first)?,
    };
    let mut id = reserved.id().unwrap();
    match vector["change"].as_str() {
        Some("cut") => drop(id.pop()),
        Some("altered") => {
            let middle = id.len() / 2;
            let other = if &id[middle..=middle] == "A" { "B" } else { "A" };
            id.replace_range(middle..=middle, other);
        }
        _ => {}
    }
    Ok(id)
}

fn pairs<'a, T>(object: &'a Value, of: impl Fn(&'a Value) -> Option<T>) -> Vec<(String, T)> {
    object.as_object().unwrap().iter().map(|(name, value)| (name.clone(), of(value).unwrap())).collect()
}

fn with_options(mut builder: Builder, vector: &Value) -> Builder {
    for (name, value) in vector["options"].as_object().into_iter().flatten() {
        let number = || value.as_u64().unwrap();
        let text = || value.as_str().unwrap();
        builder = match name.as_str() {
            "prefix" => builder.prefix(text()),
            "connect_timeout" => builder.connect_timeout(Duration::from_micros(number())),
            "response_timeout" => builder.response_timeout(Duration::from_micros(number())),
            "tls_ca" => builder.tls_ca(text()),
            "tls_cert" => builder.tls_cert(text()),
            "tls_key" => builder.tls_key(text()),
            "identifier_secret" => builder.identifier_secret(text()),
            "max_keys" => builder.max_keys(number() as usize),
            "breaker_failures" => builder.breaker_failures(number() as u32),
            "breaker_probe" => builder.breaker_probe(Duration::from_micros(number())),
            "fallback" => builder.fallback(text()),
            "instances" => builder.instances(number() as u32),
            "lazy" => builder.lazy(value.as_bool().unwrap()),
            "share" => builder.share(value.as_f64().unwrap()),
            "replicas" => builder.replicas(number() as u32),
            "replica_timeout" => builder.replica_timeout(Duration::from_micros(number())),
            "remember_denials" => builder.remember_denials(Duration::from_micros(number())),
            "request_id_seconds" => builder.request_id_seconds(number()),
            "regions" => builder.regions(pairs(value, Value::as_str)),
            "region" => builder.region(text()),
            "region_parts" => builder.region_parts(pairs(value, Value::as_f64)),
            other => panic!("the runner knows no option {other}"),
        };
    }
    builder
}
