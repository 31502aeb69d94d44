//! The lines of the view.

use std::collections::BTreeMap;

use Cell::{DeniedShare, Rate, Waiting};

use super::counts::Counted::{
    self, Admitted, Asked, Blocked, ByAllotment, ByFallback, ByShare, Cost, Denied, Error, GivenBack,
    Granted, Lost, ShadowDenied, Spent,
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

/// The whole view. A narrow one lacks the columns in which no process has counted anything yet.
pub(super) fn lines(processes: &[Process<'_>], rates: &Rates, is_narrow: bool) -> Vec<Line> {
    let mut lines = vec![line(format!(
        "{} of {} processes, rates over {}",
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
        regions(&mut lines, processes);
        let mut rules: Vec<_> = rates.rules.iter().collect();
        rules.sort_by(|(_, one), (_, other)| other.decided().total_cmp(&one.decided()));
        let is_shown = |cell: &Cell| {
            !is_narrow || cell.is_always_shown() || matches!(cell, Rate(what) if rates.has_counted(*what))
        };
        table(&mut lines, "rule", DECISIONS.iter().filter(|(_, cell)| is_shown(cell)), &rules);
        rules.retain(|(_, rates)| rates.has_loans());
        if !rules.is_empty() {
            table(&mut lines, "units/s lent to", LOANS.iter(), &rules);
        }
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

/// Which processes serve each region.
fn regions(lines: &mut Vec<Line>, processes: &[Process<'_>]) {
    let mut of_each: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for process in processes {
        for region in process.regions() {
            of_each.entry(region).or_default().push(printable(process.url()));
        }
    }
    let of =
        |(region, urls): (&str, Vec<String>)| line(format!("region {}: {}", shown(region), urls.join(", ")));
    lines.extend(of_each.into_iter().map(of));
}

type Rule<'a> = (&'a String, &'a RuleRates);

/// What a column of a table shows of a rule.
enum Cell {
    Rate(Counted),
    DeniedShare,
    Waiting,
}

const DECISIONS: [(&str, Cell); 9] = [
    ("admitted/s", Rate(Admitted)),
    ("denied/s", Rate(Denied)),
    ("denied", DeniedShare),
    ("waiting", Waiting),
    ("cost/s", Rate(Cost)),
    ("blocked/s", Rate(Blocked)),
    ("shadow/s", Rate(ShadowDenied)),
    ("fallback/s", Rate(ByFallback)),
    ("errors/s", Rate(Error)),
];
/// Where other regions lend.
const LOANS: [(&str, Cell); 7] = [
    ("asked", Rate(Asked)),
    ("granted", Rate(Granted)),
    ("spent", Rate(Spent)),
    ("given back", Rate(GivenBack)),
    ("lost", Rate(Lost)),
    ("by allotment/s", Rate(ByAllotment)),
    ("by share/s", Rate(ByShare)),
];

impl Cell {
    fn is_always_shown(&self) -> bool {
        matches!(self, Rate(Admitted | Denied | Cost) | DeniedShare | Waiting)
    }

    fn of(&self, rates: &RuleRates) -> String {
        match self {
            Rate(what) => rate(rates.of(*what)),
            DeniedShare => percent(rates.denied_share()),
            Waiting => count(rates.waiting),
        }
    }
}

fn table<'a>(
    lines: &mut Vec<Line>,
    first: &str,
    columns: impl Iterator<Item = &'a (&'static str, Cell)>,
    rules: &[Rule<'_>],
) {
    let rules_shown = &rules[..rules.len().min(MOST_RULES)];
    let names = rules_shown.iter().map(|(name, _)| shown(name));
    let mut texts = column(first, names, |cell, width| format!("{cell:<width$}"));
    for (head, cell) in columns {
        let cells = rules_shown.iter().map(|(_, rates)| cell.of(rates));
        let cells = column(head, cells, |cell, width| format!("  {cell:>width$}"));
        texts.iter_mut().zip(cells).for_each(|(text, cell)| text.push_str(&cell));
    }
    lines.push(line(""));
    lines.extend(texts.into_iter().map(line));
    if let Some(more @ 1..) = rules.len().checked_sub(MOST_RULES) {
        lines.push(line(format!("and {more} more")));
    }
}

/// The cells of a column under its head, each as wide as the widest.
fn column(
    head: &str,
    cells: impl Iterator<Item = String>,
    padded: impl Fn(&str, usize) -> String,
) -> Vec<String> {
    let cells: Vec<String> = [head.to_owned()].into_iter().chain(cells).collect();
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    cells.iter().map(|cell| padded(cell, width)).collect()
}
