//! How the limiter for event loops makes its calls: at once, or in one batch per iteration of the loop.

use std::mem::{replace, take};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBool;
use sluicegate::bridge::{Answer, Bridge, Completion, Item, KeyRecordChange, Kind, OwnedCall};

use crate::arguments::{Given, Key, Object, Optional, requested};
use crate::decision::Decision;
use crate::errors::{self, exception};
use crate::home_loop::HomeLoop;
use crate::reserved::Reserved;

pub(crate) struct Calls {
    pub(crate) bridge: Bridge,
    pub(crate) home: HomeLoop,
    batch: Mutex<Batch>,
}

/// The token of a call, and its answer or its error.
pub(crate) type Answered<'py> = (u64, Option<Object<'py>>, Option<Object<'py>>);

/// The calls with their tokens that this iteration of the loop has made and that are not submitted yet.
struct Batch {
    calls: Vec<(u64, OwnedCall)>,
    last_token: u64,
    closed: bool,
}

impl Calls {
    pub(crate) fn new(bridge: Bridge, home: HomeLoop) -> Self {
        let batch = Batch { calls: Vec::new(), last_token: Bridge::OPENED, closed: false };
        Self { bridge, home, batch: Mutex::new(batch) }
    }

    /// It is there as soon as `connect` was awaited.
    pub(crate) fn limiter(&self, py: Python<'_>) -> PyResult<&sluicegate::AsyncRateLimiter> {
        self.bridge.limiter().ok_or_else(|| errors::closed(py))
    }

    pub(crate) fn single<'py>(
        &self,
        py: Python<'py>,
        kind: Kind,
        check: &sluicegate::Check<'_>,
    ) -> PyResult<Object<'py>> {
        match self.bridge.single_at_once(kind, check, |raw| Decision::of(py, raw)) {
            Some(made) => {
                Ok(made.map_err(|error| exception(py, &error))?.map_err(|error| *error)?.into_any())
            }
            None => self.token(py, OwnedCall::Single(kind, Item::from(check))),
        }
    }

    /// Changes a block or a stored limit of one key.
    pub(crate) fn change_key_record<'py>(
        &self,
        rule: &Object<'py>,
        key: &Key<'_>,
        change: KeyRecordChange,
        timeout: Optional<'_>,
    ) -> PyResult<Object<'py>> {
        let check = requested(rule, key, &Given(None), None, None, timeout, None)?;
        self.call(rule.py(), OwnedCall::ChangeKeyRecord(Item::from(&check), change))
    }

    pub(crate) fn call<'py>(&self, py: Python<'py>, call: OwnedCall) -> PyResult<Object<'py>> {
        match self.bridge.at_once(&call) {
            Some(result) => answer(py, result),
            None => self.token(py, call),
        }
    }

    #[inline(always)]
    fn token<'py>(&self, py: Python<'py>, call: OwnedCall) -> PyResult<Object<'py>> {
        Ok(self.submit(py, call)?.into_pyobject(py)?.into_any())
    }

    /// Adds a call to the batch, which is sent at once if nothing else is under way that the call could be pipelined
    /// with. Returns its token.
    pub(crate) fn submit(&self, py: Python<'_>, call: OwnedCall) -> PyResult<u64> {
        if let Err(elsewhere) = self.home.ensure_runs(py) {
            return Err(if self.is_closed() { errors::closed(py) } else { elsewhere });
        }
        let mut batch = self.batch();
        if batch.closed {
            drop(batch);
            return Err(errors::closed(py));
        }
        batch.last_token += 1;
        let token = batch.last_token;
        batch.calls.push((token, call));
        let is_first = batch.calls.len() == 1;
        drop(batch);
        if is_first && self.bridge.is_socket_idle() {
            self.send(py)?;
        }
        Ok(token)
    }

    /// Sends the batch.
    pub(crate) fn send(&self, py: Python<'_>) -> PyResult<()> {
        let calls = take(&mut self.batch().calls);
        self.bridge.submit(calls).map_err(|error| exception(py, &error))
    }

    pub(crate) fn drain<'py>(&self, py: Python<'py>) -> Vec<Answered<'py>> {
        let answered = |completion: Completion| match answer(py, completion.result) {
            Ok(answer) => (completion.token, Some(answer), None),
            Err(error) => (completion.token, None, Some(error.into_value(py).into_bound(py).into_any())),
        };
        self.bridge.drain().into_iter().map(answered).collect()
    }

    /// Takes a call back, or ends it if it was sent already. Returns whether there will be no answer.
    pub(crate) fn give_up(&self, token: u64) -> bool {
        let mut batch = self.batch();
        if let Some(place) = batch.calls.iter().position(|(queued, _)| *queued == token) {
            batch.calls.remove(place);
            return true;
        }
        drop(batch);
        self.bridge.cancel(token)
    }

    /// Allows no more calls. Returns whether they were allowed.
    pub(crate) fn shut(&self) -> bool {
        !replace(&mut self.batch().closed, true)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.batch().closed
    }

    /// Never held while Python runs.
    fn batch(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer(py: Python<'_>, result: sluicegate::Result<Answer>) -> PyResult<Object<'_>> {
    match result {
        Ok(Answer::Decision(decision)) => Ok(Bound::new(py, Decision::from(decision))?.into_any()),
        Ok(Answer::Reserved(reserved)) => Ok(Bound::new(py, Reserved::initializer(*reserved))?.into_any()),
        Ok(Answer::Ended(ended)) => Ok(PyBool::new(py, ended).to_owned().into_any()),
        Ok(Answer::Done) => Ok(py.None().into_bound(py)),
        Err(error) => Err(exception(py, &error)),
    }
}
