//! What happens in a history, in order.

use std::cmp::Ordering;

use crate::algorithm::Micros;
use crate::regions::Deposit;

pub(super) enum Happening {
    Call(usize),
    /// A region in charge is asked: by whom, which, the cost of its call, how much it wants, and the time of that near.
    Ask {
        region: usize,
        owner: usize,
        own: Option<f64>,
        want: f64,
        marked: Micros,
        /// Whether the call has other items, which are decided near when the answer is there.
        has_others: bool,
    },
    Answer {
        region: usize,
        /// When it was sent.
        sent: f64,
        deposit: Deposit,
        /// The cost of a call with other items, whether the region in charge has charged it, and when.
        call: Option<(f64, bool, f64)>,
    },
    GiveBack {
        owner: usize,
        units: f64,
        granted_at: f64,
    },
    /// A caller has waited for the region in charge in vain: its cost.
    InVain {
        region: usize,
        cost: f64,
    },
}

pub(super) struct Event {
    pub(super) at: f64,
    pub(super) number: usize,
    pub(super) what: Happening,
}

impl Ord for Event {
    /// The earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.at.total_cmp(&self.at).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}
