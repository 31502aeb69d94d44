//! The lines of the view.

use super::counts::Counted::{
    self, Admitted, Asked, Blocked, ByAllotment, ByFallback, ByShare, Cost, Denied, Error, GivenBack,
    Granted, ShadowDenied, Spent,
};
use super::figures::{count, percent, rate, time};
use super::process::Process;
use super::rates::{Rates, RuleRates};
use crate::stderr::printable;

/// The most rules in a table, busiest first.
const MOST_RULES: usize = 1000;
/// The most characters of a name.
const MOST_NAME: usize = 48;

/// A line, and whether it shows something that someone should look at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) is_alarm: bool,
}

fn line(text: impl Into<String>) -> Line {
    Line { text: text.into(), is_alarm: false }
}

fn alarm(text: impl Into<String>) -> Line {
    Line { text: text.into(), is_alarm: true }
}

/// A text of the process as a terminal may be sent it.
fn shown(text: &str) -> String {
    let text = printable(text);
    match text.char_indices().nth(MOST_NAME) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The processes that cannot be read, and why.
pub(super) fn failures(processes: &[Process<'_>]) -> Vec<String> {
    let of = |process: &Process<'_>| {
        process.failure.as_ref().map(|why| format!("{}: {}", printable(process.url()), printable(why)))
    };
    processes.iter().filter_map(of).collect()
}

pub(super) fn lines(processes: &[Process<'_>], rates: &Rates) -> Vec<Line> {
    let mut lines = vec![line(format!(
        "{} of {} processes, rates of {}",
        rates.processes,
        processes.len(),
        time(rates.seconds)
    ))];
    lines.extend(failures(processes).into_iter().map(alarm));
    if rates.processes > 0 {
        servers(&mut lines, rates);
        round_trips(&mut lines, rates);
        errors(&mut lines, rates);
        versions(&mut lines, rates);
        let mut rules: Vec<_> = rates.rules.iter().collect();
        rules.sort_by(|(_, one), (_, other)| other.decided().total_cmp(&one.decided()));
        decisions(&mut lines, &rules);
        loans(&mut lines, &rules);
    }
    lines
}

fn servers(lines: &mut Vec<Line>, rates: &Rates) {
    for (server, breaker) in &rates.servers {
        let name = shown(server);
        lines.push(match (breaker.open, breaker.processes) {
            (0, _) => line(format!("breaker of {name}: closed")),
            (open, processes) if open == processes => alarm(format!("breaker of {name}: open")),
            (open, processes) => alarm(format!("breaker of {name}: open in {open} of {processes} processes")),
        });
    }
    if rates.openings > 0.0 {
        let new = rates.new_openings;
        let now = if new > 0.0 { format!(", {} of them now", count(new)) } else { String::new() };
        lines.push(line(format!("breaker openings: {}{now}", count(rates.openings))));
    }
}

fn round_trips(lines: &mut Vec<Line>, rates: &Rates) {
    let per_second = rates.round_trips();
    let quantile = |part: f64| match rates.quantile(part) {
        Some((seconds, false)) => time(seconds),
        Some((seconds, true)) => format!("over {}", time(seconds)),
        None => "-".to_owned(),
    };
    lines.push(line(match per_second > 0.0 {
        true => format!("round trips/s: {}, p50 {}, p99 {}", rate(per_second), quantile(0.5), quantile(0.99)),
        false => "round trips/s: 0".to_owned(),
    }));
}

fn errors(lines: &mut Vec<Line>, rates: &Rates) {
    let kinds: Vec<_> = rates.errors.iter().filter(|(_, per_second)| **per_second > 0.0).collect();
    let of = |(kind, per_second): &(&String, &f64)| format!("{} {}", shown(kind), rate(**per_second));
    lines.push(match kinds.is_empty() {
        true => line("errors/s: 0"),
        false => alarm(format!("errors/s: {}", kinds.iter().map(of).collect::<Vec<_>>().join(", "))),
    });
}

fn versions(lines: &mut Vec<Line>, rates: &Rates) {
    if rates.versions_differ() {
        let of = |(version, processes): (&String, &usize)| format!("{} in {processes}", shown(version));
        let versions: Vec<_> = rates.versions.iter().map(of).collect();
        lines.push(alarm(format!("processes differ in the version of rules: {}", versions.join(", "))));
    }
}

type Rule<'a> = (&'a String, &'a RuleRates);

fn decisions(lines: &mut Vec<Line>, rules: &[Rule<'_>]) {
    const HEADS: [&str; 10] = [
        "rule",
        "admitted/s",
        "denied/s",
        "denied",
        "waiting",
        "cost/s",
        "blocked/s",
        "shadow/s",
        "fallback/s",
        "errors/s",
    ];
    let row = |(name, rates): &Rule<'_>| {
        let of = |what: Counted| rate(rates.of(what));
        [
            shown(name),
            of(Admitted),
            of(Denied),
            percent(rates.denied_share()),
            count(rates.waiting),
            of(Cost),
            of(Blocked),
            of(ShadowDenied),
            of(ByFallback),
            of(Error),
        ]
    };
    table(lines, HEADS, rules, row);
}

/// What other regions lend, where they do.
fn loans(lines: &mut Vec<Line>, rules: &[Rule<'_>]) {
    const HEADS: [&str; 7] =
        ["units/s lent to", "asked", "granted", "spent", "given back", "by allotment/s", "by share/s"];
    let rules: Vec<_> = rules.iter().copied().filter(|(_, rates)| rates.has_loans()).collect();
    let row = |(name, rates): &Rule<'_>| {
        let of = |what: Counted| rate(rates.of(what));
        [shown(name), of(Asked), of(Granted), of(Spent), of(GivenBack), of(ByAllotment), of(ByShare)]
    };
    if !rules.is_empty() {
        table(lines, HEADS, &rules, row);
    }
}

fn table<const N: usize>(
    lines: &mut Vec<Line>,
    heads: [&str; N],
    rules: &[Rule<'_>],
    row: impl Fn(&Rule<'_>) -> [String; N],
) {
    let rows: Vec<_> =
        [heads.map(str::to_owned)].into_iter().chain(rules.iter().take(MOST_RULES).map(row)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    lines.push(line(""));
    for row in &rows {
        let mut text = format!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        lines.push(line(text));
    }
    if let Some(more @ 1..) = rules.len().checked_sub(MOST_RULES) {
        lines.push(line(format!("and {more} more")));
    }
}
