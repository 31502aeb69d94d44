//! Checks with which a process borrows units of its server, and what it gives back.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::servers::Servers;
use super::shared::Shared;
use crate::algorithm::Micros;
use crate::cells::{Asked, Cells, Returned};
use crate::error::Result;
use crate::metrics::LoanUse;
use crate::plan::{Op, Plan};
use crate::redis::CallDeadline;
use crate::sequence::{Borrowing, Decided};

impl<D: Driver> ServerCalls<'_, D> {
    /// What to borrow with a call; `None`: nothing.
    #[inline(always)]
    pub(super) fn asked<'a>(&'a self, plan: &'a Plan<'a>, op: Op) -> Option<Asked<'a>> {
        let is_lent = op == Op::Check && plan.items.first().is_some_and(|item| item.rule.lease.is_some());
        if is_lent { self.ask(plan) } else { None }
    }

    fn ask<'a>(&'a self, plan: &'a Plan<'a>) -> Option<Asked<'a>> {
        let (now, cells) = (self.shared.own_time(), &self.shared.cells);
        // What is given back before the call is there for it.
        cells.ended(Some(now)).into_iter().for_each(|returned| give_back(self.server, returned));
        cells.ask(plan, now)
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
        let (decided, borrower, _, later) = borrowing.finish();
        if let Some(lent) = later.lent {
            let (late, begins) = asked.lent(self.shared.own_time(), &lent, borrower);
            late.into_iter().for_each(|returned| give_back(self.server, returned));
            // By a manual clock nothing happens by itself.
            if begins && !self.shared.is_manual() {
                let mut housekeeper = Housekeeper::new(self.shared, self.servers);
                self.server.look_often(move || housekeeper.look());
            }
        }
        decided.map(|decided| decided.replicated(is_replicated))
    }
}

impl<D: Driver> Servers<D> {
    /// Gives back all that was borrowed and is not spent, before the limiter is closed.
    pub(super) fn give_all_back(&self, shared: &Shared) {
        shared.cells.ended(None).into_iter().for_each(|returned| give_back(&self.near, returned));
    }
}

fn give_back(server: &impl Driver, (lender, unspent): Returned) {
    lender.note(LoanUse::GivenBack, unspent.units as f64);
    server.send_detached(lender.give_back(unspent.units as f64, unspent.granted_at));
}

/// Gives back what ends while nobody calls. A limiter that is dropped needs none.
struct Housekeeper<D> {
    servers: Weak<Servers<D>>,
    cells: Weak<Cells>,
    /// When the time of the limiter began.
    began: Instant,
}

impl<D: Driver> Housekeeper<D> {
    fn new(shared: &Shared, servers: &Arc<Servers<D>>) -> Self {
        Self { servers: Arc::downgrade(servers), cells: Arc::downgrade(&shared.cells), began: shared.began }
    }

    /// Whether to look again.
    fn look(&mut self) -> bool {
        let (Some(servers), Some(cells)) = (self.servers.upgrade(), self.cells.upgrade()) else {
            return false;
        };
        let ended = cells.ended(Some(self.began.elapsed().as_micros() as Micros));
        ended.into_iter().for_each(|returned| give_back(&servers.near, returned));
        cells.is_lent()
    }
}
