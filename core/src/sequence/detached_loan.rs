//! Units that a process borrows of its server while none of its calls waits for them.

use redis::Value;

use super::borrower::Borrower;
use crate::algorithm::Micros;
use crate::metrics::LoanUse;
use crate::plan::Charge;
use crate::regions::Deposit;
use crate::script::ScriptCall;

/// Such a loan, until the server has answered.
#[derive(Debug)]
pub(crate) struct DetachedLoan {
    borrower: Borrower,
    want: f64,
    sent_at: Micros,
}

impl DetachedLoan {
    /// Asks for `want` units, to be spent for `age` microseconds from `sent_at`.
    pub(crate) fn new(
        charge: &Charge<'_>,
        prefix: &str,
        clock: Option<Micros>,
        (want, sent_at): (f64, Micros),
        age: Micros,
    ) -> Self {
        let borrower = Borrower::leasing(charge, prefix, age as f64, clock);
        borrower.note(LoanUse::Asked, want);
        Self { borrower, want, sent_at }
    }

    pub(crate) fn call(&self) -> ScriptCall {
        self.borrower.lend(None, self.want)
    }

    /// What the server has lent, or said, and who gives it back. `None`: its answer makes no sense.
    pub(crate) fn lent(self, reply: Value) -> Option<(Deposit, Borrower)> {
        let (lent, _) = self.borrower.lent(reply, None, (self.want, self.sent_at)).ok()?;
        self.borrower.note(LoanUse::Granted, lent.granted);
        Some((lent, self.borrower))
    }

    #[cfg(test)]
    pub(crate) fn lender(self) -> Borrower {
        self.borrower
    }
}
