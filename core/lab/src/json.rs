//! A report as JSON.

use serde_json::{Value, json};
use sluicegate::rules::Scope;

use super::{Bin, LimitReport, Report, StrategyReport};

impl Report {
    /// The figures as JSON, without the time series.
    pub fn summary_json(&self) -> String {
        summary(self).to_string()
    }

    /// The figures as JSON, with bins and bounds.
    pub fn json(&self) -> String {
        whole(self).to_string()
    }
}

fn summary(report: &Report) -> Value {
    let requests = report.requests.map(|it| {
        json!({
            "total": it.total, "unmatched": it.unmatched, "admitted": it.admitted, "denied": it.denied,
            "late": it.late,
        })
    });
    json!({
        "traffic": report.specs,
        "seed": report.seed,
        "start_us": report.start_us,
        "length_us": report.length_us,
        "bin_us": report.bin_us,
        "interrupted": report.interrupted,
        "requests": requests,
        "strategies": report.strategies.iter().map(strategy).collect::<Value>(),
    })
}

fn whole(report: &Report) -> Value {
    let mut value = summary(report);
    for (number, strategy) in report.strategies.iter().enumerate() {
        let of = |count: fn(&Bin) -> Value| strategy.bins.iter().map(count).collect::<Value>();
        value["strategies"][number]["bins"] = json!({
            "admitted": of(|bin| bin.admitted.into()),
            "denied": of(|bin| bin.denied.into()),
            "cost": of(|bin| bin.cost.into()),
            "fullest": of(|bin| bin.fullest.into()),
        });
        value["strategies"][number]["bound"] = json!(strategy.bound);
    }
    value
}

fn strategy(it: &StrategyReport) -> Value {
    let waits = it.waits.map(|waits| {
        json!({
            "calls": waits.calls, "p50_us": waits.p50_us, "p90_us": waits.p90_us, "p99_us": waits.p99_us,
            "max_us": waits.max_us,
        })
    });
    let denied = it.most_denied.iter().map(|it| json!({ "key": it.key, "denied": it.denied }));
    let excess = it
        .excess
        .as_ref()
        .map(|it| json!({ "most": it.most, "bound": it.bound, "beyond_bound": it.beyond_bound }));
    let borrowing = it.borrowing.map(|it| json!({ "processes": it.processes, "requests": it.requests }));
    json!({
        "rule": it.name,
        "algorithm": it.algorithm,
        "matched": it.calls(),
        "admitted": it.admitted,
        "denied": it.denied,
        "denied_by_others": it.denied_by_others,
        "cost": it.cost,
        "limits": it.limits.iter().map(limit).collect::<Value>(),
        "longest_denial_run": it.longest_denial_run,
        "keys": it.fairness.keys,
        "keys_exact": it.fairness.exact,
        "jain": it.fairness.jain,
        "jain_asked": it.fairness.jain_asked,
        "waits": waits,
        "most_denied": denied.collect::<Value>(),
        "excess": excess,
        "borrowing": borrowing,
    })
}

fn limit(it: &LimitReport) -> Value {
    json!({
        "limit": it.limit,
        "window_us": it.window_us,
        "scope": if it.scope == Scope::Resource { "resource" } else { "key" },
        "worst": {
            "count": it.worst.count, "ratio": it.worst.ratio, "at_us": it.worst.at_us, "exact": it.worst.exact,
        },
    })
}
