//! The command-line tool.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sluicegate_cli::main(std::env::args_os()))
}
