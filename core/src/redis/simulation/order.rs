//! In which order calls are executed.

use super::ledger::{Invariant, Ledger};

impl Ledger {
    /// Calls of one key that were sent once and executed stay in order.
    pub(super) fn check_order(&mut self) {
        for family in 0..self.named.len() {
            let mut ids: Vec<usize> = self.named[family].iter().flatten().copied().collect();
            ids.retain(|id| self.calls[*id].executed > 0 && self.calls[*id].attempts == 1);
            ids.sort_unstable();
            let connection = |id: usize| self.calls[id].attempt.map(|attempt| attempt.connection);
            let overtakes = |pair: &&[usize]| {
                connection(pair[0]) == connection(pair[1])
                    && self.calls[pair[0]].executed > self.calls[pair[1]].executed
            };
            if let Some(&[first, second]) = ids.windows(2).find(overtakes) {
                return self
                    .violate(Invariant::Order, format!("call {second} is executed before call {first}"));
            }
        }
    }

    /// Where nothing happens, calls of a crowd are executed in the order in which they were made.
    pub(super) fn check_order_in_crowds(&mut self) {
        let calls = &self.calls;
        let overtakes = |one: &&usize, next: &&usize| {
            let (one, next) = (&calls[**one], &calls[**next]);
            one.submitted < next.submitted && one.executed > next.executed && next.executed > 0
        };
        let found = self.crowds.0.iter().find_map(|crowd| {
            let pairs =
                crowd.members.iter().flat_map(|one| crowd.members.iter().map(move |next| (one, next)));
            pairs.into_iter().find(|(one, next)| overtakes(one, next))
        });
        if let Some((one, next)) = found.map(|(one, next)| (*one, *next)) {
            self.violate(Invariant::Order, format!("call {next} is executed before call {one}"));
        }
    }
}
