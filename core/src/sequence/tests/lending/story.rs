//! What callers were told.

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Told {
    /// By the region in charge.
    There(bool),
    /// By what was lent.
    Near(bool),
    /// By the part of a region that is cut off.
    Part(bool),
    /// By another limit of the same call.
    Refused,
    /// Nobody answered.
    Lost,
}

/// What callers were told, and when they were.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    /// When it was decided, in truth.
    pub(super) at: f64,
    pub(super) region: usize,
    pub(super) cost: f64,
    pub(super) told: Told,
    /// How long the denial of the region in charge had been known.
    pub(super) known_for: f64,
}

pub(super) struct Story(pub(super) Vec<Call>);

impl Story {
    pub(super) fn count(&self, told: Told) -> usize {
        self.0.iter().filter(|call| call.told == told).count()
    }

    pub(super) fn asked(&self) -> f64 {
        self.0.iter().map(|call| call.cost).sum()
    }

    pub(super) fn admitted(&self) -> f64 {
        self.0.iter().filter(|call| call.is_admitted()).map(|call| call.cost).sum()
    }

    /// The share of the calls of other regions, from then on, that the region in charge decided.
    pub(super) fn far_after(&self, at: f64) -> f64 {
        let calls: Vec<_> = self.0.iter().filter(|call| call.region > 0 && call.at >= at).collect();
        let far = calls.iter().filter(|call| matches!(call.told, Told::There(_) | Told::Lost)).count();
        far as f64 / calls.len().max(1) as f64
    }
}

impl Call {
    pub(super) fn is_admitted(&self) -> bool {
        matches!(self.told, Told::There(true) | Told::Near(true))
    }
}
