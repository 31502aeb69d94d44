//! The commands about one rule and key.

use std::io::Write;
use std::thread;
use std::time::Instant;

use sluicegate::{CheckOptions, Rules};

use crate::backend::BackendArgs;
use crate::one::{CheckArgs, One, Repeatable, WaitArgs};
use crate::outcome::{CommandError, ExitStatus};
use crate::show::{Show, about};
use crate::source::faults;
use crate::stderr::{show_warnings, warn};

pub(crate) fn check(args: &CheckArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let one = &args.call.one;
    let limiter = one.backend.limiter(one.rules.source()?)?;
    faults(&limiter.rules_status()).for_each(warn);
    show_warnings();
    let show = show(one).times(args.times);
    let mut verdict = ExitStatus::Yes;
    for number in 1..=args.times {
        if number > 1 {
            thread::sleep(args.every);
        }
        let decision = limiter.check_with(&one.rule, &one.key, named(&args.call))?;
        show.decision(out, number, &decision)?;
        if !decision.allowed {
            verdict = ExitStatus::No;
        }
    }
    Ok(verdict)
}

pub(crate) fn wait(args: &WaitArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let WaitArgs { one, timeout } = args;
    let limiter = one.backend.limiter(one.rules.load()?)?;
    let decision = limiter.wait_with(&one.rule, &one.key, options(one), *timeout)?;
    show(one).decision(out, 1, &decision)?;
    Ok(ExitStatus::of(decision.allowed))
}

pub(crate) fn peek(args: &One, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let limiter = args.backend.server("peek", args.rules.load()?)?;
    let decision = limiter.peek_with(&args.rule, &args.key, options(args))?;
    show(args).decision(out, 1, &decision)?;
    Ok(ExitStatus::of(decision.allowed))
}

pub(crate) fn refund(args: &Repeatable, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let one = &args.one;
    let limiter = one.backend.server("refund", one.rules.load()?)?;
    let before = limiter.peek_with(&one.rule, &one.key, options(one))?;
    let decision = limiter.refund_with(&one.rule, &one.key, named(args))?;
    let was_counted = !before.reset_after.is_zero();
    show(one).refund(out, was_counted, &decision)?;
    Ok(ExitStatus::of(was_counted))
}

pub(crate) fn charge(args: &Repeatable, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let one = &args.one;
    let limiter = one.backend.server("charge", one.rules.load()?)?;
    let decision = limiter.charge_with(&one.rule, &one.key, named(args))?;
    show(one).charge(out, &decision)?;
    Ok(ExitStatus::Yes)
}

pub(crate) fn reset(args: &One, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let limiter = args.backend.server("reset", args.rules.load()?)?;
    limiter.reset_with(&args.rule, &args.key, options(args))?;
    show(args).reset(out)?;
    Ok(ExitStatus::Yes)
}

pub(crate) fn ping(backend: &BackendArgs, out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let limiter = backend.server("ping", Rules::default())?;
    let began = Instant::now();
    limiter.ping()?;
    writeln!(out, "the server answered in {}", about(began.elapsed()))?;
    Ok(ExitStatus::Yes)
}

pub(crate) fn show(args: &One) -> Show<'_> {
    Show::new(&args.rule, &args.key, args.json)
}

pub(crate) fn options(args: &One) -> CheckOptions<'_> {
    let mut options = CheckOptions::new().cost(args.cost);
    options.resource = args.resource.as_deref();
    options.limit = args.limit;
    options
}

/// The same with the id by which the call may be repeated.
pub(crate) fn named(args: &Repeatable) -> CheckOptions<'_> {
    let mut options = options(&args.one);
    options.request_id = args.request_id.as_deref();
    options
}
