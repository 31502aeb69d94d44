//! What happens to a reservation whose caller never learns of it.

use redis::Value;

use super::centre::Centre;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::plan::{End, Plan};
use crate::redis::{AsyncRedis, BlockingRedis};
use crate::reservation::{Ticket, fresh};
use crate::script::ScriptCall;
use crate::transaction::Conversation;

/// Sends what nobody waits for.
pub(super) trait Cast {
    fn cast(&self, call: ScriptCall);
}

impl Cast for BlockingRedis {
    fn cast(&self, call: ScriptCall) {
        Self::cast(self, call);
    }
}

impl Cast for AsyncRedis {
    fn cast(&self, call: ScriptCall) {
        Self::cast(self, call);
    }
}

/// Releases what a call may have reserved of which nobody learns: its future was dropped, or the server's answer was
/// lost. The server comes to that after whatever was sent of the call.
pub(super) struct ReleaseGuard<'a, R: Cast> {
    redis: &'a R,
    centre: &'a Centre,
    catalog: &'a Catalog,
    ticket: &'a Ticket,
    is_heard: bool,
}

impl<'a, R: Cast> ReleaseGuard<'a, R> {
    pub(super) fn new(redis: &'a R, centre: &'a Centre, catalog: &'a Catalog, ticket: &'a Ticket) -> Self {
        Self { redis, centre, catalog, ticket, is_heard: false }
    }

    /// The result of the call, of which somebody learns unless an answer was lost.
    pub(super) fn heard<T>(mut self, result: Result<T>) -> Result<T> {
        self.is_heard = !result.as_ref().is_err_and(Error::is_maybe_done);
        result
    }
}

impl<R: Cast> Drop for ReleaseGuard<'_, R> {
    fn drop(&mut self) {
        let costs = vec![0; self.ticket.items.len()];
        if !self.is_heard
            && let Ok(plan) = Plan::of_ticket(self.catalog, self.ticket, &costs)
            && let Ok(id) = fresh()
        {
            let mut release = self.centre.ending(&plan, End::Release, (self.ticket.id, id));
            while let Some(call) = release.next() {
                self.redis.cast(call);
                release.feed(Ok(Value::Int(0)));
            }
            self.centre.freed_by(&plan, End::Release);
        }
    }
}
