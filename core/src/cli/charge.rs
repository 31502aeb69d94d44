//! `charge`: what was used already.

use std::io::Write;

use super::one::One;
use super::outcome::{Failure, Verdict};
use super::run::{options, show};

pub(crate) fn charge(args: &One, out: &mut impl Write) -> Result<Verdict, Failure> {
    let limiter = args.place.server("charge", args.rules.load()?)?;
    let decision = limiter.charge_with(&args.rule, &args.key, options(args))?;
    show(args).charge(out, &decision)?;
    Ok(Verdict::Yes)
}
