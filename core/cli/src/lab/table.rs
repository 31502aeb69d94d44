//! A report on the terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use sluicegate_lab::{Bin, LimitReport, Report, StrategyReport};

const ADMITTED: Style = AnsiColor::Blue.on_default();
const DENIED: Style = AnsiColor::Yellow.on_default();
const OVER: Style = AnsiColor::Red.on_default().bold();
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const COLUMNS: usize = 64;
const PERCENT: u64 = 100;

/// A row; columns after the sixth are shown where a strategy has something in them.
type Cells = [String; 10];
const HEADS: [&str; 10] = [
    "rule",
    "admitted",
    "denied",
    "fullest window",
    "denial run",
    "Jain",
    "wait p50",
    "wait p99",
    "beyond burst and refill",
    "checks/request",
];

pub(super) fn show(out: &mut impl Write, report: &Report) -> io::Result<()> {
    if !report.has_traffic() {
        return writeln!(out, "there was no traffic: no call came");
    }
    if let Some(requests) = &report.requests {
        write!(out, "{} requests: ", requests.total)?;
        // Rules that are compared have no common decision.
        if !requests.apart {
            write!(out, "{} admitted, {} denied, ", requests.admitted, requests.denied)?;
        }
        writeln!(out, "{} matched by no rule\n", requests.unmatched)?;
    }
    let rows: Vec<Cells> = report.strategies.iter().map(row).collect();
    let has = |what: fn(&StrategyReport) -> bool| report.strategies.iter().any(what);
    let (waits, excess) =
        (has(|strategy| strategy.waits.is_some()), has(|strategy| strategy.excess.is_some()));
    let is_shown = |column: &usize| match column {
        6 | 7 => waits,
        8 | 9 => excess,
        _ => true,
    };
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        (column, cells.chain([HEADS[column].len()]).max().unwrap_or(0))
    };
    let widths: Vec<_> = (0..HEADS.len()).filter(is_shown).map(width).collect();
    line(out, &HEADS.map(str::to_owned), &widths, false)?;
    for (row, strategy) in rows.iter().zip(&report.strategies) {
        line(out, row, &widths, strategy.worst().ratio > 1.0)?;
    }
    plots(out, report, widths[0].1)?;
    denied_keys(out, report)
}

fn line(out: &mut impl Write, cells: &Cells, widths: &[(usize, usize)], over: bool) -> io::Result<()> {
    let mut text = String::new();
    for &(column, width) in widths {
        let cell = &cells[column];
        match column {
            0 => text.push_str(&format!("{cell:<width$}")),
            3 if over => text.push_str(&format!("  {OVER}{cell:>width$}{OVER:#}")),
            _ => text.push_str(&format!("  {cell:>width$}")),
        }
    }
    writeln!(out, "{}", text.trim_end())
}

fn row(strategy: &StrategyReport) -> Cells {
    let name = strategy.name.clone();
    if strategy.calls() == 0 {
        let mut cells = Cells::default();
        (cells[0], cells[1]) = (name, "matches nothing".to_owned());
        return cells;
    }
    let worst = strategy.worst();
    let at_once = if strategy.limits.iter().any(LimitReport::is_of_concurrency) { " at once" } else { "" };
    let about = if worst.exact { "" } else { ">= " };
    let waited = |us: Option<u64>| us.map_or("-".to_owned(), short);
    [
        name,
        strategy.admitted.to_string(),
        strategy.denied.to_string(),
        format!("{about}{}{at_once} ({:.2}x)", worst.count, worst.ratio),
        strategy.longest_denial_run.to_string(),
        strategy.fairness.jain.map_or("-".to_owned(), |jain| format!("{jain:.3}")),
        waited(strategy.waits.map(|waits| waits.p50_us)),
        waited(strategy.waits.map(|waits| waits.p99_us)),
        excess(strategy),
        strategy.borrowing.map_or("1".to_owned(), |it| per_request(strategy.calls(), it.requests)),
    ]
}

