//! Server time of what rules may do beyond a plain check, as the server itself accounts for it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::{Connection, cmd};
use sluicegate::{CheckOptions, RateLimiter, Reservation, Rules, Usage};
use sluicegate_test_servers::Redis;

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;

/// Keys that are called in turn, and how often in a sample.
const KEYS: usize = 40;
const TURNS: usize = 25;
const DAY: Duration = Duration::from_secs(86_400);
const RULES: &str = r#"[
    {"rule_id": "plain", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600},
    {"rule_id": "held", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600,
     "reservations": true, "lease_seconds": 3600},
    {"rule_id": "blocking", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600,
     "block": {"seconds": 600, "factor": 2}},
    {"rule_id": "barred", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600, "block": {}},
    {"rule_id": "stated", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600, "overrides": true},
    {"rule_id": "raised", "algorithm": "gcra", "limit": 1000000, "window_size_seconds": 3600, "overrides": true},
    {"rule_id": "places", "algorithm": "concurrency", "limit": 1000000, "lease_seconds": 3600}
]"#;

/// What is called, and what of a plain check's time it may take.
struct Case {
    name: &'static str,
    act: fn(&RateLimiter, &str, &str, &mut Vec<Reservation>) -> Result<()>,
    target: f64,
}

/// Cases for the keys of one rule, each of which holds as many reservations all the time. They are made in this order:
/// what one leaves behind is what the next needs.
struct Field {
    rule: &'static str,
    held: usize,
    cases: &'static [Case],
}

const fn case(
    name: &'static str,
    act: fn(&RateLimiter, &str, &str, &mut Vec<Reservation>) -> Result<()>,
    target: f64,
) -> Case {
    Case { name, act, target }
}

const FIELDS: [Field; 10] = [
    Field {
        rule: "plain",
        held: 0,
        cases: &[
            case("check", check, 1.0),
            case("charge", charge, 1.1),
            case("check with a new request id", check_once, 2.0),
            case("check with a known request id", check_again, 0.8),
        ],
    },
    Field { rule: "blocking", held: 0, cases: &[case("check with blocks", check, 1.25)] },
    Field { rule: "barred", held: 0, cases: &[case("check of a blocked key", check, 1.0)] },
    Field { rule: "stated", held: 0, cases: &[case("check with stored limits, none stored", check, 1.2)] },
    Field { rule: "raised", held: 0, cases: &[case("check with a stored limit", check, 1.2)] },
    Field { rule: "held", held: 0, cases: &[case("check with reservations, none held", check, 1.3)] },
    Field {
        rule: "held",
        held: 10,
        cases: &[
            case("check, 10 held", check, 1.3),
            case("reserve, 10 held", reserve, 1.8),
            case("commit, 10 held", commit, 2.0),
        ],
    },
    Field {
        rule: "held",
        held: 1000,
        cases: &[
            case("check, 1,000 held", check, 2.6),
            case("reserve, 1,000 held", reserve, 3.6),
            case("commit, 1,000 held", commit, 4.0),
        ],
    },
    Field {
        rule: "places",
        held: 10,
        cases: &[
            case("concurrency: reserve, 10 held", reserve, 2.5),
            case("concurrency: release, 10 held", release, 2.5),
        ],
    },
    Field {
        rule: "places",
        held: 1000,
        cases: &[
            case("concurrency: reserve, 1,000 held", reserve, 5.0),
            case("concurrency: release, 1,000 held", release, 5.0),
        ],
    },
];

fn check(limiter: &RateLimiter, rule: &str, key: &str, _made: &mut Vec<Reservation>) -> Result<()> {
    limiter.check(rule, key)?;
    Ok(())
}

fn charge(limiter: &RateLimiter, rule: &str, key: &str, _made: &mut Vec<Reservation>) -> Result<()> {
    limiter.charge(rule, key)?;
    Ok(())
}

fn check_once(limiter: &RateLimiter, rule: &str, key: &str, _made: &mut Vec<Reservation>) -> Result<()> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let id = format!("call-{}", CALLS.fetch_add(1, Ordering::Relaxed));
    limiter.check_with(rule, key, CheckOptions::new().request_id(&id))?;
    Ok(())
}

