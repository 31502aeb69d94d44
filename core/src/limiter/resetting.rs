//! One key under one rule forgotten; under every rule, looked at or forgotten.

use super::backend::{Limiter, MemoryCalls, ServerCalls, awaited};
use super::both::both_limiters;
use super::driver::Driver;
use crate::catalog::Catalog;
use crate::decision::Decision;
use crate::error::Result;
use crate::plan::{Op, Plan};
use crate::redis::CallDeadline;
use crate::request::{Check, CheckOptions};
use crate::sequence::{Reset, lent_names, located_by_hand, reset};

both_limiters! {
    /// Forgets what was counted for `key` under `rule`, and nothing else.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn reset(&self, rule: &str, key: &str) -> Result<()> {
        self.forget(&Check::new(rule, key))
    }

    /// [`reset`](Self::reset) for a rule that limits a resource: the key's use of it is forgotten. What the
    /// resource was used in all is kept, since other keys have a part in it; a rule that counts nothing
    /// else forgets that. Cost and limit say nothing to a reset.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn reset_with(&self, rule: &str, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.forget(&Check::new(rule, key).with(options))
    }

    /// Looks at `key` under every rule: what each of them would answer to a check of cost 1 now. Changes nothing.
    ///
    /// `parts` holds one decision per rule, in the order of the rules; the decision itself is that of
    /// [`check_all`](Self::check_all). A rule that limits a resource is left out, unless
    /// [`inspect_with`](Self::inspect_with) names one. Where no rule is left,
    /// [`rule_applied`](Decision::rule_applied) is false. On a Redis Cluster each hash slot is looked at by itself.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn inspect(&self, key: &str) -> Result<Decision> {
        self.look_at(key, CheckOptions::new())
    }

    /// [`inspect`](Self::inspect) of rules that limit a resource, too: of the key's use of this one. Cost and limit say
    /// nothing.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub async fn inspect_with(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        self.look_at(key, options)
    }

    /// Forgets what was counted for `key` under every rule, one rule after the other. A rule that limits a resource is
    /// left out, unless [`reset_all_with`](Self::reset_all_with) names one.
    ///
    /// # Errors
    /// As [`reset`](Self::reset); then some rules may have forgotten the key, and others not.
    pub async fn reset_all(&self, key: &str) -> Result<()> {
        self.forget_all(key, CheckOptions::new())
    }

    /// [`reset_all`](Self::reset_all) of rules that limit a resource, too: of the key's use of this one, as
    /// [`reset_with`](Self::reset_with). Cost and limit say nothing.
    ///
    /// # Errors
    /// As [`reset_all`](Self::reset_all).
    pub async fn reset_all_with(&self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.forget_all(key, options)
    }
}

impl<D: Driver> Limiter<D> {
    /// Looks at a key under every rule, each by itself.
    pub(super) async fn look_at(&self, key: &str, options: CheckOptions<'_>) -> Result<Decision> {
        let catalog = self.catalog();
        let checks = catalog.checks_of(key, options);
        if checks.is_empty() {
            return self.unruled();
        }
        awaited!(self, together(&catalog, &checks, Op::Peek, None))
    }
}

impl MemoryCalls<'_> {
    pub(super) fn forget(self, check: &Check<'_>) -> Result<()> {
        self.memory.ensure_open()?;
        self.forget_by(&self.shared.rules.snapshot(), check)
    }

    pub(super) fn forget_all(self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.memory.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        catalog.checks_of(key, options).iter().try_for_each(|check| self.forget_by(&catalog, check))
    }

    fn forget_by(self, catalog: &Catalog, check: &Check<'_>) -> Result<()> {
        self.memory.reset(&Plan::new(catalog, &[*check], Op::Peek)?);
        self.shared.freed(check);
        Ok(())
    }
}

impl<D: Driver> ServerCalls<'_, D> {
    pub(super) async fn forget(self, check: &Check<'_>) -> Result<()> {
        self.server.ensure_open()?;
        self.forget_by(&self.shared.rules.snapshot(), check, &mut None).await
    }

    /// All rules share the time of the call.
    pub(super) async fn forget_all(self, key: &str, options: CheckOptions<'_>) -> Result<()> {
        self.server.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        let mut deadline = None;
        for check in catalog.checks_of(key, options) {
            self.forget_by(&catalog, &check, &mut deadline).await?;
        }
        Ok(())
    }

    async fn forget_by(
        self,
        catalog: &Catalog,
        check: &Check<'_>,
        deadline: &mut Option<CallDeadline>,
    ) -> Result<()> {
        let plan = Plan::new(catalog, &[*check], Op::Peek)?;
        let deadline = *deadline.get_or_insert_with(|| self.server.deadline(plan.timeout));
        let _watch = self.shared.watch(&plan, Op::Refund, false);
        self.shared.cells.drop_lent(&plan);
        let reset = reset(&plan, &self.shared.wire, self.shared.now());
        let keys = reset.keys();
        let region = self.shared.wire.region_of_call(&plan);
        let server = self.servers.at(region);
        let mut done = match reset {
            Reset::Delete(names) => server.delete(&names, deadline).await,
            Reset::Forget(call) => server.call(call, deadline).await.map(drop),
        };
        if done.is_ok() && region.is_some() {
            // What other regions were lent of it they may spend.
            done = self.server.delete(&lent_names(&plan, &self.shared.wire), deadline).await;
        }
        done.map_err(|error| located_by_hand(error, &plan, keys))?;
        self.shared.freed(check);
        Ok(())
    }
}
