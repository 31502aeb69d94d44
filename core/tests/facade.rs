//! What a limiter counts, in the recorder of the crate `metrics`.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use metrics_exporter_prometheus::PrometheusBuilder;
use sluicegate::{RateLimiter, Rules};
use sluicegate_test_servers::Redis;

fn limiter(url: &str) -> RateLimiter {
    let rules = Rules::from_json(r#"[{"rule_id": "api", "rate": "2/hour"}]"#).unwrap();
    RateLimiter::builder(url).rules(rules).build().unwrap()
}

/// The samples of a text, and its comments beside.
fn lines(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    text.lines().filter(|line| !line.is_empty()).partition(|line| !line.starts_with('#'))
}

#[test]
fn an_exporter_of_prometheus_serves_the_samples_of_the_limiter() {
    let redis = Redis::start().unwrap();
    let limiter = limiter(redis.url());
    let recorder = PrometheusBuilder::new().build_recorder();
    for denied in 1..=2 {
        (0..3).for_each(|_| drop(limiter.check("api", "a key").unwrap()));
        metrics::with_local_recorder(&recorder, || limiter.metrics().record(&[]));
        let (served, own) = (recorder.handle().render(), limiter.prometheus());
        let ((samples, comments), (expected, _)) = (lines(&served), lines(&own));
        assert_eq!(samples, expected);
        let line = format!(
            "sluicegate_decisions_total{{rule=\"api\",result=\"denied\",source=\"server\"}} {}",
            [1, 4][denied - 1]
        );
        assert!(samples.contains(line.as_str()), "{line} is not in\n{served}");
        for kind in [
            "decisions_total counter",
            "waiting gauge",
            "round_trip_seconds_bucket counter",
            "round_trip_seconds_sum gauge",
        ] {
            assert!(
                comments.contains(format!("# TYPE sluicegate_{kind}").as_str()),
                "{kind} is not in\n{served}"
            );
        }
        assert!(!served.contains("a key"));
    }
}

#[test]
fn labels_tell_limiters_apart() {
    let recorder = PrometheusBuilder::new().build_recorder();
    for (name, calls) in [("web", 1), ("jobs", 2)] {
        let limiter = limiter("memory://");
        (0..calls).for_each(|_| drop(limiter.check("api", "k").unwrap()));
        metrics::with_local_recorder(&recorder, || limiter.metrics().record(&[("limiter", name)]));
    }
    let served = recorder.handle().render();
    let (samples, _) = lines(&served);
    for line in [
        "sluicegate_cost_total{limiter=\"web\",rule=\"api\"} 1",
        "sluicegate_cost_total{limiter=\"jobs\",rule=\"api\"} 2",
    ] {
        assert!(samples.contains(line), "{line} is not in\n{served}");
    }
}
