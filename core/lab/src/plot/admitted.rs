//! Admitted calls per bin, in front of those that asked.

use super::canvas::{Anchor, Bars};
use super::figures::{count, span};
use super::frame::{LEFT, RIGHT, Rows, merged};
use crate::Report;

const COLUMNS: usize = 152;
const ROW: f64 = 66.0;
const HEIGHT: f64 = 48.0;

pub(super) fn draw(report: &Report) -> Rows<'_> {
    let bins: Vec<_> = report.strategies.iter().map(|strategy| merged(&strategy.bins, COLUMNS)).collect();
    let group = report.strategies.first().map_or(1, |strategy| strategy.bins.len().div_ceil(COLUMNS).max(1));
    let per = span(report.bin_us * group as u64);
    let note =
        format!("Calls admitted per {per}, in front of all calls that asked (grey, cut off at the top).");
    let mut rows = Rows::new(report, "Admitted over time", &note, ROW);
    let most = bins.iter().flatten().map(|bin| bin.admitted).max().unwrap_or(0).max(1);
    for (number, bins) in bins.iter().enumerate() {
        let top = rows.row(number) + 8.0;
        let line = top + HEIGHT;
        let (mut asked, mut admitted) = (Bars::default(), Bars::default());
        let width = (RIGHT - LEFT) / bins.len().max(1) as f64;
        let drawn = if width > 3.0 { width - 1.0 } else { width };
        for (place, bin) in bins.iter().enumerate() {
            let x = LEFT + place as f64 * width;
            let height = |calls: u64| HEIGHT * (calls as f64 / most as f64).min(1.0);
            if bin.denied > 0 {
                let height = height(bin.admitted + bin.denied);
                asked.add(x, line - height, drawn, height);
            }
            if bin.admitted > 0 {
                admitted.add(x, line - height(bin.admitted), drawn, height(bin.admitted));
            }
        }
        rows.canvas.path("asked", &asked.finish());
        rows.canvas.path("admitted", &admitted.finish());
        rows.canvas.line("grid", (LEFT, top), (RIGHT, top));
        rows.canvas.line("base", (LEFT, line), (RIGHT, line));
        let peak = bins.iter().map(|bin| bin.admitted).max().unwrap_or(0);
        rows.canvas.text("tick", LEFT - 5.0, top + 4.0, Anchor::End, &count(most));
        rows.canvas.text("", RIGHT + 12.0, top + 22.0, Anchor::Start, &format!("at most {}", count(peak)));
        rows.canvas.text("note", RIGHT + 12.0, top + 38.0, Anchor::Start, &format!("per {per}"));
    }
    rows
}
