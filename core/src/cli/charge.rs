//! `charge`: what was used already.

use std::io::Write;

use super::one::Repeatable;
use super::outcome::{CommandError, ExitStatus};
use super::run::{named, show};

pub(crate) fn charge(args: &Repeatable, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let one = &args.one;
    let limiter = one.backend.server("charge", one.rules.load()?)?;
    let decision = limiter.charge_with(&one.rule, &one.key, named(args))?;
    show(one).charge(out, &decision)?;
    Ok(ExitStatus::Yes)
}
