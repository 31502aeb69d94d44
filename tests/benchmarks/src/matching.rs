//! What it takes to find the rules of a request among many.

use std::hint::black_box;
use std::time::Instant;

use sluicegate::{RateLimiter, Request, Rules};

use crate::Result;
use crate::options::Options;
use crate::samples::{Samples, verdict};
use crate::table::Table;

const CALLS: usize = 20_000;
/// Rules, and the microseconds that they may take.
const SIZES: [(usize, f64); 2] = [(1_000, 5.0), (10_000, 30.0)];

/// Rules of one kind, and a path that one of them matches.
struct Shape {
    name: &'static str,
    conditions: fn(usize) -> String,
    path: &'static str,
}

const SHAPES: [Shape; 7] = [
    Shape {
        name: "/service-N/orders/*",
        conditions: |n| format!(r#""path_pattern": "/service-{n}/orders/*""#),
        path: "/service-777/orders/2026/11?page=2",
    },
    Shape {
        name: "/service-N/users/{id}/items",
        conditions: |n| format!(r#""path_pattern": "/service-{n}/users/{{id}}/items""#),
        path: "/service-777/users/alice/items?page=2",
    },
    Shape {
        name: "/api/*/item-N",
        conditions: |n| format!(r#""path_pattern": "/api/*/item-{n}""#),
        path: "/api/v1/things/of/alice/item-777",
    },
    Shape {
        name: "*/tenant-N/*",
        conditions: |n| format!(r#""path_pattern": "*/tenant-{n}/*""#),
        path: "/api/v1/tenant-777/orders/7",
    },
    Shape {
        name: "/A/{x}/B/{y}/C/{z}/D, ten words each",
        conditions: |n| {
            let [a, b, c, d] = [n / 1000, n / 100 % 10, n / 10 % 10, n % 10];
            format!(r#""path_pattern": "/a{a}/{{x}}/b{b}/{{y}}/c{c}/{{z}}/d{d}""#)
        },
        path: "/a0/alice/b7/bob/c7/carol/d7",
    },
    Shape {
        name: "/api/*, header X-Tenant: N",
        conditions: |n| format!(r#""path_pattern": "/api/*", "required_headers": {{"X-Tenant": "{n}"}}"#),
        path: "/api/v1/orders/7",
    },
    Shape {
        name: "/api/*, a network each",
        conditions: |n| {
            format!(r#""path_pattern": "/api/*", "ip_subnet": "10.{}.{}.0/24""#, n / 250, n % 250)
        },
        path: "/api/v1/orders/7",
    },
];

/// What clients may make long paths of, and the microseconds that the longest may take.
const TRICKS: [&str; 25] = [
    "a",
    "/a",
    "/;",
    "/a;b",
    "/../",
    "/x/..",
    "%2f",
    "/%2e%2e/",
    "//",
    "\\",
    "%5c..",
    "%00",
    "#",
    "%ff",
    "%0A",
    "/;%2f\\..//",
    "%25",
    ";",
    "/p//../q",
    "%C3%A9",
    "%E1%BA%9E",
    "é",
    "İ",
    "aÉ",
    "%F0%90%90%80",
];
const LONGEST_PATH: usize = 16_384;
const LONGEST_PATH_TARGET: f64 = 100.0;

pub(crate) fn run(options: &Options) -> Result<()> {
    among_many(options)?;
    long_paths(options)
}

fn among_many(options: &Options) -> Result<()> {
    println!("## Requests and rules\n");
    println!(
        "Microseconds per `match_request` of a request that one rule matches; twelve headers, an address, a user.\n"
    );
    let columns = SIZES.iter().flat_map(|(rules, _)| [format!("{rules} rules"), "target".to_owned()]);
    let columns: Vec<_> = ["patterns".to_owned()].into_iter().chain(columns).collect();
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for shape in &SHAPES {
        let mut row = vec![format!("`{}`", shape.name)];
        for (rules, target) in SIZES {
            let micros = measure(options, shape, rules)?;
            row.extend([format!("{micros:.2}"), verdict(micros.median(), target)]);
        }
        table.row(row);
    }
    println!("{table}");
    Ok(())
}

fn long_paths(options: &Options) -> Result<()> {
    println!("## Long paths\n");
    println!(
        "Microseconds per `match_request` of a path of 16 KB with ten rules, where capitals count and where they do \
         not; `refused` is an `InvalidArgument`.\n"
    );
    let rules = Rules::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../differential/rules.json"))?;
    let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
    let mut table = Table::new(&["a path of", "answer", "time", "ignore_case", "target"]);
    for trick in TRICKS {
        let slash = if trick.starts_with('/') { "" } else { "/" };
        let path = format!("{slash}{}", trick.repeat((LONGEST_PATH - 1) / trick.len()));
        let answer = if limiter.match_request(&request(&path)).is_ok() { "matched" } else { "refused" };
        let [exact, folded] =
            [false, true].map(|ignore_case| measure_path(options, &limiter, &path, ignore_case));
        let judged = verdict(exact.median().max(folded.median()), LONGEST_PATH_TARGET);
        let times = [format!("{exact:.1}"), format!("{folded:.1}")];
        table.row([vec![format!("`{trick}`"), answer.to_owned()], times.to_vec(), vec![judged]].concat());
    }
    println!("{table}");
    Ok(())
}

fn measure_path(options: &Options, limiter: &RateLimiter, path: &str, ignore_case: bool) -> Samples {
    let mut samples = Samples::default();
    let calls = options.size(CALLS / 100);
    for _ in 0..options.rounds() {
        let start = Instant::now();
        for _ in 0..calls {
            drop(black_box(limiter.match_request(&request(black_box(path)).ignore_case(ignore_case))));
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
    }
    samples
}

fn measure(options: &Options, shape: &Shape, rules: usize) -> Result<Samples> {
    let limiter = limiter(shape, rules)?;
    let calls = options.size(CALLS);
    let mut samples = Samples::default();
    for _ in 0..options.rounds() {
        let start = Instant::now();
        for _ in 0..calls {
            let request = request(black_box(shape.path));
            if black_box(limiter.match_request(&request)?).len() != 1 {
                return Err(format!("{}: not one rule matched", shape.name).into());
            }
        }
        samples.push(start.elapsed().as_secs_f64() * 1e6 / calls as f64);
    }
    Ok(samples)
}

fn limiter(shape: &Shape, rules: usize) -> Result<RateLimiter> {
    let rule = |n| {
        let conditions = (shape.conditions)(n);
        format!(
            r#"{{"rule_id": "r{n}", "identifier_type": "user_id", "algorithm": "gcra", "limit": 1,
                "window_size_seconds": 1, "match": {{"methods": ["GET"], {conditions}}}}}"#
        )
    };
    let rules: Vec<_> = (0..rules).map(rule).collect();
    let rules = Rules::from_json(&format!("[{}]", rules.join(",")))?;
    Ok(RateLimiter::builder("memory://").rules(rules).build()?)
}

fn request(path: &str) -> Request<'_> {
    const HEADERS: [(&str, &str); 12] = [
        ("host", "api.example.com"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
        ("accept", "application/json"),
        ("accept-language", "en-GB,en;q=0.5"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("authorization", "Bearer 0123456789abcdef0123456789abcdef"),
        ("cookie", "session=0123456789abcdef0123456789abcdef; theme=dark"),
        ("origin", "https://www.example.com"),
        ("referer", "https://www.example.com/orders"),
        ("x-request-id", "0f7b2c9e-6f0e-4f55-9d1c-6f2a1f1c2b3d"),
        ("X-Tenant", "777"),
        ("connection", "keep-alive"),
    ];
    let mut request = Request::new("GET", path).user_id("alice").ip("10.3.27.9");
    request.headers = HEADERS.to_vec();
    request
}
