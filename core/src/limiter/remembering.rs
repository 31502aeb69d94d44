//! Checks that are denied without a server, by what it said before.

use std::borrow::Cow;

use super::backend::ServerCalls;
use super::driver::Driver;
use super::shared::Shared;
use crate::algorithm::Micros;
use crate::cells::Watch;
use crate::decision::Decision;
use crate::error::Result;
use crate::keys::key::is_canonical;
use crate::plan::{Op, Plan, ruled};
use crate::request::Check;

impl<D: Driver> ServerCalls<'_, D> {
    /// The denial of a check that the server denied before; `None`: the server has to be asked.
    #[inline]
    pub(super) fn remembered(self, check: &Check<'_>, op: Op) -> Result<Option<Decision>> {
        let options = &check.options;
        let Some(denials) =
            self.shared.denials.as_ref().filter(|_| op == Op::Check && options.request_id.is_none())
        else {
            return Ok(None);
        };
        self.server.ensure_open()?;
        let catalog = self.shared.rules.snapshot();
        let rule = ruled(&catalog, check)?;
        if !rule.remembers_denials {
            return Ok(None);
        }
        let is_stored = rule.keeps_keys() && is_canonical(check.key);
        let name = if is_stored { Cow::Borrowed(check.key) } else { catalog.key_name(rule, check.key) };
        let cost = options.cost;
        let Some(raw) = denials.find(rule, &name, (cost, options.limit), || self.shared.own_time()) else {
            return Ok(None);
        };
        let denied = Decision::from(raw);
        rule.counters.decided(&denied, &name, cost);
        Ok(Some(denied))
    }
}

impl Shared {
    /// Watches a call that may change what is remembered, while the server carries it out.
    pub(super) fn watch<'a>(&'a self, plan: &'a Plan<'a>, op: Op) -> Option<Watch<'a>> {
        self.denials.as_ref()?.watch(plan, op, self.own_time())
    }

    /// The time by which denials are remembered: that of a manual clock, else what has passed here.
    fn own_time(&self) -> Micros {
        self.now().unwrap_or_else(|| self.passed() as Micros)
    }
}
