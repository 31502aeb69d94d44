//! `charge`: what was used already.

use std::io::Write;

use super::one::Repeatable;
use super::outcome::{Failure, Verdict};
use super::run::{named, show};

pub(crate) fn charge(args: &Repeatable, out: &mut impl Write) -> Result<Verdict, Failure> {
    let one = &args.one;
    let limiter = one.place.server("charge", one.rules.load()?)?;
    let decision = limiter.charge_with(&one.rule, &one.key, named(args))?;
    show(one).charge(out, &decision)?;
    Ok(Verdict::Yes)
}
