//! Limits keys from the command line, and keeps the rules to do so.
//!
//! Exit code: 0 when everything was admitted, 1 when something was denied, 2 on an error.

mod args;
mod asking;
mod charge;
mod lab;
mod manual;
mod outcome;
mod place;
mod rules;
mod run;
mod show;
mod source;
mod stderr;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use outcome::{Failure, Verdict};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        // Help and version.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            stderr::usage(&error.render().ansi().to_string());
            return ExitCode::from(2);
        }
    };
    source::set_tls_files(args.tls.files());
    match carry_out(&args.command, &mut anstream::stdout().lock()) {
        Ok(Verdict::Yes) => ExitCode::SUCCESS,
        Ok(Verdict::No) => ExitCode::from(1),
        // Whoever read the output has seen enough.
        Err(Failure::Output(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Told) => ExitCode::from(2),
        Err(failure) => {
            stderr::complain(failure);
            ExitCode::from(2)
        }
    }
}

fn carry_out(command: &Command, out: &mut impl Write) -> Result<Verdict, Failure> {
    match command {
        Command::Check(check) => run::check(check, out),
        Command::Wait(wait) => run::wait(wait, out),
        Command::Peek(one) => run::peek(one, out),
        Command::Refund(one) => run::refund(one, out),
        Command::Charge(one) => charge::charge(one, out),
        Command::Reset(one) => run::reset(one, out),
        Command::Ping(place) => run::ping(place, out),
        Command::Match(args) => asking::matching(args, out),
        Command::CheckRequest(args) => asking::check(args, out),
        Command::Lab(args) => lab::lab(args, out),
        Command::Rules(command) => rules::carry_out(command, out),
        Command::Completions { shell } => manual::completions(*shell, out),
        Command::Man { folder } => manual::man(folder.as_deref(), out),
    }
}
