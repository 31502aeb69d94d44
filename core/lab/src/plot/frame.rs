//! What pictures have in common: a title, rows of strategies, panels, the axis of time.

use super::canvas::{Anchor, Canvas};
use super::figures::{axis_mark, clock, decimal, span, time_step};
use crate::{Bin, LimitReport, Report, StrategyReport};

/// The width of every picture.
pub(super) const WIDTH: f64 = 900.0;
/// Where plots begin, right of the names.
pub(super) const LEFT: f64 = 172.0;
/// Where plots end, left of the figures.
pub(super) const RIGHT: f64 = 780.0;
/// Where the first row begins.
pub(super) const TOP: f64 = 66.0;
const AXIS_HEIGHT: f64 = 34.0;
const MARKS: u64 = 8;
const NAME_CHARS: usize = 22;

/// A picture with one row per strategy over one axis of time.
pub(super) struct Rows<'a> {
    pub(super) canvas: Canvas,
    report: &'a Report,
    row_height: f64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(report: &'a Report, title: &str, note: &str, row_height: f64) -> Self {
        let rows = report.strategies.len() as f64;
        let mut canvas = Canvas::new(WIDTH, TOP + rows * row_height + AXIS_HEIGHT);
        head(&mut canvas, title, note);
        let mut frame = Self { canvas, report, row_height };
        frame.time_axis();
        frame
    }

    /// The top of a row, with its name beside it.
    pub(super) fn row(&mut self, number: usize) -> f64 {
        let top = TOP + number as f64 * self.row_height;
        let strategy = &self.report.strategies[number];
        name(&mut self.canvas, strategy, 16.0, top + self.row_height / 2.0 - 4.0);
        top
    }

    /// Where a share of the time is, from 0 to 1.
    pub(super) fn x(share: f64) -> f64 {
        LEFT + share * (RIGHT - LEFT)
    }

    fn time_axis(&mut self) {
        let Report { length_us, start_us, requests, .. } = *self.report;
        let bottom = TOP + self.report.strategies.len() as f64 * self.row_height;
        self.canvas.line("base", (LEFT, bottom), (RIGHT, bottom));
        let step = time_step(length_us, MARKS);
        let origin = if requests.is_some() { start_us } else { 0 };
        let mut at = origin.div_ceil(step) * step;
        while at <= origin + length_us && length_us > 0 {
            let x = Self::x((at - origin) as f64 / length_us as f64);
            self.canvas.line("grid", (x, TOP), (x, bottom + 5.0));
            let label = if requests.is_some() { clock(at, step) } else { axis_mark(at, length_us, step) };
            self.canvas.text("tick", x, bottom + 20.0, Anchor::Middle, &label);
            at += step;
        }
        if requests.is_some() {
            self.canvas.text("tick", RIGHT + 12.0, bottom + 20.0, Anchor::Start, "UTC");
        }
    }
}

pub(super) fn head(canvas: &mut Canvas, title: &str, note: &str) {
    canvas.text("title", 16.0, 28.0, Anchor::Start, title);
    canvas.text("note", 16.0, 47.0, Anchor::Start, note);
}

/// The name of a strategy, and its limits below it.
pub(super) fn name(canvas: &mut Canvas, strategy: &StrategyReport, x: f64, y: f64) {
    canvas.text("name", x, y, Anchor::Start, &shortened(&strategy.name));
    canvas.text("note", x, y + 15.0, Anchor::Start, &limits(strategy));
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        None => name.to_owned(),
        Some(_) => name.chars().take(NAME_CHARS - 1).chain(['…']).collect(),
    }
}

/// `10 per 10 s, 50 per 60 s`
pub(super) fn limits(strategy: &StrategyReport) -> String {
    let one = |limit: &LimitReport| {
        let (of_concurrency, limit, window) =
            (limit.is_of_concurrency(), decimal(limit.limit), span(limit.window_us));
        match strategy.algorithm {
            _ if of_concurrency => format!("{limit} at once"),
            "decay" => format!("level {limit}, slots of {window}"),
            _ => format!("{limit} per {window}"),
        }
    };
    let mut all: Vec<_> = strategy.limits.iter().take(2).map(one).collect();
    if strategy.limits.len() > 2 {
        all.push("…".to_owned());
    }
    all.join(", ")
}

/// Panels beside and below each other.
pub(super) struct Panels {
    pub(super) canvas: Canvas,
    columns: usize,
}

/// Where a panel's plot is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panel {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

const PANEL_COLUMNS: usize = 3;
const PANEL_HEIGHT: f64 = 176.0;
const PLOT_HEIGHT: f64 = 104.0;
const GAP: f64 = 16.0;
/// Room for the numbers of the scale.
const SCALE: f64 = 34.0;

impl Panels {
    pub(super) fn new(count: usize, title: &str, note: &str) -> Self {
        let columns = PANEL_COLUMNS.min(count.max(1));
        let rows = count.div_ceil(columns) as f64;
        let mut canvas = Canvas::new(WIDTH, TOP + rows * PANEL_HEIGHT + 4.0);
        head(&mut canvas, title, note);
        Self { canvas, columns }
    }

    /// A panel with its name, and a note beside the limits.
    pub(super) fn panel(&mut self, number: usize, strategy: &StrategyReport, note: &str) -> Panel {
        let width = (WIDTH - GAP) / self.columns as f64 - GAP;
        let left = GAP + (number % self.columns) as f64 * (width + GAP);
        let top = TOP + (number / self.columns) as f64 * PANEL_HEIGHT;
        name(&mut self.canvas, strategy, left, top + 12.0);
        self.canvas.text("note", left + width, top + 27.0, Anchor::End, note);
        Panel { left: left + SCALE, top: top + 36.0, width: width - SCALE, height: PLOT_HEIGHT }
    }

    /// Lines at zero, at the middle and at the top of the scale.
    pub(super) fn scale(&mut self, panel: Panel, most: f64) {
        for share in [0.0, 0.5, 1.0] {
            let y = panel.y(share);
            let class = if share == 0.0 { "base" } else { "grid" };
            self.canvas.line(class, (panel.left, y), (panel.left + panel.width, y));
            let label = compact(most * share);
            self.canvas.text("tick", panel.left - 5.0, y + 4.0, Anchor::End, &label);
        }
    }
}

impl Panel {
    pub(super) fn x(&self, share: f64) -> f64 {
        self.left + share * self.width
    }

    /// Where a share of the scale is; what is beyond it stays at its top.
    pub(super) fn y(&self, share: f64) -> f64 {
        self.top + self.height * (1.0 - share.clamp(0.0, 1.0))
    }
}

/// `12k`, `3.5M`
pub(super) fn compact(number: f64) -> String {
    match number {
        1e6.. => format!("{}M", decimal(number / 1e6)),
        1e4.. => format!("{}k", decimal(number / 1e3)),
        _ => decimal(number),
    }
}

/// Neighbouring bins together, so that there are at most so many.
pub(super) fn merged(bins: &[Bin], most: usize) -> Vec<Bin> {
    let group = bins.len().div_ceil(most).max(1);
    let sum = |bins: &[Bin]| {
        bins.iter().fold(Bin::default(), |sum, bin| Bin {
            admitted: sum.admitted + bin.admitted,
            denied: sum.denied + bin.denied,
            cost: sum.cost + bin.cost,
            fullest: sum.fullest.max(bin.fullest),
        })
    };
    bins.chunks(group).map(sum).collect()
}
