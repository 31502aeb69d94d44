//! Checks with which a process borrows units of its server.

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::cells::Asked;
use crate::error::Result;
use crate::plan::{Op, Plan};
use crate::redis::CallDeadline;
use crate::sequence::{Borrowing, Decided};

impl<D: Driver> ServerCalls<'_, D> {
    /// What to borrow with a call; `None`: nothing.
    #[inline(always)]
    pub(super) fn asked<'a>(&'a self, plan: &'a Plan<'a>, op: Op) -> Option<Asked<'a>> {
        let is_lent = op == Op::Check && plan.items.first().is_some_and(|item| item.rule.lease.is_some());
        if is_lent { self.shared.cells.ask(plan, self.shared.own_time()) } else { None }
    }

    /// Has the server decide a check and lend.
    pub(super) async fn lease(
        self,
        plan: &Plan<'_>,
        asked: Asked<'_>,
        deadline: CallDeadline,
    ) -> Result<Decided> {
        let (wire, clock, request) =
            (&self.shared.wire, self.shared.now(), (asked.want as f64, asked.sent_at));
        let mut borrowing = Borrowing::leasing(plan, wire, clock, request, asked.age());
        let is_replicated = self.drive(&mut borrowing, deadline).await;
        let (decided, _, _, later) = borrowing.finish();
        if let Some(lent) = later.lent {
            // What is not spent is lost until it has leaked.
            let _unspent = asked.lent(self.shared.own_time(), &lent);
        }
        decided.map(|decided| decided.replicated(is_replicated))
    }
}
