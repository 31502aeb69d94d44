//! What happens to a reservation whose caller never learns of it.

use redis::Value;

use super::backend::ServerCalls;
use super::driver::Driver;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::plan::{End, Plan};
use crate::reservation::{Ticket, fresh};
use crate::sequence::ScriptSequence;

/// Releases what a call may have reserved of which nobody learns: its future was dropped, or the server's answer was
/// lost. The server comes to that after whatever was sent of the call.
pub(super) struct ReleaseGuard<'a, D: Driver> {
    calls: ServerCalls<'a, D>,
    catalog: &'a Catalog,
    ticket: &'a Ticket,
    is_heard: bool,
    /// Whether those who wait for room may find some now.
    frees: bool,
}

impl<'a, D: Driver> ReleaseGuard<'a, D> {
    pub(super) fn new(calls: ServerCalls<'a, D>, catalog: &'a Catalog, ticket: &'a Ticket) -> Self {
        Self { calls, catalog, ticket, is_heard: false, frees: true }
    }

    /// The result of the call, of which somebody learns unless an answer was lost.
    pub(super) fn heard<T>(mut self, result: Result<T>) -> Result<T> {
        self.is_heard = !result.as_ref().is_err_and(Error::is_maybe_done);
        self.frees = !result.as_ref().is_err_and(Error::is_undecided);
        result
    }

    /// No server has decided: what one may hold all the same is released, which is no reason to ask again at once.
    pub(super) fn undecided(mut self) {
        self.frees = false;
    }
}

impl<D: Driver> Drop for ReleaseGuard<'_, D> {
    fn drop(&mut self) {
        let costs = vec![0; self.ticket.items.len()];
        if !self.is_heard
            && let Ok(mut plan) = Plan::of_ticket(self.catalog, self.ticket, &costs)
            && let Ok(id) = fresh()
        {
            self.calls.on_terms_in_charge(&mut plan);
            let mut release = self.calls.shared.ending(&plan, End::Release, (self.ticket.id, id));
            while let Some(call) = release.next() {
                self.calls.servers.at(release.region()).send_detached(call);
                release.feed(Ok(Value::Int(0)));
            }
            if self.frees {
                self.calls.shared.freed_by(&plan, End::Release);
            }
        }
    }
}
