//! Every call on one axis of time: admitted above the line, denied below it.

use super::canvas::{Anchor, Bars};
use super::figures::count;
use super::frame::{LEFT, RIGHT, Rows, merged};
use crate::{Bin, Report};

const COLUMNS: usize = 608;
const ROW: f64 = 54.0;
const UP: f64 = 22.0;
const DOWN: f64 = 16.0;
/// A single call among many is to be seen, too.
const LEAST: f64 = 0.3;

pub(super) fn draw(report: &Report) -> Rows<'_> {
    let note = "Admitted calls stand above the line, denied ones hang below it; higher: more calls at once.";
    let mut rows = Rows::new(report, "What each strategy lets through", note, ROW);
    let bins: Vec<_> = report.strategies.iter().map(|strategy| merged(&strategy.bins, COLUMNS)).collect();
    let most = |of: fn(&Bin) -> u64| bins.iter().flatten().map(of).max().unwrap_or(0).max(1) as f64;
    let (most_admitted, most_denied) = (most(|bin| bin.admitted), most(|bin| bin.denied));
    for (number, bins) in bins.iter().enumerate() {
        let line = rows.row(number) + 27.0;
        let (mut up, mut down) = (Bars::default(), Bars::default());
        let width = (RIGHT - LEFT) / bins.len().max(1) as f64;
        let drawn = width.max(1.2);
        for (place, bin) in bins.iter().enumerate() {
            let x = LEFT + place as f64 * width;
            if bin.admitted > 0 {
                let height = UP * height(bin.admitted, most_admitted);
                up.add(x, line - height, drawn, height);
            }
            if bin.denied > 0 {
                down.add(x, line + 1.0, drawn, DOWN * height(bin.denied, most_denied));
            }
        }
        rows.canvas.path("admitted", &up.finish());
        rows.canvas.path("denied", &down.finish());
        rows.canvas.line("base", (LEFT, line + 0.5), (RIGHT, line + 0.5));
        let strategy = &report.strategies[number];
        let (admitted, denied) = (count(strategy.admitted), count(strategy.denied));
        rows.canvas.text("", RIGHT + 12.0, line - 5.0, Anchor::Start, &format!("{admitted} admitted"));
        rows.canvas.text("note", RIGHT + 12.0, line + 12.0, Anchor::Start, &format!("{denied} denied"));
    }
    rows
}

fn height(calls: u64, most: f64) -> f64 {
    LEAST + (1.0 - LEAST) * calls as f64 / most
}
