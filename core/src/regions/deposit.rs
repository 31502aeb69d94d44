//! What the region in charge of a key tells another one.

/// What it has lent, and what it says of the key. Times are those of the near server but for `granted_at`, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Deposit {
    /// How many units.
    pub(crate) granted: f64,
    /// By the clock of the region in charge.
    pub(crate) granted_at: f64,
    pub(crate) valid_until: f64,
    /// Until when a cost of `denied_cost` need not be asked for again; 0: nothing was denied.
    pub(crate) denied_until: f64,
    pub(crate) denied_cost: f64,
    /// Until when loans are small, since less was lent than was asked for; 0: it was not.
    pub(crate) contended_until: f64,
    /// When what was denied has room; 0: nothing was.
    pub(crate) fits_at: f64,
    /// When the key will be as if never seen.
    pub(crate) fresh_at: f64,
}

impl Deposit {
    /// The same after a call of several items: what was charged for it is lent, unless it was admitted and has spent that.
    pub(crate) fn after_call(mut self, cost: f64, is_charged: bool, is_admitted: bool) -> Self {
        if is_charged && !is_admitted {
            self.granted += cost;
        }
        self
    }

    /// Whether it is worth keeping.
    pub(crate) fn says_something(&self) -> bool {
        self.granted > 0.0 || self.denied_until > 0.0 || self.contended_until > 0.0
    }
}
