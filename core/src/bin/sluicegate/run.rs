//! What each command does.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::thread;

use sluicegate::{CheckOptions, Decision, RateLimiter, Rules};

use crate::args::{Check, One};
use crate::show::Show;

/// Whether everything was admitted.
pub(crate) enum Verdict {
    Admitted,
    Denied,
}

/// Why a command could not be carried out.
#[derive(Debug)]
pub(crate) enum Failure {
    Limiter(sluicegate::Error),
    Output(io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limiter(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}

impl From<sluicegate::Error> for Failure {
    fn from(error: sluicegate::Error) -> Self {
        Self::Limiter(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

pub(crate) fn check(args: &Check, out: &mut impl Write) -> Result<Verdict, Failure> {
    let limiter = limiter(&args.one)?;
    let show = Show::new(&args.one, args.times);
    let mut verdict = Verdict::Admitted;
    for number in 1..=args.times {
        if number > 1 {
            thread::sleep(args.every);
        }
        let decision = limiter.check_with(&args.one.rule, &args.one.key, options(&args.one))?;
        show.decision(out, number, &decision)?;
        if !decision.allowed {
            verdict = Verdict::Denied;
        }
    }
    Ok(verdict)
}

pub(crate) fn peek(args: &One, out: &mut impl Write) -> Result<Verdict, Failure> {
    let decision = limiter(args)?.peek_with(&args.rule, &args.key, options(args))?;
    tell(args, out, &decision)
}

pub(crate) fn refund(args: &One, out: &mut impl Write) -> Result<Verdict, Failure> {
    let decision = limiter(args)?.refund_with(&args.rule, &args.key, options(args))?;
    Show::new(args, 1).decision(out, 1, &decision)?;
    Ok(Verdict::Admitted)
}

pub(crate) fn reset(args: &One, out: &mut impl Write) -> Result<Verdict, Failure> {
    limiter(args)?.reset_with(&args.rule, &args.key, options(args))?;
    Show::new(args, 1).reset(out)?;
    Ok(Verdict::Admitted)
}

pub(crate) fn validate(path: &Path, out: &mut impl Write) -> Result<Verdict, Failure> {
    let rules = Rules::from_file(path)?;
    let noun = if rules.len() == 1 { "rule" } else { "rules" };
    writeln!(out, "{}: {} {noun}, valid", path.display(), rules.len())?;
    Ok(Verdict::Admitted)
}

fn limiter(args: &One) -> Result<RateLimiter, Failure> {
    Ok(args.place.limiter(Rules::from_file(&args.rules)?)?)
}

fn options(args: &One) -> CheckOptions<'_> {
    let mut options = CheckOptions::new().cost(args.cost);
    options.resource = args.resource.as_deref();
    options.limit = args.limit;
    options
}

fn tell(args: &One, out: &mut impl Write, decision: &Decision) -> Result<Verdict, Failure> {
    Show::new(args, 1).decision(out, 1, decision)?;
    Ok(if decision.allowed { Verdict::Admitted } else { Verdict::Denied })
}
