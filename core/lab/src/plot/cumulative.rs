//! All that was admitted so far, against the most that the algorithm may have admitted.

use super::canvas::{Anchor, Pen};
use super::figures::{axis_mark, count, round_scale, span, time_step};
use super::frame::{Panel, Panels};
use crate::{Report, StrategyReport};

/// About as many as a panel is pixels wide.
const POINTS: usize = 240;
/// Marks of time below a panel.
const MARKS: u64 = 3;

pub(super) fn draw(report: &Report) -> Panels {
    let note = format!(
        "Cost admitted since the beginning (blue), the most that the strategy's definition allows (dashed), \
         and calls that asked (grey), over {}.",
        span(report.length_us)
    );
    let mut panels =
        Panels::new(report.strategies.len(), "Admitted in all, and each strategy's own bound", &note);
    let end = |strategy: &StrategyReport| {
        let bound = strategy.bound.last().map_or(0.0, |last| last.1);
        (if bound.is_finite() { bound } else { 0.0 }).max(strategy.cost as f64)
    };
    let most = round_scale(report.strategies.iter().map(end).fold(1.0, f64::max));
    for (number, strategy) in report.strategies.iter().enumerate() {
        let bound = strategy.bound.last().map_or(0.0, |last| last.1);
        let note = match bound.is_finite() {
            true => format!("{} of at most {}", count(strategy.cost), count(bound as u64)),
            false => format!("{}, without a bound per time", count(strategy.cost)),
        };
        let panel = panels.panel(number, strategy, &note);
        panels.scale(panel, most);
        time_axis(&mut panels, panel, report.length_us);
        curves(&mut panels, panel, report, strategy, most);
    }
    panels
}

fn time_axis(panels: &mut Panels, panel: Panel, length_us: u64) {
    let step = time_step(length_us, MARKS);
    for at in (0..=length_us).step_by(step as usize).filter(|_| length_us > 0) {
        let x = panel.x(at as f64 / length_us as f64);
        let bottom = panel.top + panel.height;
        panels.canvas.text("tick", x, bottom + 14.0, Anchor::Middle, &axis_mark(at, length_us, step));
    }
}

fn curves(panels: &mut Panels, panel: Panel, report: &Report, strategy: &StrategyReport, most: f64) {
    let x = |at_us: u64| panel.x(at_us as f64 / (strategy.bins.len() as u64 * report.bin_us).max(1) as f64);
    let (mut admitted, mut asked, mut bound) = (Pen::default(), Pen::default(), Pen::default());
    let mut area = Pen::default();
    for pen in [&mut admitted, &mut asked, &mut area, &mut bound] {
        pen.to(panel.left, panel.y(0.0));
    }
    let (mut cost, mut calls, mut next, mut last) = (0, 0, 0, 0.0);
    let mut clipped = false;
    let points = strategy.bound.len();
    let group = points.div_ceil(POINTS).max(1);
    let shown = strategy
        .bound
        .iter()
        .enumerate()
        .filter(|(place, _)| (place + 1) % group == 0 || place + 1 == points);
    for (_, &(end, allowed)) in shown {
        let upto = (end / report.bin_us) as usize;
        for bin in &strategy.bins[next..upto] {
            cost += bin.cost;
            calls += bin.admitted + bin.denied;
        }
        next = upto;
        let at = x(end);
        admitted.to(at, panel.y(cost as f64 / most));
        area.to(at, panel.y(cost as f64 / most));
        if !clipped {
            asked.to(at, panel.y(calls as f64 / most));
            clipped = calls as f64 > most;
        }
        if allowed.is_infinite() {
            continue;
        }
        // Steps are to look like steps.
        if allowed > last {
            bound.to(at, panel.y(last / most));
        }
        bound.to(at, panel.y(allowed / most));
        last = allowed;
    }
    area.to(panel.left + panel.width, panel.y(0.0));
    panels.canvas.path("demand", &asked.finish());
    panels.canvas.path("area", &area.finish());
    panels.canvas.path("line", &admitted.finish());
    panels.canvas.path("bound", &bound.finish());
}