/// What was admitted beyond limit and burst, and what may be, of the limit.
fn excess(strategy: &StrategyReport) -> String {
    let (Some(excess), Some(limit)) = (&strategy.excess, strategy.limits.first()) else {
        return "-".to_owned();
    };
    // Nothing is below zero by less than is shown.
    let percent = |units: f64| (units / limit.limit * PERCENT as f64 * 100.0).round() / 100.0 + 0.0;
    let bound = if strategy.borrowing.is_some() { excess.bound } else { 0.0 };
    format!("{:.2}% of {:.2}%", percent(excess.most), percent(bound))
}

fn per_request(calls: u64, requests: u64) -> String {
    format!("{:.0}", calls as f64 / requests.max(1) as f64)
}

fn short(us: u64) -> String {
    match us {
        0..1_000 => format!("{us}us"),
        1_000..1_000_000 => format!("{}ms", us / 1_000),
        _ => format!("{:.1}s", us as f64 / 1e6),
    }
}

/// Admitted and denied calls over time, on one scale for all strategies.
fn plots(out: &mut impl Write, report: &Report, width: usize) -> io::Result<()> {
    let of = |count: fn(&Bin) -> u64| -> Vec<Vec<u64>> {
        report.strategies.iter().map(|strategy| merged(&strategy.bins, count)).collect()
    };
    let (admitted, denied) = (of(|bin| bin.admitted), of(|bin| bin.denied));
    let most = |rows: &[Vec<u64>]| rows.iter().flatten().copied().max().unwrap_or(0);
    let (most_admitted, most_denied) = (most(&admitted), most(&denied));
    for (number, strategy) in report.strategies.iter().enumerate().filter(|it| it.1.calls() > 0) {
        let up = bars(&admitted[number], most_admitted);
        let down = bars(&denied[number], most_denied);
        writeln!(out, "\n{:width$}  {ADMITTED}{up}{ADMITTED:#} admitted", strategy.name)?;
        writeln!(out, "{:width$}  {DENIED}{down}{DENIED:#} denied", "")?;
        if strategy.limits.iter().any(LimitReport::is_of_concurrency) {
            let level = bars(&merged_levels(&strategy.bins), PERCENT.max(percent(strategy.worst().ratio)));
            writeln!(out, "{:width$}  {level} at once", "")?;
        }
    }
    Ok(())
}

fn merged(bins: &[Bin], count: fn(&Bin) -> u64) -> Vec<u64> {
    let group = bins.len().div_ceil(COLUMNS).max(1);
    bins.chunks(group).map(|bins| bins.iter().map(count).sum()).collect()
}

/// What was under way at most, in percent of the limit.
fn merged_levels(bins: &[Bin]) -> Vec<u64> {
    let group = bins.len().div_ceil(COLUMNS).max(1);
    let most = |bins: &[Bin]| bins.iter().map(|bin| percent(bin.fullest)).max().unwrap_or(0);
    bins.chunks(group).map(most).collect()
}

fn percent(ratio: f64) -> u64 {
    (ratio * PERCENT as f64).ceil() as u64
}

fn bars(counts: &[u64], most: u64) -> String {
    let bar = |count: &u64| match (*count, most) {
        (0, _) | (_, 0) => BARS[0],
        (count, most) => BARS[(count * (BARS.len() as u64 - 1)).div_ceil(most) as usize],
    };
    counts.iter().map(bar).collect()
}

/// Of a replay: who would have been denied most often. Keys are the client's own text.
fn denied_keys(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for strategy in report.strategies.iter().filter(|it| report.requests.is_some() && it.denied > 0) {
        let keys = strategy.most_denied.iter().take(5);
        let keys: Vec<_> = keys.map(|it| format!("{} ({})", it.key.escape_debug(), it.denied)).collect();
        writeln!(out, "\n{} denies most: {}", strategy.name, keys.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_also_one_call_of_many() {
        assert_eq!(bars(&[0, 1, 50, 100], 100), " ▁▄█");
        assert_eq!(bars(&[0, 0], 0), "  ");
    }
}
