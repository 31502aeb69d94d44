//! The limiter for event loops. Its calls are sent together at the end of each iteration of the loop, and
//! answered in bursts; what needs no I/O is answered at once.
//!
//! Nothing here calls Python code. Before 3.14 the end of the interpreter unwinds every daemon thread that
//! runs Python; a native frame below that, which cannot be unwound, would abort the process.

#![expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sluicegate::bridge::{self, End, Item, Kind, OwnedCall};

use crate::arguments::{
    Given, Key, Object, Optional, Resource, optional_id, optional_span, optional_timeout, processes,
    requested, span,
};
use crate::calls::{Answered, Calls};
use crate::check;
use crate::doorbell::Doorbell;
use crate::errors::{self, exception};
use crate::home_loop::HomeLoop;
use crate::metrics;
use crate::options::Options;
use crate::reserved::{Reference, used};
use crate::rules::{data, stated};
use crate::status::RulesStatus;

/// What `AsyncRateLimiter` calls. A method answers with its result, or with the token of a call that is sent
/// by the next `flush` at the latest and answered by some later `drain`.
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct Bridge {
    pub(crate) calls: Calls,
    doorbell: Arc<Doorbell>,
}

#[pymethods]
impl Bridge {
    /// The token of an answer that nobody asked for: whether the limiter is connected.
    #[classattr]
    const OPENED: u64 = bridge::Bridge::OPENED;

    /// Begins to connect, for the event loop that runs.
    #[staticmethod]
    fn open(options: &Bound<'_, Options>) -> PyResult<Self> {
        let home = HomeLoop::of_now(options.py())?;
        let doorbell = Arc::new(Doorbell::new()?);
        let ringer = Arc::clone(&doorbell);
        let bridge = bridge::Bridge::open(options.get().0.clone(), move || ringer.ring())
            .map_err(|error| exception(options.py(), &error))?;
        Ok(Self { calls: Calls::new(bridge, home), doorbell })
    }

