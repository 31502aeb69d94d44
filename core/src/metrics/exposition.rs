//! The text that Prometheus reads: <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.

use std::fmt::Write;

use super::families::{Families, Kind, Sample};
use super::snapshot::Metrics;

impl Metrics {
    /// The same as text for Prometheus, without any key: see [`prometheus`](crate::RateLimiter::prometheus).
    pub fn to_prometheus(&self) -> String {
        let mut made = Exposition::default();
        self.tell(&mut made);
        made.text
    }
}

/// A text in the making.
#[derive(Default)]
struct Exposition {
    text: String,
}

impl Families for Exposition {
    fn family(&mut self, name: &'static str, kind: Kind, about: &'static str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = writeln!(self.text, "# HELP sluicegate_{name} {about}\n# TYPE sluicegate_{name} {kind}");
    }

    fn sample(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: Sample) {
        let _ = write!(self.text, "sluicegate_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let begin = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{begin}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = match value {
            Sample::Whole(value) => writeln!(self.text, "{end} {value}"),
            Sample::Seconds(value) => writeln!(self.text, "{end} {value}"),
        };
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
