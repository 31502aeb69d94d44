//! Checks with which a process borrows units of its server, and what it gives back.

use std::sync::{Arc, Weak};
use std::time::Instant;

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::servers::Servers;
use super::shared::Shared;
use crate::algorithm::Micros;
use crate::cells::{Asked, Cells, Returned, may_borrow};
use crate::error::Result;
use crate::metrics::LoanUse;
use crate::plan::{Charge, Item, Op, Outcome, Plan};
use crate::redis::CallDeadline;
use crate::regions::Deposit;
use crate::sequence::{Borrower, Borrowing, Decided, DetachedLoan};
use crate::time::clock::ManualClock;

impl<D: Driver> ServerCalls<'_, D> {
    /// What to borrow with a call; `None`: nothing.
    #[inline(always)]
    pub(super) fn asked(self, plan: &Plan<'_>, op: Op) -> Option<Asked> {
        let is_lent = |item: &Item<'_>| item.rule.lease.is_some();
        if op == Op::Check && plan.items.iter().any(is_lent) { self.ask(plan) } else { None }
    }

    fn ask(self, plan: &Plan<'_>) -> Option<Asked> {
        let (now, cells) = (self.shared.own_time(), &self.shared.cells);
        // What is given back before the call is there for it.
        cells.ended(Some(now)).into_iter().for_each(|returned| give_back(self.server, returned));
        let [item] = &*plan.items else { return None };
        cells.ask(plan, item, now)
    }

    /// Has the server decide a check and lend.
    pub(super) async fn lease(
        self,
        plan: &Plan<'_>,
        asked: Asked,
        deadline: CallDeadline,
    ) -> Result<Decided> {
        let (wire, clock, request) =
            (&self.shared.wire, self.shared.now(), (asked.want as f64, asked.sent_at));
        let mut borrowing = Borrowing::leasing(plan, wire, clock, request, asked.age());
        let is_replicated = self.drive(&mut borrowing, deadline).await;
        let (decided, borrower, _, later) = borrowing.finish();
        if let Some(lent) = later.lent {
            Housekeeper::new(self.shared, self.servers).keep(asked, &lent, borrower);
        }
        decided.map(|decided| decided.replicated(is_replicated))
    }

    /// Borrows for the items of a check that the server has decided, while nobody waits for it: the script that decides several
    /// items does not lend.
    pub(super) fn borrow_for_each(self, plan: &Plan<'_>, op: Op, outcomes: &[Outcome]) {
        if op != Op::Check || plan.items.len() == 1 || !may_borrow(plan) {
            return;
        }
        let is_admitted = outcomes.iter().all(|outcome| outcome.fits);
        for item in plan.items.iter() {
            let fits = item.charges.iter().all(|&index| outcomes[index].fits);
            // What another one was denied for is no need of this one.
            if is_admitted || !fits {
                let asked = self.shared.cells.ask(plan, item, self.shared.own_time());
                asked.into_iter().for_each(|asked| self.borrow_apart(&plan.charges[item.charges[0]], asked));
            }
        }
    }

    fn borrow_apart(self, charge: &Charge<'_>, asked: Asked) {
        let (prefix, request) = (&self.shared.wire.prefix, (asked.want as f64, asked.sent_at));
        let loan = DetachedLoan::new(charge, prefix, self.shared.now(), request, asked.age());
        let (call, housekeeper) = (loan.call(), Housekeeper::new(self.shared, self.servers));
        let keep = move |reply: Result<Value>| {
            if let Some((lent, lender)) = reply.ok().and_then(|reply| loan.lent(reply)) {
                housekeeper.keep(asked, &lent, lender);
            }
        };
        self.server.send_then(call, Box::new(keep));
    }
}

impl<D: Driver> Servers<D> {
    /// Gives back all that was borrowed and is not spent, before the limiter is closed.
    pub(super) fn give_all_back(&self, shared: &Shared) {
        for (lender, unspent) in shared.cells.ended(None) {
            let units = unspent.units as f64;
            // Nobody reads the answer any more.
            lender.note(LoanUse::GivenBack, units);
            self.near.send_detached(lender.give_back(units, unspent.granted_at));
        }
    }
}

fn give_back(server: &impl Driver, (lender, unspent): Returned) {
    let units = unspent.units as f64;
    server.send_then(lender.give_back(units, unspent.granted_at), lender.given_back(units));
}

/// Keeps what was lent, and gives back what ends while nobody calls. A limiter that is dropped needs none.
struct Housekeeper<D> {
    servers: Weak<Servers<D>>,
    cells: Weak<Cells>,
    clock: Option<ManualClock>,
    /// When the time of the limiter began.
    began: Instant,
}

impl<D: Driver> Housekeeper<D> {
    fn new(shared: &Shared, servers: &Arc<Servers<D>>) -> Self {
        Self {
            servers: Arc::downgrade(servers),
            cells: Arc::downgrade(&shared.cells),
            clock: shared.manual_clock().cloned(),
            began: shared.began,
        }
    }

    fn now(&self) -> Micros {
        let passed = || self.began.elapsed().as_micros() as Micros;
        self.clock.as_ref().map_or_else(passed, ManualClock::now)
    }

    fn keep(mut self, asked: Asked, lent: &Deposit, lender: Borrower) {
        let (Some(servers), Some(cells)) = (self.servers.upgrade(), self.cells.upgrade()) else { return };
        let (late, begins) = cells.lent(&asked, self.now(), lent, lender);
        late.into_iter().for_each(|returned| give_back(&servers.near, returned));
        // By a manual clock nothing happens by itself.
        if begins && self.clock.is_none() {
            servers.near.look_often(move || self.look());
        }
    }

    /// Whether to look again.
    fn look(&mut self) -> bool {
        let (Some(servers), Some(cells)) = (self.servers.upgrade(), self.cells.upgrade()) else {
            return false;
        };
        let ended = cells.ended(Some(self.now()));
        ended.into_iter().for_each(|returned| give_back(&servers.near, returned));
        cells.is_lent()
    }
}
