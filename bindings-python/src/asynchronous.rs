//! The limiter for event loops. Its calls are sent together at the end of each turn of the loop, and
//! answered in bursts; what needs no I/O is answered at once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit, intern};
use sluicegate::bridge::{self, Answer, Ask, Kind};

use crate::arguments::{Given, requested, span};
use crate::calls::Calls;
use crate::check::{self, owned};
use crate::decision::Decision;
use crate::doorbell::Doorbell;
use crate::errors::{self, exception};
use crate::event_loop::{EventLoop, settle};
use crate::options::Options;

/// The most calls in one pipeline. Several pipelines overlap: while the server works on one, the loop
/// takes up the answers of another.
const PIPELINE: usize = 32;

/// What `AsyncRateLimiter` calls. A method answers with its result, or with a future of it.
#[pyclass(module = "sluicegate._native", frozen)]
pub(crate) struct Bridge {
    bridge: bridge::Bridge,
    doorbell: Arc<Doorbell>,
    event_loop: EventLoop,
    calls: Mutex<Calls>,
}

type Object<'py> = Bound<'py, PyAny>;

#[pymethods]
impl Bridge {
    /// Begins to connect, for the running loop. The future says when it is done.
    #[staticmethod]
    fn open<'py>(options: &Bound<'py, Options>) -> PyResult<(Bound<'py, Self>, Object<'py>)> {
        let py = options.py();
        let event_loop = EventLoop::running(py)?;
        let doorbell = Arc::new(Doorbell::new()?);
        let ringer = Arc::clone(&doorbell);
        let bridge = bridge::Bridge::open(options.get().0.clone(), move || ringer.ring())
            .map_err(|error| exception(py, &error))?;
        let opened = event_loop.create_future(py)?;
        let calls = Mutex::new(Calls::opening(opened.clone().unbind()));
        let this = Bound::new(py, Self { bridge, doorbell, event_loop, calls })?;
        let Self { doorbell, event_loop, .. } = this.get();
        doorbell.watch(event_loop.bind(py), &this.getattr(intern!(py, "settle"))?)?;
        Ok((this, opened))
    }

    fn check<'py>(
        slf: &Bound<'py, Self>,
        rule: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        cost: Given<'_>,
        resource: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Object<'py>> {
        Self::single(slf, Kind::Check, &requested(rule, key, &cost, resource, limit)?)
    }

    fn peek<'py>(
        slf: &Bound<'py, Self>,
        rule: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        cost: Given<'_>,
        resource: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Object<'py>> {
        Self::single(slf, Kind::Peek, &requested(rule, key, &cost, resource, limit)?)
    }

    fn refund<'py>(
        slf: &Bound<'py, Self>,
        rule: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        cost: Given<'_>,
        resource: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Object<'py>> {
        Self::single(slf, Kind::Refund, &requested(rule, key, &cost, resource, limit)?)
    }

    fn check_all<'py>(slf: &Bound<'py, Self>, checks: &Object<'py>) -> PyResult<Object<'py>> {
        let items = check::items(checks)?;
        Self::call(slf, Ask::All(items.iter().map(|item| item.get().0.clone()).collect()))
    }

    fn reset<'py>(
        slf: &Bound<'py, Self>,
        rule: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        resource: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Object<'py>> {
        let check = requested(rule, key, &Given(None), resource, None)?;
        Self::call(slf, Ask::Reset(owned(&check)))
    }

    /// The future, and the token to give it up with.
    fn wait<'py>(
        slf: &Bound<'py, Self>,
        rule: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        timeout: &Bound<'_, PyAny>,
        cost: Given<'_>,
        resource: Option<&Bound<'py, PyAny>>,
        limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Object<'py>, u64)> {
        let check = requested(rule, key, &cost, resource, limit)?;
        let timeout = span(timeout, "timeout")?;
        Self::submit(slf, Ask::Wait(owned(&check), timeout))
    }

    fn ping<'py>(slf: &Bound<'py, Self>) -> PyResult<Object<'py>> {
        Self::call(slf, Ask::Ping)
    }

    /// Ends a wait that nobody waits for any longer.
    fn give_up(&self, token: u64) {
        if self.calls().give_up(token) {
            self.bridge.cancel(token);
        }
    }

    /// Closes the limiter; calls under way end with `ClosedError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.event_loop.ensure_running(py)?;
        if !self.calls().close() {
            return Ok(());
        }
        self.bridge.close();
        self.doorbell.unwatch(self.event_loop.bind(py))?;
        self.fail_all(py, || errors::closed(py))
    }

    /// Closes the limiter on behalf of an owner that is gone without having done so, on any thread.
    /// Answers whether there was something to close.
    fn abandon(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let Self { event_loop, bridge, .. } = slf.get();
        if slf.get().calls().state().0 {
            return Ok(false);
        }
        if event_loop.is_closed(py)? {
            bridge.close();
        } else {
            event_loop.call_soon_threadsafe(&slf.getattr(intern!(py, "close"))?)?;
        }
        Ok(true)
    }

    /// Sends the calls of this turn of the loop.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        let mut queue = self.calls().take_queue();
        while !queue.is_empty() {
            let rest = queue.split_off(queue.len().min(PIPELINE));
            // It fails in a forked child: nothing was sent, and nothing will be answered.
            if let Err(error) = self.bridge.submit(queue) {
                return self.fail_all(py, || exception(py, &error));
            }
            queue = rest;
        }
        Ok(())
    }

    /// Ends the futures of all calls that were answered.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        if !self.doorbell.silence()? {
            return Ok(());
        }
        for completion in self.bridge.drain() {
            let future = self.calls().answered(completion.token);
            if let Some(future) = future {
                settle(future.bind(py), answer(py, completion.result))?;
            }
        }
        Ok(())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.event_loop.traverse(visit)?;
        // A thread that is inside keeps all alive anyway.
        if let Ok(calls) = self.calls.try_lock() {
            calls.futures().try_for_each(|future| visit.call(future))?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        let futures = self.calls().clear();
        drop(futures);
    }
}

