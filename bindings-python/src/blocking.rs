//! The limiter for threads.

#![expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use sluicegate::bridge::{self, End, Form, Kind, Used};
use sluicegate::{Check, CheckAllOptions};

use crate::arguments::{
    Given, Key, Object, Optional, Resource, flag, optional_id, optional_span, optional_timeout, processes,
    requested, span,
};
use crate::check;
use crate::decision::Decision;
use crate::errors::exception;
use crate::metrics;
use crate::options::Options;
use crate::reservation::Reservation;
use crate::reserved::{Reference, used};
use crate::rules::{data, stated};
use crate::shared::Shared;
use crate::status::RulesStatus;

/// Decides whether a cost is admitted; blocks the calling thread for one round trip.
///
/// Safe to share between threads, which run on while one waits for the server. Opens no connection before
/// the first call, and a forked child opens its own.
#[pyclass(module = "sluicegate", frozen)]
pub(crate) struct RateLimiter {
    pub(crate) shared: Arc<Shared>,
}

#[pymethods]
impl RateLimiter {
    #[new]
    #[pyo3(
        signature = (*arguments, **named),
        text_signature = "(url, *, rules, \
            connect_timeout=1.0, response_timeout=0.5, breaker_failures=5, breaker_probe=0.1, tls_ca=None, \
            tls_cert=None, tls_key=None, replicas=0, replica_timeout=0.005, credentials=None, prefix='sluicegate', \
            fallback='error', instances=1, clock=None, rules_cache=None, identifier_secret=None, max_keys=None, \
            request_id_seconds=60, regions=None, region=None, region_parts=None, share=1.0, lazy=False, \
            remember_denials=0.0, top_denied=0)"
    )]
    fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let py = arguments.py();
        let options = py.get_type::<Options>().call(arguments, named)?;
        let builder = options.cast::<Options>()?.get().0.clone();
        // A source of rules may take its time.
        let limiter = py.detach(|| builder.build()).map_err(|error| exception(py, &error))?;
        Ok(Self { shared: Arc::new(Shared::new(limiter)) })
    }

    /// Admits a cost for `key` under `rule`, or denies it.
    ///
    /// `timeout` is the whole time that the call may take, in seconds; by default `connect_timeout` and
    /// `response_timeout` together. `request_id`, of 1 to 64 bytes, makes the call safe to repeat: later calls with the
    /// same id get the first answer, and charge nothing.
    #[pyo3(
        signature = (rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None, request_id=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None, timeout=None, request_id=None)"
    )]
    fn check<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        request_id: Optional<'_>,
    ) -> PyResult<Bound<'py, Decision>> {
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, request_id)?;
        self.single(rule.py(), Kind::Check, &check)
    }

    /// What `check` would answer now; changes nothing.
    #[pyo3(
        signature = (rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None, timeout=None)"
    )]
    fn peek<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
    ) -> PyResult<Bound<'py, Decision>> {
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, None)?;
        self.single(rule.py(), Kind::Peek, &check)
    }

    /// Gives back a cost that turned out not to be used, the newest first, and answers as `peek` would then.
    #[pyo3(
        signature = (rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None, request_id=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None, timeout=None, request_id=None)"
    )]
    fn refund<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        request_id: Optional<'_>,
    ) -> PyResult<Bound<'py, Decision>> {
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, request_id)?;
        self.single(rule.py(), Kind::Refund, &check)
    }

    /// Counts a cost that was used already, also beyond the limit, and answers as `peek` of 1 would then.
    #[pyo3(
        signature = (rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None, request_id=None),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None, timeout=None, request_id=None)"
    )]
    fn charge<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        request_id: Optional<'_>,
    ) -> PyResult<Bound<'py, Decision>> {
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, request_id)?;
        self.single(rule.py(), Kind::Charge, &check)
    }

    /// Decides several checks together: all of them are charged, or none is. The decision is that of the
    /// deciding check; its `parts` hold one per item. `request_id` is as for `check`, of the call as a whole.
    #[pyo3(signature = (checks, *, request_id=None))]
    fn check_all(&self, checks: &Object<'_>, request_id: Optional<'_>) -> PyResult<Decision> {
        let items = check::items(checks)?;
        let all = check::borrowed(&items);
        let mut options = CheckAllOptions::new();
        options.request_id = optional_id(request_id)?;
        self.shared.decide(checks.py(), |limiter| limiter.check_all_with(&all, options))
    }

    /// Reserves a cost for `key` under `rule`, or denies it: room is held, and nothing is charged until it is committed.
    /// `wait` is how many seconds to wait for room at most, in the order of arrival. With `renewed` the lease is renewed in
    /// the background until the reservation is ended, or forgotten.
    #[pyo3(
        signature = (
            rule, key, *, cost=Given(None), resource=None, limit=None, timeout=None, wait=None, renewed=Given(None)
        ),
        text_signature = "($self, rule, key, *, cost=1, resource=None, limit=None, timeout=None, wait=None, renewed=False)"
    )]
    fn reserve<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        wait: Optional<'_>,
        renewed: Given<'_>,
    ) -> PyResult<Bound<'py, Reservation>> {
        let wait = optional_span(wait, "wait")?;
        let renewed = renewed.or(false, "renewed", flag)?;
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, None)?;
        let held = Reservation::make(rule.py(), &self.shared, |limiter, sleep| {
            bridge::reserve_sleeping(limiter, &[check], Form::Single, wait, sleep)
        })?;
        Reservation::kept(held, renewed)
    }

    /// Reserves several costs together: all of them, or none. Items whose rule has no reservations are charged at
    /// once. `wait` and `renewed` are as for `reserve`.
    #[pyo3(
        signature = (checks, *, wait=None, renewed=Given(None)),
        text_signature = "($self, checks, *, wait=None, renewed=False)"
    )]
    fn reserve_all<'py>(
        &self,
        checks: &Object<'py>,
        wait: Optional<'_>,
        renewed: Given<'_>,
    ) -> PyResult<Bound<'py, Reservation>> {
        let items = check::items(checks)?;
        let all = check::borrowed(&items);
        let wait = optional_span(wait, "wait")?;
        let renewed = renewed.or(false, "renewed", flag)?;
        let held = Reservation::make(checks.py(), &self.shared, |limiter, sleep| {
            bridge::reserve_sleeping(limiter, &all, Form::WithParts, wait, sleep)
        })?;
        Reservation::kept(held, renewed)
    }

    /// Ends a reservation, given by itself or its id, and charges what was really used, also beyond the limit: `cost`, or
    /// as much as was reserved. Of several items the cost of each by its rule, or by its place. Whether it took effect:
    /// not where it had ended, expired or been denied.
    #[pyo3(signature = (reservation, cost=None))]
    fn commit(&self, reservation: &Object<'_>, cost: Optional<'_>) -> PyResult<bool> {
        self.shared.end(reservation.py(), End::Commit, &Reference::of(reservation)?, &used(cost)?)
    }

    /// Ends a reservation, given by itself or its id, of which nothing was used. Whether it took effect.
    fn release(&self, reservation: &Object<'_>) -> PyResult<bool> {
        self.shared.end(reservation.py(), End::Release, &Reference::of(reservation)?, &Used::AsReserved)
    }

    /// Renews the lease of a reservation, given by itself or its id. Answers whether it took effect.
    fn renew(&self, reservation: &Object<'_>) -> PyResult<bool> {
        self.shared.end(reservation.py(), End::Renew, &Reference::of(reservation)?, &Used::AsReserved)
    }

    /// The rules in force, as rule files state them: what is left to its default is left out.
    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        data(py, &self.shared.limiter.rules())
    }

    /// Adds rules of the application to those of the source: JSON text or a list of dict, as rule files state them.
    ///
    /// They stay whatever the source says later, and take effect with the next check; all of them, or none. A source that
    /// comes to hold a rule of the same name is refused as one with a mistake is. Does no I/O. Raises InvalidRuleError when a
    /// rule is not valid, or a rule in force has its name.
    fn add_rules(&self, rules: &Bound<'_, PyAny>) -> PyResult<()> {
        self.shared.limiter.add_rules(&stated(rules)?).map_err(|error| exception(rules.py(), &error))
    }

    /// Changes how many processes share the limits while no server decides, as the option `instances` says at the start.
    ///
    /// For fleets that grow and shrink. Takes effect with the next call that falls back. Does no I/O. Raises
    /// InvalidArgumentError for 0, and for more than 1,000,000.
    fn set_instances(&self, instances: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, count) = (instances.py(), processes(instances, "instances")?);
        self.shared.limiter.set_instances(count).map_err(|error| exception(py, &error))
    }

    /// What the limiter has counted since it was made, as a dict of plain values.
    ///
    /// Decisions by rule and who decided, their cost, errors by kind, how long servers took to answer, the circuit breaker
    /// of each server, the version of the rules, and, where the option `top_denied` asks for them, the keys denied most.
    /// Times are in seconds. Does no I/O.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        metrics::plain(py, &self.shared.limiter.metrics())
    }

    /// `metrics` in the text format of Prometheus (version 0.0.4), without any key. Does no I/O.
    fn prometheus(&self) -> String {
        self.shared.limiter.prometheus()
    }

    /// Which rules are in force, since when, and what was refused of their source.
    fn rules_status(&self) -> RulesStatus {
        RulesStatus(self.shared.limiter.rules_status())
    }

    /// Waits until the cost is admitted, for `timeout` seconds at most. Waits for the same key take turns, in the
    /// order of their arrival. Returns the last decision: a denial as soon as it is known that the wait would be
    /// too long.
    #[pyo3(
        signature = (rule, key, *, timeout, cost=Given(None), resource=None, limit=None),
        text_signature = "($self, rule, key, *, timeout, cost=1, resource=None, limit=None)"
    )]
    fn wait(
        &self,
        rule: &Object<'_>,
        key: Key<'_>,
        timeout: &Object<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
    ) -> PyResult<Decision> {
        let timeout = span(timeout, "timeout")?;
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, None, None)?;
        self.shared.wait(rule.py(), |limiter, sleep| {
            bridge::wait_sleeping(limiter, &[check], Form::Single, timeout, sleep)
        })
    }

    /// Waits until several checks are admitted together, as `check_all` decides them, for `timeout` seconds at most.
    #[pyo3(signature = (checks, *, timeout))]
    fn wait_all(&self, checks: &Object<'_>, timeout: &Object<'_>) -> PyResult<Decision> {
        let items = check::items(checks)?;
        let all = check::borrowed(&items);
        let timeout = span(timeout, "timeout")?;
        self.shared.wait(checks.py(), |limiter, sleep| {
            bridge::wait_sleeping(limiter, &all, Form::WithParts, timeout, sleep)
        })
    }

    /// Tries the server.
    #[pyo3(signature = (*, timeout=None))]
    fn ping(&self, py: Python<'_>, timeout: Optional<'_>) -> PyResult<()> {
        match optional_timeout(timeout)? {
            Some(timeout) => self.shared.call(py, |limiter| limiter.ping_with(timeout)),
            None => self.shared.call(py, sluicegate::RateLimiter::ping),
        }
    }

    /// Closes the connections. Final: later calls, and waits of other threads, raise `ClosedError`.
    /// `match_request` and `rules_status`, which only look at the rules, still answer.
    fn close(&self, py: Python<'_>) {
        // It waits for threads that may be about to ask Python for credentials.
        py.detach(|| self.shared.limiter.close());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }
}

impl RateLimiter {
    /// Decides a single item. In memory the answer is made where it was worked out: to hand it on takes as long as
    /// deciding.
    #[inline]
    fn single<'py>(&self, py: Python<'py>, kind: Kind, check: &Check<'_>) -> PyResult<Bound<'py, Decision>> {
        if !self.shared.is_in_memory {
            let answer = |limiter: &sluicegate::RateLimiter| limiter.decide(kind, check, |raw| raw.into());
            return Bound::new(py, self.shared.decide(py, answer)?);
        }
        let made = self.shared.limiter.decide(kind, check, |raw| Decision::of(py, raw));
        made.map_err(|error| exception(py, &error))?.map_err(|error| *error)
    }
}
