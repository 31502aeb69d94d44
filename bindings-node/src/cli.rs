//! The command-line tool, which the package brings along.

use std::ffi::OsString;

use napi_derive::napi;

/// Runs the command-line tool with these arguments, the first of which is its name; returns the exit code.
#[napi(catch_unwind)]
pub(crate) fn cli(arguments: Vec<String>) -> u32 {
    sluicegate_cli::main(arguments.into_iter().map(OsString::from)).into()
}
