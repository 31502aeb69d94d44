//! What was admitted beyond limit and burst, beside what borrowed units allow.

use super::canvas::{Anchor, Bars, Pen};
use super::figures::decimal;
use super::frame::{LEFT, RIGHT, Rows};
use crate::{Report, StrategyReport};

const COLUMNS: usize = 304;
const ROW: f64 = 104.0;
const HEIGHT: f64 = 90.0;
/// The part of a row above the line of limit and burst.
const ABOVE: f64 = 0.4;
const PERCENT: f64 = 100.0;

const NOTE: &str = "For every moment, of all intervals that end there: the most that was admitted beyond burst and refill. \
                    Dashed: what the bound of leases allows.";

pub(super) fn draw(report: &Report) -> Rows<'_> {
    let mut rows = Rows::new(report, "Admitted beyond burst and refill, in percent of the limit", NOTE, ROW);
    let top = |strategy: &StrategyReport| {
        let excess = strategy.excess.as_ref();
        excess.map_or(0.0, |excess| excess.most.max(excess.bound) / limit(strategy))
    };
    let scale = report.strategies.iter().map(top).fold(0.0, f64::max).max(0.001) * 1.15;
    for (number, strategy) in report.strategies.iter().enumerate() {
        let zero = rows.row(number) + 10.0 + HEIGHT * ABOVE;
        row(&mut rows, strategy, zero, HEIGHT * ABOVE / scale);
    }
    rows
}

fn limit(strategy: &StrategyReport) -> f64 {
    strategy.limits.first().map_or(1.0, |limit| limit.limit)
}

/// `height`: that of a whole limit.
fn row(rows: &mut Rows<'_>, strategy: &StrategyReport, zero: f64, height: f64) {
    let Some(excess) = &strategy.excess else {
        rows.canvas.text("note", LEFT + 6.0, zero, Anchor::Start, "without lease, or exact in each window");
        return;
    };
    let bottom = zero + HEIGHT * (1.0 - ABOVE);
    let y = |units: f64| (zero - units / limit(strategy) * height).min(bottom);
    let group = excess.bins.len().div_ceil(COLUMNS).max(1);
    let width = (RIGHT - LEFT) * group as f64 / excess.bins.len().max(1) as f64;
    let (mut within, mut beyond, mut bound) = (Bars::default(), Bars::default(), Pen::default());
    for (place, bins) in excess.bins.chunks(group).enumerate() {
        let x = LEFT + place as f64 * width;
        let wide = width.min(RIGHT - x);
        let most =
            bins.iter().flatten().copied().reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)));
        let Some((admitted, allowed)) = most else { continue };
        let top = y(admitted.min(0.0));
        within.add(x, top, wide, bottom - top);
        if admitted > 0.0 {
            beyond.add(x, y(admitted), wide, zero - y(admitted));
        }
        bound.to(x, y(allowed));
        bound.to(x + wide, y(allowed));
    }
    rows.canvas.path("area", &within.finish());
    rows.canvas.path("denied", &beyond.finish());
    rows.canvas.line("base", (LEFT, zero), (RIGHT, zero));
    rows.canvas.path("bound", &bound.finish());
    figures(rows, strategy, zero);
}

fn figures(rows: &mut Rows<'_>, strategy: &StrategyReport, y: f64) {
    let Some(excess) = &strategy.excess else { return };
    let percent = |units: f64| decimal(units / limit(strategy) * PERCENT);
    let class = if excess.most > 0.0 { "over" } else { "strong" };
    rows.canvas.text(class, RIGHT + 12.0, y, Anchor::Start, &format!("{} %", percent(excess.most)));
    let bound = if strategy.borrowing.is_some() { excess.bound } else { 0.0 };
    rows.canvas.text("note", RIGHT + 12.0, y + 16.0, Anchor::Start, &format!("of {} %", percent(bound)));
}
