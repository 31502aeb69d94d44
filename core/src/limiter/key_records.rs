//! Blocks and limits of single keys, changed by hand.

use std::time::Duration;

use super::backend::{MemoryCalls, ServerCalls};
use super::both::both_limiters;
use super::driver::Driver;
use crate::catalog::Catalog;
use crate::error::Result;
use crate::plan::{KeyRecordChange, Op, Plan, Span};
use crate::request::{Check, CheckOptions};
use crate::sequence::{change, changed, located_by_hand, unanswered};

/// A plan for one key, where its rule allows the change.
fn planned<'a>(catalog: &'a Catalog, check: &Check<'a>, change: KeyRecordChange) -> Result<Plan<'a>> {
    // What else a check says matters to none of these calls.
    let options = CheckOptions {
        resource: check.options.resource,
        timeout: check.options.timeout,
        ..CheckOptions::new()
    };
    let mut plan = Plan::new(catalog, &[Check { options, ..*check }], Op::Peek)?;
    plan.items[0].rule.validate_change(change)?;
    // The states themselves are not touched, nor what is held.
    plan.charges.clear();
    plan.holders.clear();
    Ok(plan)
}

fn span(duration: Duration) -> Span {
    Span::from_seconds(duration.as_secs_f64())
}

both_limiters! {
    /// Blocks `key` under `rule` for `duration` from now: every check of it is denied and counts nothing. Takes the place
    /// of a block that it has already, and is not remembered by those that begin with a denial.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a rule without `block`, and
    /// for a duration that is not from a microsecond to ten years.
    pub async fn block(&self, rule: &str, key: &str, duration: Duration) -> Result<()> {
        self.block_with(rule, key, duration, CheckOptions::new())
    }

    /// [`block`](Self::block) that takes [`timeout`](CheckOptions::timeout) at most.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub async fn block_with(
        &self,
        rule: &str,
        key: &str,
        duration: Duration,
        options: CheckOptions<'_>,
    ) -> Result<()> {
        self.change(&Check::new(rule, key).with(options), KeyRecordChange::Block(span(duration)))
    }

    /// Ends the block of `key` under `rule`. Whether there was one. A block that begins soon after it may still be longer
    /// than the last one.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for a rule without `block`.
    pub async fn unblock(&self, rule: &str, key: &str) -> Result<bool> {
        self.unblock_with(rule, key, CheckOptions::new())
    }

    /// [`unblock`](Self::unblock) that takes [`timeout`](CheckOptions::timeout) at most.
    ///
    /// # Errors
    /// As [`unblock`](Self::unblock).
    pub async fn unblock_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<bool> {
        self.change_key_record(&Check::new(rule, key).with(options), KeyRecordChange::Unblock)
    }

    /// Stores a limit for `key` under `rule`, which every process uses from its next check on: for `expires_in`, or until
    /// it is cleared. A limit that a call brings still comes first.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for a rule without `overrides`, for a limit that the rule could not
    /// have, and for a time that is not from a microsecond to ten years.
    pub async fn set_limit(&self, rule: &str, key: &str, limit: u64, expires_in: Option<Duration>) -> Result<()> {
        self.set_limit_with(rule, key, limit, expires_in, CheckOptions::new())
    }

    /// [`set_limit`](Self::set_limit) that takes [`timeout`](CheckOptions::timeout) at most.
    ///
    /// # Errors
    /// As [`set_limit`](Self::set_limit).
    pub async fn set_limit_with(
        &self,
        rule: &str,
        key: &str,
        limit: u64,
        expires_in: Option<Duration>,
        options: CheckOptions<'_>,
    ) -> Result<()> {
        self.change(&Check::new(rule, key).with(options), KeyRecordChange::SetLimit(limit, expires_in.map(span)))
    }

    /// Forgets the limit that is stored for `key` under `rule`. Whether there was one.
    ///
    /// # Errors
    /// As [`check`](Self::check); `InvalidArgument` for a rule without `overrides`.
    pub async fn clear_limit(&self, rule: &str, key: &str) -> Result<bool> {
        self.clear_limit_with(rule, key, CheckOptions::new())
    }

    /// [`clear_limit`](Self::clear_limit) that takes [`timeout`](CheckOptions::timeout) at most.
    ///
    /// # Errors
    /// As [`clear_limit`](Self::clear_limit).
    pub async fn clear_limit_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<bool> {
        self.change_key_record(&Check::new(rule, key).with(options), KeyRecordChange::ClearLimit)
    }
}

impl MemoryCalls<'_> {
    pub(super) fn change_key_record(self, check: &Check<'_>, by_hand: KeyRecordChange) -> Result<bool> {
        self.memory.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        let plan = planned(&catalog, check, by_hand)?;
        let took_effect = self.memory.change(&plan, plan.items[0].rule.shared_change(by_hand));
        self.shared.freed(check);
        Ok(took_effect)
    }
}

impl<D: Driver> ServerCalls<'_, D> {
    pub(super) async fn change_key_record(self, check: &Check<'_>, by_hand: KeyRecordChange) -> Result<bool> {
        self.server.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        let plan = planned(&catalog, check, by_hand)?;
        let _watch = self.shared.watch(&plan, Op::Refund, false);
        let by_hand = plan.items[0].rule.shared_change(by_hand);
        let call = change(&plan, &self.shared.wire, by_hand, self.shared.now()).ok_or_else(unanswered)?;
        let keys = call.keys.clone();
        let server = self.servers.at(self.shared.wire.region_of_call(&plan));
        let reply = server.call(call, server.deadline(plan.timeout)).await;
        let took_effect = changed(&reply.map_err(|error| located_by_hand(error, &plan, keys))?)?;
        self.shared.freed(check);
        Ok(took_effect)
    }
}
