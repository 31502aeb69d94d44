//! The command-line tool, which the wheel brings along.

use std::ffi::OsString;

use pyo3::prelude::*;
use sluicegate::bridge::log_to;

use crate::logging;

/// Runs the command-line tool with these arguments, the first of which is its name; returns the exit code.
#[pyfunction]
pub(crate) fn cli(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    // The tool has warnings written like the rest of what it says.
    log_to(None);
    let code = py.detach(|| sluicegate_cli::main(arguments));
    logging::resume();
    code
}
