//! What every key got, of what it asked for.

use super::canvas::{Anchor, Bars};
use super::figures::{count, decimal, round_scale};
use super::frame::Panels;
use crate::{Report, StrategyReport};

pub(super) fn draw(report: &Report) -> Panels {
    let note = "Keys from left to right, those that asked most first: what each got (blue) of what it asked for \
                (grey, cut off at the top). Jain's index is 1 when all got the same.";
    let mut panels = Panels::new(report.strategies.len(), "What each key gets", note);
    let got = report.strategies.iter().flat_map(|strategy| &strategy.fairness.admitted);
    let most = round_scale(got.copied().fold(1.0, f64::max));
    for (number, strategy) in report.strategies.iter().enumerate() {
        let fairness = &strategy.fairness;
        let index = |jain: Option<f64>| jain.map_or("-".to_owned(), decimal);
        let note = format!("Jain {} (asked: {})", index(fairness.jain), index(fairness.jain_asked));
        let panel = panels.panel(number, strategy, &note);
        let (mut asked, mut got) = (Bars::default(), Bars::default());
        let width = panel.width / fairness.asked.len().max(1) as f64;
        let drawn = if width > 4.0 { width - 1.0 } else { width };
        for (place, (want, have)) in fairness.asked.iter().zip(&fairness.admitted).enumerate() {
            let x = panel.left + place as f64 * width;
            for (bars, value) in [(&mut asked, want), (&mut got, have)] {
                let y = panel.y(value / most);
                bars.add(x, y, drawn, panel.top + panel.height - y);
            }
        }
        panels.canvas.path("asked", &asked.finish());
        panels.canvas.path("admitted", &got.finish());
        panels.scale(panel, most);
        let label = keys(strategy);
        panels.canvas.text("tick", panel.left, panel.top + panel.height + 16.0, Anchor::Start, &label);
    }
    panels
}

fn keys(strategy: &StrategyReport) -> String {
    let fairness = &strategy.fairness;
    let about = if fairness.exact { "" } else { "about " };
    let noun = if fairness.keys == 1 { "key" } else { "keys" };
    format!("{about}{} {noun}", count(fairness.keys))
}
