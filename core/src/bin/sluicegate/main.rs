//! Limits keys from the command line, by a file of rules.
//!
//! Exit code: 0 when everything was admitted, 1 when something was denied, 2 on an error.

mod args;
mod asking;
mod run;
mod show;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command, RulesCommand};
use run::{Failure, Verdict};

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = anstream::stdout().lock();
    let result = match &args.command {
        Command::Check(check) => run::check(check, &mut out),
        Command::Peek(one) => run::peek(one, &mut out),
        Command::Refund(one) => run::refund(one, &mut out),
        Command::Reset(one) => run::reset(one, &mut out),
        Command::Match(args) => asking::matching(args, &mut out),
        Command::CheckRequest(args) => asking::check(args, &mut out),
        Command::Rules(RulesCommand::Validate { rules }) => run::validate(rules, &mut out),
    };
    match result {
        Ok(Verdict::Admitted) => ExitCode::SUCCESS,
        Ok(Verdict::Denied) => ExitCode::from(1),
        // Whoever read the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => complain(&failure),
    }
}

fn complain(failure: &Failure) -> ExitCode {
    let (bold, plain) = (show::ERROR.render(), show::ERROR.render_reset());
    // Where nothing can be written, the exit code still tells.
    let _ = writeln!(anstream::AutoStream::auto(io::stderr()), "{bold}error{plain}: {failure}");
    ExitCode::from(2)
}
