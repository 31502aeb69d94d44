//! What a check costs. `cargo run --release -p sluicegate-benchmarks -- --help` names the parts.
//!
//! Everything that is compared runs in one process run, round by round in turn, so that a busy machine slows
//! both sides of a ratio. Tables go to standard output as Markdown.

mod client;
mod coalescing;
mod denied;
mod failover;
mod holding;
mod in_memory;
mod lab;
mod leases;
mod longest;
mod machine;
mod matching;
mod memory;
mod options;
mod recording;
mod regions;
mod samples;
mod server;
mod table;
mod tap;
mod time;
mod tracked;
mod traffic;
mod usage;
mod way;

use std::error::Error;
use std::process::ExitCode;

use options::{Options, Part};

/// What can go wrong here is for a person to read.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    if args.nth(1).is_some_and(|first| first == traffic::TOOL) {
        return sluicegate_cli::main(std::iter::once("sluicegate".into()).chain(args)).into();
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benchmarks: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let Some(options) = Options::read(std::env::args().skip(1))? else {
        println!("{}", options::USAGE);
        return Ok(());
    };
    machine::describe(&options)?;
    for part in &options.parts {
        match part {
            Part::Server => server::run(&options)?,
            Part::Memory => memory::run(&options)?,
            Part::Client => client::run(&options)?,
            Part::InMemory => in_memory::run(&options)?,
            Part::Matching => matching::run(&options)?,
            Part::Usage => {
                usage::run(&options)?;
                holding::run(&options)?;
            }
            Part::Tls => way::tls(&options)?,
            Part::Cluster => way::cluster(&options)?,
            Part::Silent => way::silent(&options)?,
            Part::Longest => longest::run(&options)?,
            Part::Regions => regions::run(&options)?,
            Part::Coalescing => coalescing::run(&options)?,
            Part::Denied => {
                denied::run(&options)?;
                tracked::run(&options)?;
            }
            Part::Leases => leases::run(&options)?,
            Part::Failover => failover::run(&options)?,
            Part::Lab => traffic::run(&options)?,
        }
    }
    Ok(())
}
