//! What both limiters do about a key: they look at it, forget it, block it and store a limit for it.

use pyo3::prelude::*;
use sluicegate::bridge::{Item, KeyRecordChange, OwnedCall};

use crate::arguments::{Given, Key, Object, Optional, Resource, about_key, block, requested, stored_limit};
use crate::asynchronous::{Bridge, unknown};
use crate::blocking::RateLimiter;
use crate::decision::Decision;

#[pymethods]
impl RateLimiter {
    /// Looks at `key` under every rule; changes nothing. The `parts` of the decision hold, for each rule, what it would
    /// answer to a check of cost 1 now. Rules that limit a resource are left out unless one is given.
    #[pyo3(signature = (key, *, resource=None, timeout=None))]
    fn inspect(&self, key: Key<'_>, resource: Resource<'_>, timeout: Optional<'_>) -> PyResult<Decision> {
        let check = about_key(&key, resource.as_ref(), timeout)?;
        self.shared.decide(key.py(), |limiter| limiter.inspect_with(check.key, check.options))
    }

    /// Forgets what was counted for `key` under every rule, one after the other. Rules that limit a resource are left
    /// out unless one is given.
    #[pyo3(signature = (key, *, resource=None, timeout=None))]
    fn reset_all(&self, key: Key<'_>, resource: Resource<'_>, timeout: Optional<'_>) -> PyResult<()> {
        let check = about_key(&key, resource.as_ref(), timeout)?;
        self.shared.call(key.py(), |limiter| limiter.reset_all_with(check.key, check.options))
    }

    /// Forgets what was counted for `key` under `rule`, and nothing else.
    #[pyo3(signature = (rule, key, *, resource=None, timeout=None))]
    fn reset(
        &self,
        rule: &Object<'_>,
        key: Key<'_>,
        resource: Resource<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<()> {
        let check = requested(rule, &key, &Given(None), resource.as_ref(), None, timeout, None)?;
        self.shared.call(rule.py(), |limiter| limiter.reset_with(check.rule, check.key, check.options))
    }

    /// Blocks `key` under `rule` for so many seconds from now: every check of it is denied and counts nothing.
    #[pyo3(signature = (rule, key, seconds, *, timeout=None))]
    fn block(
        &self,
        rule: &Object<'_>,
        key: Key<'_>,
        seconds: &Object<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<()> {
        self.shared.change_key_record(rule, &key, block(seconds)?, timeout).map(drop)
    }

    /// Ends the block of `key` under `rule`. Answers whether there was one.
    #[pyo3(signature = (rule, key, *, timeout=None))]
    fn unblock(&self, rule: &Object<'_>, key: Key<'_>, timeout: Optional<'_>) -> PyResult<bool> {
        self.shared.change_key_record(rule, &key, KeyRecordChange::Unblock, timeout)
    }

    /// Stores a limit for `key` under `rule`, which every process uses from its next check on: for `expires_in` seconds,
    /// or until it is cleared. The `limit` of a call still comes first.
    #[pyo3(signature = (rule, key, limit, expires_in=None, *, timeout=None))]
    fn set_limit(
        &self,
        rule: &Object<'_>,
        key: Key<'_>,
        limit: &Object<'_>,
        expires_in: Optional<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<()> {
        self.shared.change_key_record(rule, &key, stored_limit(limit, expires_in)?, timeout).map(drop)
    }

    /// Forgets the limit that is stored for `key` under `rule`. Answers whether there was one.
    #[pyo3(signature = (rule, key, *, timeout=None))]
    fn clear_limit(&self, rule: &Object<'_>, key: Key<'_>, timeout: Optional<'_>) -> PyResult<bool> {
        self.shared.change_key_record(rule, &key, KeyRecordChange::ClearLimit, timeout)
    }
}

#[pymethods]
impl Bridge {
    fn inspect<'py>(
        &self,
        key: Key<'py>,
        resource: Resource<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        self.calls
            .call(key.py(), OwnedCall::Inspect(Item::from(&about_key(&key, resource.as_ref(), timeout)?)))
    }

    fn reset_all<'py>(
        &self,
        key: Key<'py>,
        resource: Resource<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        self.calls
            .call(key.py(), OwnedCall::ResetAll(Item::from(&about_key(&key, resource.as_ref(), timeout)?)))
    }

    fn reset<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'py>,
        resource: Resource<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let check = requested(rule, &key, &Given(None), resource.as_ref(), None, timeout, None)?;
        self.calls.call(rule.py(), OwnedCall::Reset(Item::from(&check)))
    }

    fn block<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'py>,
        seconds: &Object<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        self.calls.change_key_record(rule, &key, block(seconds)?, timeout)
    }

    /// Any call about a block or a stored limit that says no more than the name of its method.
    fn change<'py>(
        &self,
        method: &str,
        rule: &Object<'py>,
        key: Key<'py>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let change = KeyRecordChange::PLAIN.into_iter().find(|change| change.name() == method);
        self.calls.change_key_record(rule, &key, change.ok_or_else(|| unknown(method))?, timeout)
    }

    fn set_limit<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'py>,
        limit: &Object<'_>,
        expires_in: Optional<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        self.calls.change_key_record(rule, &key, stored_limit(limit, expires_in)?, timeout)
    }
}
