//! The crate `metrics`, by whose recorder an application exports what it counts.

use ::metrics::{Label, Unit, counter, describe_counter, describe_gauge, gauge};

use super::families::{Families, Kind, Sample};
use super::snapshot::Metrics;

impl Metrics {
    /// Sets counters and gauges of the recorder that the crate `metrics` has, by the names that
    /// [`prometheus`](crate::RateLimiter::prometheus) has. Call it before each export, or every few seconds. `labels` are added to all,
    /// and tell several limiters apart.
    ///
    /// A histogram of that crate takes single values, which a limiter does not keep. So how long servers took to answer is counted
    /// as Prometheus stores it: `sluicegate_round_trip_seconds_bucket` and `sluicegate_round_trip_seconds_count` are counters,
    /// `sluicegate_round_trip_seconds_sum` a gauge, and its queries of histograms work on them.
    ///
    /// What is no longer counted, such as rules that are gone, stays in the recorder as it was.
    ///
    /// ```
    /// use sluicegate::{RateLimiter, Rules};
    ///
    /// let rules = Rules::from_json(r#"[{"rule_id": "api", "rate": "2/minute"}]"#)?;
    /// let limiter = RateLimiter::builder("memory://").rules(rules).build()?;
    /// limiter.check("api", "alice")?;
    /// limiter.metrics().record(&[("limiter", "web")]);
    /// # Ok::<(), sluicegate::Error>(())
    /// ```
    pub fn record(&self, labels: &[(&'static str, &str)]) {
        self.tell(&mut Recorded { labels, kind: Kind::Counter });
    }
}

/// What is on its way to the recorder.
struct Recorded<'a> {
    labels: &'a [(&'static str, &'a str)],
    /// That of the family whose samples follow.
    kind: Kind,
}

impl Families for Recorded<'_> {
    fn family(&mut self, name: &'static str, kind: Kind, about: &'static str) {
        self.kind = kind;
        match kind {
            Kind::Counter => describe_counter!(own(name), Unit::Count, about),
            Kind::Gauge => describe_gauge!(own(name), Unit::Count, about),
            // Its samples have names of their own.
            Kind::Histogram => {}
        }
    }

    fn sample(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: Sample) {
        let all = self.labels.iter().chain(labels);
        let labels: Vec<_> = all.map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
        match (value, self.kind) {
            (Sample::Whole(value), Kind::Gauge) => gauge!(own(name), labels).set(value as f64),
            (Sample::Whole(value), _) => counter!(own(name), labels).absolute(value),
            (Sample::Seconds(value), _) => gauge!(own(name), labels).set(value),
        }
    }
}

fn own(name: &str) -> String {
    format!("sluicegate_{name}")
}