impl Bridge {
    fn single<'py>(
        slf: &Bound<'py, Self>,
        kind: Kind,
        check: &sluicegate::Check<'_>,
    ) -> PyResult<Object<'py>> {
        match slf.get().bridge.single_at_once(kind, check) {
            Some(result) => answer(slf.py(), result.map(Answer::Decision)),
            None => Ok(Self::submit(slf, Ask::Single(kind, owned(check)))?.0),
        }
    }

    fn call<'py>(slf: &Bound<'py, Self>, ask: Ask) -> PyResult<Object<'py>> {
        match slf.get().bridge.at_once(&ask) {
            Some(result) => answer(slf.py(), result),
            None => Ok(Self::submit(slf, ask)?.0),
        }
    }

    /// Puts a call on the list of this turn.
    fn submit<'py>(slf: &Bound<'py, Self>, ask: Ask) -> PyResult<(Object<'py>, u64)> {
        let py = slf.py();
        let this = slf.get();
        let (closed, first) = this.calls().state();
        if closed {
            return Err(errors::closed(py));
        }
        if first {
            this.event_loop.ensure_running(py)?;
            this.event_loop.call_soon(py, &slf.getattr(intern!(py, "flush"))?)?;
        } else {
            this.event_loop.ensure_thread()?;
        }
        let future = this.event_loop.create_future(py)?;
        let token = this.calls().add(ask, future.clone().unbind());
        Ok((future, token))
    }

    fn fail_all(&self, py: Python<'_>, error: impl Fn() -> PyErr) -> PyResult<()> {
        let futures = self.calls().clear();
        futures.into_iter().try_for_each(|future| settle(future.bind(py), Err(error())))
    }

    /// Never held while Python runs.
    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(py: Python<'_>, result: sluicegate::Result<Answer>) -> PyResult<Object<'_>> {
    match result {
        Ok(Answer::Decision(decision)) => Ok(Bound::new(py, Decision::from(decision))?.into_any()),
        Ok(Answer::Done) => Ok(py.None().into_bound(py)),
        Err(error) => Err(exception(py, &error)),
    }
}
