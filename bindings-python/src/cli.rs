//! The command-line tool, which the wheel brings along.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command-line tool with these arguments, the first of which is its name; returns the exit code.
#[pyfunction]
pub(crate) fn cli(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| sluicegate_cli::main(arguments))
}
