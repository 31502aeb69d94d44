//! The text that Prometheus reads: <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.

use std::fmt::{Display, Write};

use super::snapshot::{Metrics, RoundTrips};

impl Metrics {
    /// The same as text for Prometheus, without any key: see [`prometheus`](crate::RateLimiter::prometheus).
    pub fn to_prometheus(&self) -> String {
        let mut made = Exposition::default();
        made.decisions(self);
        made.rules(self);
        made.errors(self);
        made.round_trips(&self.round_trips);
        made.servers(self);
        made.family("rules_version", "gauge", "The version of the rules in force, as a label.");
        made.sample("rules_version", &[("version", &self.rules_version)], 1);
        made.text
    }
}

/// A text in the making.
#[derive(Default)]
struct Exposition {
    text: String,
}

impl Exposition {
    fn decisions(&mut self, metrics: &Metrics) {
        self.family("decisions_total", "counter", "Checks by rule, result and who decided.");
        for (rule, counted) in &metrics.rules {
            for (source, counts) in &counted.decisions {
                for (result, count) in counts.named().into_iter().filter(|(_, count)| *count > 0) {
                    let labels = [("rule", rule.as_str()), ("result", result), ("source", source)];
                    self.sample("decisions_total", &labels, count);
                }
            }
        }
    }

    fn rules(&mut self, metrics: &Metrics) {
        self.family("cost_total", "counter", "What admitted checks have cost.");
        for (rule, counted) in &metrics.rules {
            self.sample("cost_total", &[("rule", rule)], counted.cost);
        }
        self.family("fallback_admitted_total", "counter", "Checks that the fallback admitted.");
        for (rule, counted) in &metrics.rules {
            let admitted = counted.decisions.get("fallback").map_or(0, |counts| counts.admitted);
            self.sample("fallback_admitted_total", &[("rule", rule)], admitted);
        }
        self.family("waiting", "gauge", "Calls that wait for room.");
        for (rule, counted) in &metrics.rules {
            self.sample("waiting", &[("rule", rule)], counted.waiting);
        }
        self.family("loan_units_total", "counter", "Units that other regions lend, by what became of them.");
        for (rule, counted) in &metrics.rules {
            for (what, units) in counted.loans.named().into_iter().filter(|(_, units)| *units > 0) {
                self.sample("loan_units_total", &[("rule", rule), ("what", what)], units);
            }
        }
    }

    fn errors(&mut self, metrics: &Metrics) {
        self.family("errors_total", "counter", "Calls that ended with an error, by its kind.");
        for (kind, count) in &metrics.errors {
            self.sample("errors_total", &[("kind", kind)], count);
        }
    }

    fn round_trips(&mut self, round_trips: &RoundTrips) {
        self.family("round_trip_seconds", "histogram", "How long servers took to answer.");
        for (bound, count) in &round_trips.buckets {
            self.sample("round_trip_seconds_bucket", &[("le", &bound.as_secs_f64().to_string())], count);
        }
        self.sample("round_trip_seconds_bucket", &[("le", "+Inf")], round_trips.count);
        self.sample("round_trip_seconds_sum", &[], round_trips.sum.as_secs_f64());
        self.sample("round_trip_seconds_count", &[], round_trips.count);
    }

    fn servers(&mut self, metrics: &Metrics) {
        self.family("breaker_open", "gauge", "Whether the circuit breaker of a server is open.");
        for (address, server) in &metrics.servers {
            self.sample("breaker_open", &[("server", address)], u64::from(server.breaker_open));
        }
        self.family("breaker_openings_total", "counter", "How often circuit breakers have opened.");
        let openings: u64 = metrics.servers.values().map(|server| server.breaker_openings).sum();
        self.sample("breaker_openings_total", &[], openings);
    }

    fn family(&mut self, name: &str, kind: &str, about: &str) {
        let _ = writeln!(self.text, "# HELP sluicegate_{name} {about}\n# TYPE sluicegate_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "sluicegate_{name}");
        for (at, (label, text)) in labels.iter().enumerate() {
            let begin = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{begin}{label}=\"{}\"", escaped(text));
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
