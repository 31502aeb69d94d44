//! What is counted, as families of samples with labels: the names that Prometheus, and whoever follows it, gets.

use super::snapshot::{Metrics, RoundTrips};

/// What becomes of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Sample {
    Whole(u64),
    Seconds(f64),
}

/// Takes the families, each with its samples after it.
pub(super) trait Families {
    fn family(&mut self, name: &'static str, kind: Kind, about: &'static str);

    fn sample(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: Sample);

    fn count(&mut self, name: &'static str, labels: &[(&'static str, &str)], value: u64) {
        self.sample(name, labels, Sample::Whole(value));
    }
}

impl Metrics {
    /// Hands every family over. No key is part of one.
    pub(super) fn tell(&self, to: &mut impl Families) {
        self.tell_decisions(to);
        self.tell_rules(to);
        to.family("errors_total", Kind::Counter, "Calls that ended with an error, by its kind.");
        for (kind, count) in &self.errors {
            to.count("errors_total", &[("kind", kind)], *count);
        }
        self.round_trips.tell(to);
        self.tell_servers(to);
        to.family("rules_version", Kind::Gauge, "The version of the rules in force, as a label.");
        to.count("rules_version", &[("version", &self.rules_version)], 1);
        to.family("region", Kind::Gauge, "The region of the limiter, as a label.");
        if let Some(region) = &self.region {
            to.count("region", &[("region", region)], 1);
        }
    }

    fn tell_decisions(&self, to: &mut impl Families) {
        to.family("decisions_total", Kind::Counter, "Checks by rule, result and who decided.");
        for (rule, counted) in &self.rules {
            for (source, counts) in &counted.decisions {
                for (result, count) in counts.named().into_iter().filter(|(_, count)| *count > 0) {
                    let labels = [("rule", rule.as_str()), ("result", result), ("source", source)];
                    to.count("decisions_total", &labels, count);
                }
            }
        }
    }

    fn tell_rules(&self, to: &mut impl Families) {
        to.family("cost_total", Kind::Counter, "What admitted checks have cost.");
        for (rule, counted) in &self.rules {
            to.count("cost_total", &[("rule", rule)], counted.cost);
        }
        to.family("fallback_admitted_total", Kind::Counter, "Checks that the fallback admitted.");
        for (rule, counted) in &self.rules {
            let admitted = counted.decisions.get("fallback").map_or(0, |counts| counts.admitted);
            to.count("fallback_admitted_total", &[("rule", rule)], admitted);
        }
        to.family("waiting", Kind::Gauge, "Calls that wait for room.");
        for (rule, counted) in &self.rules {
            to.count("waiting", &[("rule", rule)], counted.waiting);
        }
        to.family(
            "loan_units_total",
            Kind::Counter,
            "Units that servers and other regions lend, by what became of them.",
        );
        for (rule, counted) in &self.rules {
            for (what, units) in counted.loans.named().into_iter().filter(|(_, units)| *units > 0) {
                to.count("loan_units_total", &[("rule", rule), ("what", what)], units);
            }
        }
    }

    fn tell_servers(&self, to: &mut impl Families) {
        to.family("breaker_open", Kind::Gauge, "Whether the circuit breaker of a server is open.");
        for (address, server) in &self.servers {
            to.count("breaker_open", &[("server", address)], u64::from(server.breaker_open));
        }
        to.family("breaker_openings_total", Kind::Counter, "How often circuit breakers have opened.");
        let openings = self.servers.values().map(|server| server.breaker_openings).sum();
        to.count("breaker_openings_total", &[], openings);
    }
}

impl RoundTrips {
    fn tell(&self, to: &mut impl Families) {
        to.family("round_trip_seconds", Kind::Histogram, "How long servers took to answer.");
        for (bound, count) in &self.buckets {
            to.count("round_trip_seconds_bucket", &[("le", &bound.as_secs_f64().to_string())], *count);
        }
        to.count("round_trip_seconds_bucket", &[("le", "+Inf")], self.count);
        to.sample("round_trip_seconds_sum", &[], Sample::Seconds(self.sum.as_secs_f64()));
        to.count("round_trip_seconds_count", &[], self.count);
    }
}
