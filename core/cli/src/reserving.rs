//! `reserve`, and `commit`, `release` and `renew` of what it answered.

use std::io::Write;
use std::time::Duration;

use clap::Args as ClapArgs;
use serde_json::json;
use sluicegate::Usage;

use super::backend::BackendArgs;
use super::one::One;
use super::outcome::{CommandError, ExitStatus};
use super::run::{options, show};
use super::show::json_line;
use super::source::RulesArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct ReserveArgs {
    #[command(flatten)]
    one: One,
    /// The longest time to wait for room, such as 500ms or 1m
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = humantime::parse_duration)]
    wait: Duration,
}

/// One reservation.
#[derive(Debug, ClapArgs)]
pub(crate) struct ReservedArgs {
    #[command(flatten)]
    rules: RulesArgs,
    /// Id that reserve printed
    id: String,
    #[command(flatten)]
    backend: BackendArgs,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CommitArgs {
    #[command(flatten)]
    reserved: ReservedArgs,
    /// How much was really used; 0: nothing [default: as much as was reserved]
    #[arg(long)]
    cost: Option<u64>,
}

pub(crate) fn reserve(args: &ReserveArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let one = &args.one;
    let limiter = one.backend.server("reserve", one.rules.load()?)?;
    let reservation = limiter.reserve_within(&one.rule, &one.key, options(one), args.wait)?;
    show(one).reservation(out, &reservation)?;
    Ok(ExitStatus::of(reservation.allowed))
}

pub(crate) fn commit(args: &CommitArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    end(&args.reserved, End::Commit(args.cost.map_or(Usage::AsReserved, Usage::Cost)), out)
}

pub(crate) fn release(args: &ReservedArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    end(args, End::Release, out)
}

pub(crate) fn renew(args: &ReservedArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    end(args, End::Renew, out)
}

/// How a reservation is ended, or kept alive.
#[derive(Clone, Copy)]
enum End<'a> {
    Commit(Usage<'a>),
    Release,
    Renew,
}

fn end(args: &ReservedArgs, end: End<'_>, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let (command, done) = match end {
        End::Commit(_) => ("commit", "committed"),
        End::Release => ("release", "released"),
        End::Renew => ("renew", "renewed"),
    };
    let limiter = args.backend.server(command, args.rules.load()?)?;
    let took_effect = match end {
        End::Commit(usage) => limiter.commit(args.id.as_str(), usage),
        End::Release => limiter.release(args.id.as_str()),
        End::Renew => limiter.renew(args.id.as_str()),
    }?;
    if args.json {
        writeln!(out, "{}", json_line(&json!({ done: took_effect })))?;
    } else if took_effect {
        writeln!(out, "{done}")?;
    } else {
        writeln!(out, "not {done}: the reservation has ended or expired")?;
    }
    Ok(ExitStatus::of(took_effect))
}
