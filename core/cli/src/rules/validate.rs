//! Whether rules are valid.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;

use sluicegate::sources::{FileSource, RuleSource};

use super::faults::faults as faults_in;
use crate::outcome::{CommandError, ExitStatus};
use crate::source::{Contents, Store, faults, source};
use crate::stderr::complain;

/// Every source is looked at, whatever is wrong with those before.
pub(super) fn validate(sources: &[OsString], out: &mut impl Write) -> Result<ExitStatus, CommandError> {
    let mut all_valid = true;
    for argument in sources {
        all_valid &= match one(argument, out) {
            Ok(valid) => valid,
            Err(failure @ CommandError::Output(_)) => return Err(failure),
            Err(failure) => {
                complain(failure);
                false
            }
        };
    }
    if all_valid { Ok(ExitStatus::Yes) } else { Err(CommandError::Reported) }
}

fn one(argument: &OsStr, out: &mut impl Write) -> Result<bool, CommandError> {
    if let Some((name, text)) = text_of(argument)? {
        let found = faults_in(&text);
        found.iter().for_each(|fault| complain(format!("{name}:{fault}")));
        if !found.is_empty() {
            return Ok(false);
        }
    }
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

/// The name and the text of rules that are one text: JSON, or a file that can be read.
fn text_of(argument: &OsStr) -> Result<Option<(String, String)>, CommandError> {
    if let Some(text) = argument.to_str().filter(|text| text.trim_start().starts_with(['[', '{'])) {
        return Ok(Some(("rules".to_owned(), text.to_owned())));
    }
    if source(argument)?.fixed().is_some() {
        return Ok(None);
    }
    Ok(match Store::new(argument)? {
        Store::File(path) => fs::read_to_string(&path).ok().map(|text| (FileSource::new(&path).name(), text)),
        Store::ZooKeeper(_) => None,
    })
}
