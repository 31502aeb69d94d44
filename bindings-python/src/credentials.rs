//! User and password of new connections, as a function of Python gives them.

use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use sluicegate::bridge::CredentialsReply;
use sluicegate::{Credentials, CredentialsProvider};

use crate::arguments::{Object, wrong_type};

/// Read-locked by a thread that calls Python, and true once the interpreter is about to end.
static IS_OVER: RwLock<bool> = RwLock::new(false);

/// Threads that call Python start another one there, which takes no longer.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// `_credentials.py` runs the function on a thread of Python, which may end with the interpreter.
pub(crate) fn provider(function: &Object<'_>, name: &str) -> PyResult<CredentialsProvider> {
    if !function.is_callable() {
        return Err(wrong_type(name, "a function", function));
    }
    let py = function.py();
    let start = py.import("sluicegate._credentials")?.call_method1("starter", (function,))?.unbind();
    end_with_interpreter(py)?;
    Ok(CredentialsProvider::of(move |reply| ask(&start, reply)))
}

/// No thread of Rust may run Python when the interpreter ends, which would unwind it.
fn end_with_interpreter(py: Python<'_>) -> PyResult<()> {
    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
    if IS_REGISTERED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let end = wrap_pyfunction!(end_asking, py)?;
    py.import("atexit")?.call_method1("register", (end,)).map(drop)
}

#[pyfunction]
fn end_asking(py: Python<'_>) {
    py.detach(|| {
        let by = Instant::now() + LAST_WORDS;
        while Instant::now() < by {
            // A forked child may wait for a thread that it does not have.
            if let Ok(mut is_over) = IS_OVER.try_write() {
                *is_over = true;
                return;
            }
            std::thread::yield_now();
        }
    });
}

/// What is not asked replies by being dropped.
fn ask(start: &Py<PyAny>, reply: CredentialsReply) {
    let Ok(is_over) = IS_OVER.read() else { return };
    if *is_over {
        return;
    }
    Python::try_attach(|py| {
        let started = Py::new(py, Reply(Some(reply))).and_then(|reply| start.call1(py, (reply,)));
        if let Err(error) = started {
            error.write_unraisable(py, None);
        }
    });
}

/// Takes what a function has answered; the first word counts.
#[pyclass(module = "sluicegate._native", name = "_CredentialsReply")]
pub(crate) struct Reply(Option<CredentialsReply>);

#[pymethods]
impl Reply {
    fn give(&mut self, user: Option<String>, password: String) {
        let credentials = match user {
            Some(user) => Credentials::new(user, password),
            None => Credentials::password(password),
        };
        if let Some(reply) = self.0.take() {
            reply.give(Ok::<_, std::convert::Infallible>(credentials));
        }
    }

    fn refuse(&mut self, reason: String) {
        if let Some(reply) = self.0.take() {
            reply.refuse(reason);
        }
    }
}
