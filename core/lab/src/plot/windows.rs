//! The fullest window that ends at each moment, divided by the limit.

use super::canvas::{Anchor, Bars, Pen};
use super::figures::{decimal, span};
use super::frame::{LEFT, RIGHT, Rows, merged};
use crate::{LimitReport, Report, StrategyReport};

const COLUMNS: usize = 304;
const ROW: f64 = 66.0;
const HEIGHT: f64 = 48.0;

pub(super) fn draw(report: &Report) -> Rows<'_> {
    let mut rows = Rows::new(report, "The fullest window, over all its positions", &note(report), ROW);
    let most = report.strategies.iter().map(|strategy| strategy.worst().ratio).fold(1.0, f64::max);
    // Room for the dashed line.
    let scale = (most * 1.05).max(1.25);
    for (number, strategy) in report.strategies.iter().enumerate() {
        let line = rows.row(number) + 8.0 + HEIGHT;
        let bins = merged(&strategy.bins, COLUMNS);
        let (mut within, mut over) = (Bars::default(), Bars::default());
        let width = (RIGHT - LEFT) / bins.len().max(1) as f64;
        let height = |ratio: f64| HEIGHT * ratio / scale;
        let area: Vec<_> = inside(strategy, report.bin_us, COLUMNS).collect();
        let points = area.iter().map(|(share, ratio)| (Rows::x(*share), line - height(*ratio)));
        rows.canvas.path("area", &filled(points, line));
        for (place, bin) in bins.iter().enumerate().filter(|(_, bin)| bin.fullest > 0.0) {
            let x = LEFT + place as f64 * width;
            let (low, high) = (height(bin.fullest.min(1.0)), height(bin.fullest));
            within.add(x, line - low, width, low);
            if bin.fullest > 1.0 {
                over.add(x, line - high, width, high - low);
            }
        }
        rows.canvas.path("admitted", &within.finish());
        rows.canvas.path("denied", &over.finish());
        let limit = line - height(1.0);
        rows.canvas.line("bound", (LEFT, limit), (RIGHT, limit));
        rows.canvas.line("base", (LEFT, line), (RIGHT, line));
        rows.canvas.text("tick", LEFT - 5.0, limit + 4.0, Anchor::End, "1×");
        figures(&mut rows, strategy, line - HEIGHT / 2.0);
    }
    rows
}

fn note(report: &Report) -> String {
    let counts_in_flight =
        |strategy: &StrategyReport| strategy.limits.iter().any(LimitReport::is_of_concurrency);
    let strategies = || report.strategies.iter();
    let counted = match (strategies().any(counts_in_flight), strategies().all(counts_in_flight)) {
        (_, true) => "what one key had under way",
        (true, false) => {
            "what was admitted to one key in the window that ends there, or what it had under way"
        }
        (false, false) => "what was admitted to one key in the window that ends there",
    };
    format!("For every moment: {counted}, divided by the limit. The dashed line is the limit.")
}

/// Of a run with one key, what is in the window at the end of each of so many bins, as shares of time and limit.
fn inside(strategy: &StrategyReport, bin_us: u64, most: usize) -> impl Iterator<Item = (f64, f64)> {
    let limit = strategy.limits.iter().max_by(|one, other| one.worst.ratio.total_cmp(&other.worst.ratio));
    // What is under way is in the bars already.
    let has_window = limit.is_some_and(|limit| !limit.is_of_concurrency());
    let bins = if strategy.fairness.keys == 1 && has_window { strategy.bins.as_slice() } else { &[] };
    let (window, limit) =
        limit.map_or((1, 1.0), |limit| ((limit.window_us / bin_us).max(1) as usize, limit.limit));
    let group = bins.len().div_ceil(most).max(1);
    let mut sum = 0;
    let all = bins.iter().enumerate().map(move |(place, bin)| {
        sum += bin.cost;
        sum -= if place >= window { bins[place - window].cost } else { 0 };
        ((place + 1) as f64 / bins.len() as f64, sum as f64 / limit)
    });
    all.step_by(group)
}

fn filled(points: impl Iterator<Item = (f64, f64)>, line: f64) -> String {
    let (mut pen, mut last) = (Pen::default(), LEFT);
    pen.to(LEFT, line);
    for (x, y) in points {
        pen.to(x, y);
        last = x;
    }
    pen.to(last, line);
    pen.finish()
}

fn figures(rows: &mut Rows<'_>, strategy: &StrategyReport, y: f64) {
    let worst = strategy.worst();
    let at_least = if worst.exact { "" } else { "≥ " };
    let class = if worst.ratio > 1.0 { "over" } else { "strong" };
    let ratio = format!("{at_least}{}×", decimal(worst.ratio));
    rows.canvas.text(class, RIGHT + 12.0, y, Anchor::Start, &ratio);
    let limit = strategy.limits.iter().find(|limit| limit.worst == worst);
    let window = limit.map(|limit| match limit.is_of_concurrency() {
        true => format!("{} at once", worst.count),
        false => format!("{} in {}", worst.count, span(limit.window_us)),
    });
    rows.canvas.text("note", RIGHT + 12.0, y + 16.0, Anchor::Start, &window.unwrap_or_default());
}
