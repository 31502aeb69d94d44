//! What was admitted, on a server.

use sluicegate_test_servers::Redis;

use super::{answers, failure, figures};

const EDGE: [&str; 6] = [
    "--compare",
    "fixed_window,sliding_log",
    "--traffic",
    "edge:size=20,window=10s,for=50s",
    "--record-prefix",
    "hits",
];

fn record<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&EDGE[..], &["--record", url], more].concat()
}

#[test]
fn streams_and_sorted_sets_hold_every_admitted_call() {
    let redis = Redis::start().unwrap();
    figures(&record(redis.url(), &["--record-as", "stream"]));
    assert_eq!(answers(&redis, &["XLEN", "hits:fixed_window"]), ["40"]);
    assert_eq!(answers(&redis, &["XLEN", "hits:sliding_log"]), ["20"]);
    let first = answers(&redis, &["XRANGE", "hits:sliding_log", "-", "+", "COUNT", "1"]);
    assert_eq!(first[1..], ["key", "key-0", "cost", "1"]);
    // Twenty seconds after the beginning of 2026, less half of the spread.
    assert!(first[0].starts_with("17672256199"), "{first:?}");

    let exists = failure(&record(redis.url(), &["--record-as", "zset"]));
    assert!(exists.contains("\"hits:fixed_window\" exists already (pass --force to replace it"), "{exists}");
    figures(&record(redis.url(), &["--record-as", "zset", "--force"]));
    assert_eq!(answers(&redis, &["ZCARD", "hits:fixed_window"]), ["40"]);
    let until = "1767225625000";
    assert_eq!(answers(&redis, &["ZCOUNT", "hits:sliding_log", "-inf", until]), ["10"]);
}

#[test]
fn resources_have_records_of_their_own() {
    let redis = Redis::start().unwrap();
    let rules = r#"[{"rule_id": "tours", "algorithm": "gcra", "limits": [
        {"limit": 3, "window_size_seconds": 60, "scope": "resource"}]}]"#;
    let traffic = "steady:rate=1/s,for=20s,resources=2";
    figures(&[rules, "--traffic", traffic, "--record", redis.url(), "--record-as", "stream"]);
    let mut keys = answers(&redis, &["KEYS", "*"]);
    keys.sort();
    assert_eq!(keys, ["sluicegate:lab:tours:resource-0", "sluicegate:lab:tours:resource-1"]);
}

#[test]
fn a_server_without_the_module_is_reported() {
    let redis = Redis::start().unwrap();
    assert_eq!(
        failure(&record(redis.url(), &[])),
        "error: cannot write to the server of --record: the server has no RedisTimeSeries (use Redis 8 or load the \
         module, or pass --record-as stream or zset)\n"
    );
    let away = failure(&record("redis://127.0.0.1:1", &[]));
    assert!(away.starts_with("error: cannot connect to the server of --record: "), "{away}");
    for url in ["rediss://localhost:1", "redis-cluster://localhost:1", "http://localhost"] {
        let other = failure(&record(url, &[]));
        assert!(
            other.contains("the URL has to be redis://host:port/db or unix:///path/to/socket"),
            "{other}"
        );
    }
}

/// On a server with the module, which `tests/timeseries/run` starts.
#[test]
#[ignore = "needs RedisTimeSeries: tests/timeseries/run"]
fn timeseries_show_what_got_through() {
    let redis = Redis::start().unwrap();
    figures(&record(redis.url(), &[]));
    let shown =
        answers(&redis, &["TS.MRANGE", "-", "+", "AGGREGATION", "SUM", "10000", "FILTER", "data=hits"]);
    // Half of a burst lies before an edge, half behind it. A slot without a sample has no line.
    let of = |name: &str| {
        let start = shown.iter().position(|line| line == name).unwrap();
        let samples: Vec<_> = shown[start + 1..].iter().filter(|line| !line.is_empty()).collect();
        let end = samples.iter().position(|line| line.starts_with("hits:")).unwrap_or(samples.len());
        samples[..end].iter().map(|line| line.as_str().to_owned()).collect::<Vec<_>>()
    };
    let expected =
        |times: &[&str]| times.iter().flat_map(|at| [*at, "10"].map(str::to_owned)).collect::<Vec<_>>();
    let edges = ["1767225610000", "1767225620000", "1767225630000", "1767225640000"];
    assert_eq!(of("hits:fixed_window"), expected(&edges));
    assert_eq!(of("hits:sliding_log"), expected(&[edges[0], edges[2]]));
    let info = answers(&redis, &["TS.INFO", "hits:sliding_log"]);
    let after = |word: &str| info[info.iter().position(|line| line == word).unwrap() + 1].clone();
    assert_eq!((after("retentionTime"), after("duplicatePolicy")), ("0".to_owned(), "sum".to_owned()));
    assert_eq!((after("data"), after("strategy")), ("hits".to_owned(), "sliding_log".to_owned()));
    // With the server's time, too.
    let real = ["--compare", "gcra", "--url", redis.url(), "--record", redis.url(), "--traffic"];
    figures(&[&real[..], &["steady:rate=100/s,for=100ms"]].concat());
    let samples = answers(&redis, &["TS.RANGE", "sluicegate:lab:gcra", "-", "+"]);
    // Times and values in turn; on a busy machine two requests may come in one millisecond.
    let hits = samples.iter().filter(|line| !line.is_empty()).skip(1).step_by(2);
    assert_eq!(hits.map(|hits| hits.parse::<u32>().unwrap()).sum::<u32>(), 10);
}
