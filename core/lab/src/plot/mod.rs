//! Pictures of a run, as SVG: each can stand alone, and all of them make a page.

mod admitted;
mod canvas;
mod cumulative;
mod excess;
mod fairness;
mod figures;
mod frame;
mod page;
mod raster;
mod style;
mod waits;
mod windows;

use canvas::{Canvas, escaped};
pub use page::page;

use super::Report;

/// A picture of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Picture {
    /// Every call on one axis of time.
    Raster,
    /// Admitted calls per bin.
    Admitted,
    /// The fullest window over all its positions.
    Windows,
    /// All that was admitted so far, against each strategy's own bound.
    Cumulative,
    /// What was admitted beyond limit and burst, of rules with `lease`.
    Excess,
    /// What each key got.
    Fairness,
    /// How long calls waited.
    Waits,
}

impl Picture {
    /// All of them, in the order in which they explain each other.
    pub const ALL: [Self; 7] = [
        Self::Raster,
        Self::Admitted,
        Self::Windows,
        Self::Cumulative,
        Self::Excess,
        Self::Waits,
        Self::Fairness,
    ];

    /// The name of its file, without an ending.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raster => "raster",
            Self::Admitted => "admitted",
            Self::Windows => "windows",
            Self::Cumulative => "cumulative",
            Self::Excess => "excess",
            Self::Fairness => "fairness",
            Self::Waits => "waits",
        }
    }

    /// Whether it says anything about a run.
    pub fn applies(self, report: &Report) -> bool {
        let strategies = &report.strategies;
        !report.is_empty()
            && match self {
                Self::Fairness => strategies.iter().any(|strategy| strategy.fairness.keys > 1),
                Self::Excess => strategies.iter().any(|strategy| strategy.excess.is_some()),
                Self::Waits => strategies.iter().any(|strategy| strategy.waits.is_some()),
                _ => true,
            }
    }

    /// The picture as a file of its own, in light or dark as its viewer wishes.
    pub fn svg(self, report: &Report) -> String {
        self.draw(report).finish(self.title(), true)
    }

    fn inline(self, report: &Report) -> String {
        self.draw(report).finish(self.title(), false)
    }

    fn title(self) -> &'static str {
        match self {
            Self::Raster => "Admitted and denied calls of each strategy on one axis of time",
            Self::Admitted => "Admitted calls per bin of each strategy",
            Self::Windows => {
                "The fullest window of each strategy over all its positions, divided by the limit"
            }
            Self::Cumulative => "Admitted cost of each strategy against its own bound",
            Self::Excess => "What was admitted beyond burst and refill, and what the bound of leases allows",
            Self::Fairness => "What each key asked for and got",
            Self::Waits => "How long calls waited until they were admitted",
        }
    }

    fn draw(self, report: &Report) -> Canvas {
        match self {
            Self::Raster => raster::draw(report).canvas,
            Self::Admitted => admitted::draw(report).canvas,
            Self::Windows => windows::draw(report).canvas,
            Self::Cumulative => cumulative::draw(report).canvas,
            Self::Excess => excess::draw(report).canvas,
            Self::Fairness => fairness::draw(report).canvas,
            Self::Waits => waits::draw(report),
        }
    }
}