    fn check<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'py>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        request_id: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, request_id)?;
        self.calls.single(rule.py(), Kind::Check, &check)
    }

    /// Any call about a single item, by the name of its method.
    fn decide<'py>(
        &self,
        method: &str,
        rule: &Object<'py>,
        key: Key<'py>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        request_id: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == method).ok_or_else(|| unknown(method))?;
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, request_id)?;
        self.calls.single(rule.py(), kind, &check)
    }

    fn check_all<'py>(&self, checks: &Object<'py>, request_id: Optional<'_>) -> PyResult<Object<'py>> {
        let items = check::owned(checks)?;
        self.calls.call(checks.py(), OwnedCall::All(items, optional_id(request_id)?.map(str::to_owned)))
    }

    fn reserve<'py>(
        &self,
        rule: &Object<'py>,
        key: Key<'py>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
        timeout: Optional<'_>,
        wait: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let wait = optional_span(wait, "wait")?;
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, timeout, None)?;
        self.calls.call(rule.py(), OwnedCall::Reserve(Item::from(&check), wait))
    }

    fn reserve_all<'py>(&self, checks: &Object<'py>, wait: Optional<'_>) -> PyResult<Object<'py>> {
        let items = check::owned(checks)?;
        self.calls.call(checks.py(), OwnedCall::ReserveAll(items, optional_span(wait, "wait")?))
    }

    /// Ends or renews a reservation, by the name of the method.
    fn end<'py>(&self, method: &str, reservation: &Object<'py>, cost: Optional<'_>) -> PyResult<Object<'py>> {
        let end = match method {
            "commit" => End::Commit,
            "release" => End::Release,
            _ => End::Renew,
        };
        let (reference, used) = (Reference::of(reservation)?, used(cost)?);
        let id = reference.id_to(end).map(str::to_owned);
        self.calls.call(reservation.py(), OwnedCall::End(end, id, used))
    }

    fn rules<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        data(py, &self.calls.limiter(py)?.rules())
    }

    fn add_rules(&self, rules: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, added) = (rules.py(), stated(rules)?);
        self.calls.limiter(py)?.add_rules(&added).map_err(|error| exception(py, &error))
    }

    fn set_instances(&self, instances: &Bound<'_, PyAny>) -> PyResult<()> {
        let (py, count) = (instances.py(), processes(instances, "instances")?);
        self.calls.limiter(py)?.set_instances(count).map_err(|error| exception(py, &error))
    }

    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Object<'py>> {
        metrics::plain(py, &self.calls.limiter(py)?.metrics())
    }

    fn prometheus(&self, py: Python<'_>) -> PyResult<String> {
        self.calls.limiter(py).map(sluicegate::AsyncRateLimiter::prometheus)
    }

    fn rules_status(&self, py: Python<'_>) -> PyResult<RulesStatus> {
        self.calls.limiter(py).map(|limiter| RulesStatus(limiter.rules_status()))
    }

    fn wait(
        &self,
        rule: &Object<'_>,
        key: Key<'_>,
        timeout: &Object<'_>,
        cost: Given<'_>,
        resource: Resource<'_>,
        limit: Optional<'_>,
    ) -> PyResult<u64> {
        let timeout = span(timeout, "timeout")?;
        let check = requested(rule, &key, &cost, resource.as_ref(), limit, None, None)?;
        self.calls.submit(rule.py(), OwnedCall::Wait(Item::from(&check), timeout))
    }

    fn wait_all(&self, checks: &Object<'_>, timeout: &Object<'_>) -> PyResult<u64> {
        let items = check::owned(checks)?;
        self.calls.submit(checks.py(), OwnedCall::WaitAll(items, span(timeout, "timeout")?))
    }

    fn ping<'py>(&self, py: Python<'py>, timeout: Optional<'_>) -> PyResult<Object<'py>> {
        self.calls.call(py, OwnedCall::Ping(optional_timeout(timeout)?))
    }

    /// Sends the calls of this iteration of the loop, and answers as `drain` does. It fails in a forked child: nothing
    /// was sent then, and nothing will be answered.
    fn flush<'py>(&self, py: Python<'py>) -> PyResult<Vec<Answered<'py>>> {
        self.calls.send(py)?;
        py.detach(|| self.calls.bridge.spin());
        Ok(self.drain(py))
    }

    /// Fails while another event loop runs than that of the limiter, or none.
    fn ensure_at_home(&self, py: Python<'_>) -> PyResult<()> {
        self.calls.home.ensure_runs(py)
    }

    /// Whether there are answers to fetch by `drain`.
    #[getter]
    fn has_answers(&self) -> bool {
        self.calls.bridge.has_answers()
    }

    /// All answers that have come, each with its token: the result, or the error.
    fn drain<'py>(&self, py: Python<'py>) -> Vec<Answered<'py>> {
        self.calls.drain(py)
    }

    /// A socket that the loop has to watch from now on.
    fn new_socket(&self) -> Option<i32> {
        self.calls.bridge.new_socket()
    }

    /// Whether the socket should no longer be watched.
    #[getter]
    fn is_socket_over(&self) -> bool {
        self.calls.bridge.is_socket_over()
    }

    /// Closes the socket, which is not watched any more. Waits for the thread of a closed limiter, which needs no Python.
    fn end_socket(&self, py: Python<'_>) {
        py.detach(|| self.calls.bridge.end_socket());
    }

    /// Whether `expire` is to be called sooner than it last asked for.
    #[getter]
    fn is_hurried(&self) -> bool {
        self.calls.bridge.is_hurried()
    }

    /// Reads from the socket, and answers as `drain` does.
    fn read_socket<'py>(&self, py: Python<'py>) -> Vec<Answered<'py>> {
        self.calls.bridge.read_socket();
        self.drain(py)
    }

    /// Ends calls whose time is up. Answers in how many seconds to look again, or `None` if none are under way.
    fn expire(&self) -> Option<f64> {
        self.calls.bridge.expire().map(|left| left.as_secs_f64())
    }

    /// Takes a call back that was not sent yet; ends a wait, which would consume its cost after all.
    /// Answers whether there will be no answer.
    fn give_up(&self, token: u64) -> bool {
        self.calls.give_up(token)
    }

    /// Allows no more calls. Answers what those under way end with, or `None` if none were allowed.
    fn shut<'py>(&self, py: Python<'py>) -> Option<Object<'py>> {
        self.calls.shut().then(|| errors::closed(py).into_value(py).into_bound(py).into_any())
    }

    /// Whether the server has yet to release what calls had reserved that were given up.
    #[getter]
    fn is_releasing(&self) -> bool {
        self.calls.bridge.is_releasing()
    }

    /// Closes the limiter, which allows no more calls.
    fn close(&self, py: Python<'_>) {
        // It waits for threads that may be about to ask Python for credentials.
        py.detach(|| self.calls.bridge.close());
        // The listeners have to learn of it.
        self.doorbell.ring();
    }

    #[getter]
    fn closed(&self) -> bool {
        self.calls.is_closed()
    }

    /// The file to watch: readable when there are answers. None where there is nothing to be watched, once it is closed, and
    /// in a forked child, where the file is still that of the parent.
    #[getter]
    fn doorbell(&self) -> Option<i32> {
        self.doorbell.descriptor()
    }

    /// Closes the doorbell of a closed limiter, which is not watched any more.
    fn end_doorbell(&self) {
        self.doorbell.close();
    }

    /// Makes the doorbell unreadable again. Answers whether it rang for this process.
    fn silence(&self) -> PyResult<bool> {
        let mine = self.doorbell.is_mine();
        if mine {
            self.doorbell.silence()?;
        }
        Ok(mine)
    }

    /// For a thread instead of a watched file: waits for the doorbell. Answers false once the limiter is closed.
    fn listen(&self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| self.doorbell.silence())?;
        Ok(!self.closed())
    }
}

/// The error for a name of a method that there is not.
pub(crate) fn unknown(method: &str) -> PyErr {
    PyValueError::new_err(format!("no method is called {method}"))
}