/// Known but for the first time of each key.
fn check_again(limiter: &RateLimiter, rule: &str, key: &str, _made: &mut Vec<Reservation>) -> Result<()> {
    limiter.check_with(rule, key, CheckOptions::new().request_id("again"))?;
    Ok(())
}

fn reserve(limiter: &RateLimiter, rule: &str, key: &str, made: &mut Vec<Reservation>) -> Result<()> {
    made.push(limiter.reserve(rule, key)?);
    Ok(())
}

fn commit(limiter: &RateLimiter, _rule: &str, _key: &str, made: &mut Vec<Reservation>) -> Result<()> {
    let reservation = made.pop().ok_or("nothing is reserved")?;
    limiter.commit(&reservation, Usage::AsReserved)?;
    Ok(())
}

fn release(limiter: &RateLimiter, _rule: &str, _key: &str, made: &mut Vec<Reservation>) -> Result<()> {
    let reservation = made.pop().ok_or("nothing is reserved")?;
    limiter.release(&reservation)?;
    Ok(())
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let redis = Redis::start()?;
    let mut connection = redis.client()?;
    let limiter = RateLimiter::builder(redis.url()).rules(Rules::from_json(RULES)?).build()?;
    let keys: Vec<Vec<_>> = FIELDS.iter().map(|field| keys(field, options)).collect();
    for (field, keys) in FIELDS.iter().zip(&keys) {
        for key in keys {
            match field.rule {
                "barred" => limiter.block(field.rule, key, DAY)?,
                "raised" => limiter.set_limit(field.rule, key, 2_000_000, Some(DAY))?,
                _ => {}
            }
        }
    }
    let mut held = Vec::new();
    for (field, keys) in FIELDS.iter().zip(&keys) {
        for key in keys.iter().flat_map(|key| vec![key; field.held]) {
            held.push(limiter.reserve(field.rule, key)?);
        }
    }
    let mut samples: Vec<Vec<Samples>> =
        FIELDS.iter().map(|field| vec![Samples::default(); field.cases.len()]).collect();
    for _ in 0..options.rounds() * 2 {
        for ((field, keys), samples) in FIELDS.iter().zip(&keys).zip(&mut samples) {
            let taken = measure(&limiter, &mut connection, field, keys, options.size(TURNS))?;
            samples.iter_mut().zip(taken).for_each(|(samples, micros)| samples.push(micros));
        }
    }
    show(&samples);
    Ok(())
}

fn show(samples: &[Vec<Samples>]) {
    println!("\n## Server time of usage\n");
    println!("Microseconds per EVALSHA by `INFO commandstats`; gcra where no algorithm is named.\n");
    let mut table = Table::new(&["call", "us", "of a plain check", "target"]);
    for (case, micros) in FIELDS.iter().flat_map(|field| field.cases).zip(samples.iter().flatten()) {
        let ratio = micros.over(&samples[0][0]);
        let met = verdict(ratio.median(), case.target);
        table.row([case.name.to_owned(), micros.to_string(), ratio.to_string(), met]);
    }
    println!("{table}");
}

fn keys(field: &Field, options: &Options) -> Vec<String> {
    (0..options.size(KEYS)).map(|number| format!("tenant-{:04}-{number:03}", field.held)).collect()
}

/// What each case takes of the server, in microseconds a call.
fn measure(
    limiter: &RateLimiter,
    connection: &mut Connection,
    field: &Field,
    keys: &[String],
    turns: usize,
) -> Result<Vec<f64>> {
    let (mut taken, mut made) = (vec![0.0; field.cases.len()], Vec::new());
    for _ in 0..turns {
        for (case, taken) in field.cases.iter().zip(&mut taken) {
            let before = spent(connection)?;
            for key in keys {
                (case.act)(limiter, field.rule, key, &mut made)?;
            }
            *taken += spent(connection)? - before;
        }
    }
    Ok(taken.into_iter().map(|taken| taken / (turns * keys.len()) as f64).collect())
}

/// What EVALSHA took so far, in microseconds.
fn spent(connection: &mut Connection) -> Result<f64> {
    let stats: String = cmd("INFO").arg("commandstats").query(connection)?;
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
    let Some(line) = line else { return Ok(0.0) };
    let micros = line.split(',').find_map(|field| field.strip_prefix("usec="));
    Ok(micros.ok_or("INFO names no microseconds")?.parse()?)
}
