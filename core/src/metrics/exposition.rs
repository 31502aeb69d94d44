//! The text that Prometheus reads: <https://prometheus.io/docs/instrumenting/exposition_formats/>, version 0.0.4.

use std::fmt::{Display, Write};
use std::sync::atomic::Ordering;

use super::Metrics;
use super::histogram::BOUNDS;
use super::rule::{LoanUse, Outcome, RuleCounters, SOURCES};
use crate::error::ErrorKind;

/// The circuit breaker of a server.
pub(crate) struct ServerState {
    pub(crate) address: String,
    pub(crate) is_open: bool,
    /// How often it has opened.
    pub(crate) openings: u64,
}

/// A text in the making.
#[derive(Default)]
pub(crate) struct Exposition {
    text: String,
}

impl Exposition {
    /// The text of a limiter with these rules and servers.
    pub(crate) fn of(
        metrics: &Metrics,
        rules: &[(&str, &RuleCounters)],
        servers: &[ServerState],
        version: &str,
    ) -> String {
        let mut made = Self::default();
        made.rules(rules);
        made.limiter(metrics);
        made.servers(servers);
        made.family("rules_version", "gauge", "The version of the rules in force, as a label.");
        made.sample("rules_version", &[("version", version)], 1);
        made.text
    }

    fn rules(&mut self, rules: &[(&str, &RuleCounters)]) {
        self.family("decisions_total", "counter", "Checks by rule, result and who decided.");
        for (rule, counters) in rules {
            for source in SOURCES {
                for (outcome, result) in Outcome::ALL {
                    let count = counters.calls(source, outcome);
                    if count > 0 {
                        let labels = [("rule", *rule), ("result", result), ("source", source.name())];
                        self.sample("decisions_total", &labels, count);
                    }
                }
            }
        }
        self.family("cost_total", "counter", "What admitted checks have cost.");
        for (rule, counters) in rules {
            self.sample("cost_total", &[("rule", *rule)], counters.cost());
        }
        self.family("fallback_admitted_total", "counter", "Checks that the fallback admitted.");
        for (rule, counters) in rules {
            let count = counters.calls(crate::decision::Source::Fallback, Outcome::Admitted);
            self.sample("fallback_admitted_total", &[("rule", *rule)], count);
        }
        self.family("waiting", "gauge", "Calls that wait for room.");
        for (rule, counters) in rules {
            self.sample("waiting", &[("rule", *rule)], counters.waiting());
        }
        self.family("loan_units_total", "counter", "Units that other regions lend, by what became of them.");
        for (rule, counters) in rules {
            for (what, name) in LoanUse::ALL {
                let units = counters.loans(what);
                if units > 0 {
                    self.sample("loan_units_total", &[("rule", *rule), ("what", name)], units);
                }
            }
        }
    }

    fn limiter(&mut self, metrics: &Metrics) {
        self.family("errors_total", "counter", "Calls that ended with an error, by its kind.");
        for (kind, count) in ErrorKind::ALL.iter().zip(&metrics.errors) {
            self.sample("errors_total", &[("kind", kind.name())], count.load(Ordering::Relaxed));
        }
        self.family("round_trip_seconds", "histogram", "How long servers took to answer.");
        let (counts, sum_us) = metrics.round_trips.read();
        let mut total = 0;
        for (count, bound) in counts.iter().zip(BOUNDS) {
            total += count;
            let bound = (bound as f64 / 1e6).to_string();
            self.sample("round_trip_seconds_bucket", &[("le", &bound)], total);
        }
        total += counts[BOUNDS.len()];
        self.sample("round_trip_seconds_bucket", &[("le", "+Inf")], total);
        self.sample("round_trip_seconds_sum", &[], sum_us as f64 / 1e6);
        self.sample("round_trip_seconds_count", &[], total);
    }

    fn servers(&mut self, servers: &[ServerState]) {
        self.family("breaker_open", "gauge", "Whether the circuit breaker of a server is open.");
        for server in servers {
            self.sample("breaker_open", &[("server", &server.address)], u64::from(server.is_open));
        }
        self.family("breaker_openings_total", "counter", "How often circuit breakers have opened.");
        let openings: u64 = servers.iter().map(|server| server.openings).sum();
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
