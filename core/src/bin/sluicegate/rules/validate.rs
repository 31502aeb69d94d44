//! Whether rules are valid.

use std::ffi::{OsStr, OsString};
use std::io::Write;

use crate::outcome::{Failure, Verdict};
use crate::source::{Contents, faults, source};
use crate::stderr::complain;

/// Every source is looked at, whatever is wrong with those before.
pub(super) fn validate(sources: &[OsString], out: &mut impl Write) -> Result<Verdict, Failure> {
    let mut all_valid = true;
    for argument in sources {
        all_valid &= match one(argument, out) {
            Ok(valid) => valid,
            Err(failure @ Failure::Output(_)) => return Err(failure),
            Err(failure) => {
                complain(failure);
                false
            }
        };
    }
    if all_valid { Ok(Verdict::Yes) } else { Err(Failure::Told) }
}

fn one(argument: &OsStr, out: &mut impl Write) -> Result<bool, Failure> {
    let status = Contents::load(source(argument)?)?.status;
    faults(&status).for_each(complain);
    let (name, valid, refused) = (&status.source, status.rules, status.refused.len());
    let noun = if valid == 1 { "rule" } else { "rules" };
    match refused {
        0 => writeln!(out, "{name}: {valid} {noun}, valid")?,
        _ => writeln!(out, "{name}: {valid} {noun} valid, {refused} refused")?,
    }
    Ok(refused == 0)
}
