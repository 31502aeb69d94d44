//! How long calls wait until they are admitted, of clients that wait.

use super::canvas::{Anchor, Canvas, Pen};
use super::figures::{axis_mark, span, time_step};
use super::frame::{LEFT, RIGHT, TOP, WIDTH, head, name};
use crate::{Report, WaitReport};

const ROW: f64 = 46.0;
const MARKS: u64 = 8;
/// The power of ten, in microseconds, at which a logarithmic axis begins.
const LOWEST: u32 = 3;

pub(super) fn draw(report: &Report) -> Canvas {
    let rows: Vec<_> =
        report.strategies.iter().filter_map(|strategy| Some((strategy, strategy.waits?))).collect();
    let bottom = TOP + rows.len() as f64 * ROW;
    let mut canvas = Canvas::new(WIDTH, bottom + 34.0);
    let note = "Median (dot), 9 of 10 (thick line ends), 99 of 100 (triangle) and the longest wait (thin line ends).";
    head(&mut canvas, "How long calls wait until they are admitted", note);
    let scale = Scale::of(rows.iter().map(|(_, waits)| waits));
    scale.axis(&mut canvas, bottom);
    for (number, (strategy, waits)) in rows.iter().enumerate() {
        let y = TOP + number as f64 * ROW + ROW / 2.0;
        name(&mut canvas, strategy, 16.0, y - 3.0);
        row(&mut canvas, scale, waits, y);
    }
    canvas
}

/// The axis of waits: linear, or where they are of very different size, logarithmic.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Linear {
        step: u64,
        end: u64,
    },
    /// Powers of ten of microseconds, from a millisecond on.
    Logarithmic {
        end: u32,
    },
}

impl Scale {
    fn of<'a>(waits: impl Iterator<Item = &'a WaitReport>) -> Self {
        let (least, most) = waits.fold((u64::MAX, 1_000), |(least, most), waits| {
            (least.min(waits.p50_us), most.max(waits.max_us))
        });
        if least >= most / 50 {
            let step = time_step(most, MARKS);
            return Self::Linear { step, end: most.div_ceil(step) * step };
        }
        Self::Logarithmic { end: (most as f64).log10().ceil() as u32 }
    }

    fn x(self, us: u64) -> f64 {
        let share = match self {
            Self::Linear { end, .. } => us as f64 / end as f64,
            Self::Logarithmic { end } => {
                let low = f64::from(LOWEST);
                ((us.max(1) as f64).log10().max(low) - low) / (f64::from(end.max(LOWEST + 1)) - low)
            }
        };
        LEFT + share * (RIGHT - LEFT)
    }

    fn marks(self) -> Vec<(u64, String)> {
        match self {
            Self::Linear { step, end } => {
                (0..=end / step).map(|n| (n * step, axis_mark(n * step, end, step))).collect()
            }
            Self::Logarithmic { end } => (LOWEST..=end.max(LOWEST + 1))
                .map(|power| 10u64.pow(power))
                .map(|us| (us, if us == 1_000 { "≤ 1 ms".to_owned() } else { span(us) }))
                .collect(),
        }
    }

    fn axis(self, canvas: &mut Canvas, bottom: f64) {
        canvas.line("base", (LEFT, bottom), (RIGHT, bottom));
        for (us, label) in self.marks() {
            let x = self.x(us);
            canvas.line("grid", (x, TOP), (x, bottom + 5.0));
            canvas.text("tick", x, bottom + 20.0, Anchor::Middle, &label);
        }
    }
}

fn row(canvas: &mut Canvas, scale: Scale, waits: &WaitReport, y: f64) {
    let [p50, p90, p99, max] = [waits.p50_us, waits.p90_us, waits.p99_us, waits.max_us].map(|us| scale.x(us));
    canvas.line("demand", (LEFT, y), (max, y));
    canvas.line("demand", (max, y - 5.0), (max, y + 5.0));
    canvas.rect("admitted", LEFT, y - 2.5, (p90 - LEFT).max(0.5), 5.0);
    canvas.circle("admitted", p50, y, 6.0);
    let mut triangle = Pen::default();
    triangle.to(p99 - 6.0, y - 9.0);
    triangle.to(p99 + 6.0, y - 9.0);
    triangle.to(p99, y + 2.0);
    canvas.path("denied", &triangle.finish());
    canvas.text("", RIGHT + 12.0, y - 2.0, Anchor::Start, &format!("p50 {}", span(waits.p50_us)));
    canvas.text("note", RIGHT + 12.0, y + 13.0, Anchor::Start, &format!("p99 {}", span(waits.p99_us)));
}
