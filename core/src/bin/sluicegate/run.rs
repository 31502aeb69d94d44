//! The commands about one rule and key.

use std::io::Write;
use std::thread;

use sluicegate::{CheckOptions, Decision, RateLimiter};

use crate::args::{Check, One};
use crate::outcome::{Failure, Verdict};
use crate::show::Show;
use crate::source::faults;
use crate::stderr::{show_warnings, warn};

pub(crate) fn check(args: &Check, out: &mut impl Write) -> Result<Verdict, Failure> {
    let limiter = args.one.place.limiter(args.one.rules.source()?)?;
    faults(&limiter.rules_status()).for_each(warn);
    show_warnings();
    let show = Show::new(&args.one, args.times);
    let mut verdict = Verdict::Yes;
    for number in 1..=args.times {
        if number > 1 {
            thread::sleep(args.every);
        }
        let decision = limiter.check_with(&args.one.rule, &args.one.key, options(&args.one))?;
        show.decision(out, number, &decision)?;
        if !decision.allowed {
            verdict = Verdict::No;
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
    Ok(Verdict::Yes)
}

pub(crate) fn reset(args: &One, out: &mut impl Write) -> Result<Verdict, Failure> {
    limiter(args)?.reset_with(&args.rule, &args.key, options(args))?;
    Show::new(args, 1).reset(out)?;
    Ok(Verdict::Yes)
}

fn limiter(args: &One) -> Result<RateLimiter, Failure> {
    Ok(args.place.limiter(args.rules.load()?)?)
}

fn options(args: &One) -> CheckOptions<'_> {
    let mut options = CheckOptions::new().cost(args.cost);
    options.resource = args.resource.as_deref();
    options.limit = args.limit;
    options
}

fn tell(args: &One, out: &mut impl Write, decision: &Decision) -> Result<Verdict, Failure> {
    Show::new(args, 1).decision(out, 1, decision)?;
    Ok(Verdict::of(decision.allowed))
}
