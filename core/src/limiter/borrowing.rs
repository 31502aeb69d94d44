//! What a region borrows of another one, and gives back, while nobody waits for it.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::servers::Servers;
use crate::algorithm::Micros;
use crate::error::Result;
use crate::metrics::LoanUse;
use crate::plan::{Op, Plan};
use crate::redis::CallDeadline;
use crate::regions::Deposit;
use crate::sequence::{Borrower, Borrowing, BorrowingTogether, Decided, Later};

impl<D: Driver> ServerCalls<'_, D> {
    /// The conversation of a check that may be decided by what was lent.
    #[inline(always)]
    pub(super) fn borrowing<'a>(&'a self, plan: &'a Plan<'a>, op: Op) -> Option<Borrowing<'a>> {
        self.shared.wire.regions.as_ref()?;
        Borrowing::new(plan, &self.shared.wire, op, self.shared.now(), |region| self.servers.trip(region))
    }

    /// Holds it. Answers also the region in charge, if that is cut off.
    pub(super) async fn borrow(
        self,
        mut borrowing: Borrowing<'_>,
        deadline: CallDeadline,
    ) -> (Vec<usize>, Result<Decided>) {
        let is_replicated = self.drive(&mut borrowing, deadline).await;
        let cut_off = Vec::from_iter(borrowing.cut_off());
        let (decided, borrower, region, later) = borrowing.finish();
        if let Some(region) = region {
            Lender { servers: Arc::downgrade(self.servers), borrower, region }.go_on(later);
        }
        (cut_off, decided.map(|decided| decided.replicated(is_replicated)))
    }

    /// The same of a check of several items.
    pub(super) fn borrowing_together<'a>(
        &'a self,
        plan: &'a Plan<'a>,
        op: Op,
    ) -> Option<BorrowingTogether<'a>> {
        let trip = |region| self.servers.trip(region);
        BorrowingTogether::new(plan, &self.shared.wire, op, self.shared.now(), trip)
    }

    /// Holds it. Answers also the regions in charge that are cut off.
    pub(super) async fn borrow_together(
        self,
        mut borrowing: BorrowingTogether<'_>,
        deadline: CallDeadline,
    ) -> (Vec<usize>, Result<Decided>) {
        let mut is_replicated = self.drive(&mut borrowing, deadline).await;
        loop {
            let asks = borrowing.asks();
            if asks.is_empty() {
                break;
            }
            let (replies, have_replicas) = self.ask_all(asks, deadline).await;
            borrowing.answered(replies);
            is_replicated &= self.drive(&mut borrowing, deadline).await && have_replicas;
        }
        let cut_off = borrowing.cut_off();
        let (decided, loans) = borrowing.finish();
        for (borrower, region, later) in loans {
            Lender { servers: Arc::downgrade(self.servers), borrower, region }.go_on(later);
        }
        (cut_off, decided.map(|decided| decided.replicated(is_replicated)))
    }
}

/// The region in charge of one key, as another one deals with it. A limiter that is dropped deals with none.
struct Lender<D> {
    servers: Weak<Servers<D>>,
    borrower: Borrower,
    region: usize,
}

impl<D: Driver> Lender<D> {
    fn go_on(self, Later { ended, want, lent }: Later) {
        for (units, granted_at) in ended {
            self.give_back(units, granted_at);
        }
        match (lent, want) {
            (Some(lent), _) => self.keep(lent),
            (None, Some((want, now))) => self.ask(want, now),
            (None, None) => {}
        }
    }

    fn ask(self, want: f64, now: Micros) {
        let Some(servers) = self.servers.upgrade() else { return };
        let (call, sent, region) = (self.borrower.lend(None, want), Instant::now(), Some(self.region));
        let keep = move |reply| {
            let Ok(reply) = reply else { return };
            if let Some(servers) = self.servers.upgrade() {
                servers.note_trip(region, sent.elapsed());
            }
            if let Ok((lent, _)) = self.borrower.lent(reply, None, (want, now)) {
                self.borrower.note(LoanUse::Granted, lent.granted);
                self.keep(lent);
            }
        };
        servers.at(region).send_then(call, Box::new(keep));
    }

    /// Keeps a loan at the near server. What comes too late is given back.
    fn keep(self, lent: Deposit) {
        let Some(servers) = self.servers.upgrade() else { return };
        let call = self.borrower.deposit(&lent);
        let give_back = move |reply: Result<_>| match reply.as_ref().map(Borrower::dropped) {
            Ok(dropped) => self.give_back(dropped, lent.granted_at),
            Err(error) if error.is_maybe_done() => self.borrower.note(LoanUse::Lost, lent.granted),
            Err(_) => self.give_back(lent.granted, lent.granted_at),
        };
        servers.near.send_then(call, Box::new(give_back));
    }

    fn give_back(&self, units: f64, granted_at: f64) {
        if let Some(servers) = self.servers.upgrade().filter(|_| units > 0.0) {
            let call = self.borrower.give_back(units, granted_at);
            servers.at(Some(self.region)).send_then(call, self.borrower.clone().given_back(units));
        }
    }
}
