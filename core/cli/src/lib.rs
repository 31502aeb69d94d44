//! The command-line tool: limits keys, and reads and changes rules where they are kept.
//!
//! A function, so that the packages of every language bring the tool with the library.

mod args;
mod asking;
mod backend;
mod doctor;
mod key_record;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "manual")]
mod manual;
mod one;
mod outcome;
mod overview;
mod remembering;
mod reserving;
mod rules;
mod run;
mod show;
mod source;
mod stderr;
mod top;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};

use args::{Args, Command};
use clap::Parser;
use outcome::{CommandError, ExitStatus};

/// The exit code of everything that went wrong.
const ERROR: u8 = 2;

/// Runs the tool with these arguments, the first of which is the name of the program, and returns its exit
/// code: 0 when everything was admitted, 1 when something was denied, 2 on an error.
pub fn main(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    stderr::set_arguments(&args);
    let code = match Args::try_parse_from(args) {
        Ok(args) => run(&args),
        Err(error) if error.use_stderr() => {
            stderr::usage(&error.render().ansi().to_string());
            ERROR
        }
        // Help and version. A reader that closes the pipe has seen enough.
        Err(error) => {
            let _ = error.print();
            0
        }
    };
    // A host that is not written in Rust ends without flushing it.
    let _ = std::io::stdout().flush();
    code
}

fn run(args: &Args) -> u8 {
    source::set_tls_files(args.tls.files());
    match carry_out(&args.command, &mut anstream::stdout().lock()) {
        Ok(ExitStatus::Yes) => 0,
        Ok(ExitStatus::No) => 1,
        // The reader closed the pipe: it has seen enough.
        Err(CommandError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => 0,
        Err(CommandError::Reported) => ERROR,
        Err(failure) => {
            stderr::complain(failure);
            ERROR
        }
    }
}

fn carry_out(command: &Command, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    match command {
        Command::Check(check) => run::check(check, out),
        Command::Wait(wait) => run::wait(wait, out),
        Command::Peek(one) => run::peek(one, out),
        Command::Refund(one) => run::refund(one, out),
        Command::Charge(one) => run::charge(one, out),
        Command::Reserve(args) => reserving::reserve(args, out),
        Command::Commit(args) => reserving::commit(args, out),
        Command::Release(args) => reserving::release(args, out),
        Command::Renew(args) => reserving::renew(args, out),
        Command::Block(args) => key_record::block(args, out),
        Command::Unblock(subject) => key_record::unblock(subject, out),
        Command::Limit(command) => key_record::limit(command, out),
        Command::Reset(one) => run::reset(one, out),
        Command::Inspect(key) => overview::inspect(key, out),
        Command::ResetAll(key) => overview::reset_all(key, out),
        Command::Ping(backend) => run::ping(backend, out),
        Command::Doctor(args) => doctor::doctor(args, out),
        Command::Top(args) => top::top(args, out),
        Command::Match(args) => asking::matching(args, out),
        Command::CheckRequest(args) => asking::check(args, out),
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::lab(args, out),
        Command::Rules(command) => rules::carry_out(command, out),
        #[cfg(feature = "manual")]
        Command::Completions { shell } => manual::completions(*shell, out),
        #[cfg(feature = "manual")]
        Command::Man { folder } => manual::man(folder.as_deref(), out),
    }
}
