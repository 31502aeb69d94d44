//! Rules that are put where rules are kept.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use sluicegate::sources::{FileSource, Following, RuleSource, Updates, ZooKeeperSource};
use sluicegate::{ErrorKind, Rules};
use tokio::runtime;

use super::diff::change;
use super::document::Document;
use super::replace::{alone, read, replace};
use crate::outcome::{CommandError, ExitStatus};
use crate::source::{Contents, Store};
use crate::stderr::show_warnings;

/// What a file begins with that is made for its first rule.
const EMPTY: &str = "[]\n";

pub(super) fn put(
    source: &OsStr,
    rule_file: &OsStr,
    out: &mut impl Write,
) -> Result<ExitStatus, CommandError> {
    let store = Store::new(source)?;
    let wanted = wanted(rule_file)?;
    match store {
        Store::File(path) => put_in_file(&path, &wanted, out)?,
        Store::ZooKeeper(source) => put_in_zookeeper(&source, &wanted, out)?,
    }
    Ok(ExitStatus::Yes)
}

fn wanted(rule_file: &OsStr) -> Result<Document, CommandError> {
    let (name, text) = if rule_file == "-" {
        ("standard input".to_owned(), io::read_to_string(io::stdin()))
    } else {
        (FileSource::new(rule_file).name(), fs::read_to_string(rule_file))
    };
    let text = text.map_err(|error| CommandError::Other(format!("{name}: cannot be read: {error}")))?;
    let document =
        Document::read_some(&text).map_err(|failure| CommandError::Other(format!("{name}: {failure}")))?;
    if document.rules.is_empty() {
        return Err(CommandError::Other(format!("{name}: it holds no rule")));
    }
    Ok(document)
}

fn put_in_file(path: &Path, wanted: &Document, out: &mut impl Write) -> Result<(), CommandError> {
    let old = edit(path, |document| document.put(wanted))?;
    for rule in wanted.rules.iter() {
        tell(&old, &wanted.rules, &rule.id, out)?;
    }
    Ok(())
}

/// Changes the rules of a file, if they are valid, and returns those that were.
pub(super) fn edit(path: &Path, change: impl FnOnce(&mut Document)) -> Result<Rules, CommandError> {
    let name = FileSource::new(path).name();
    let failed = |what: &dyn std::fmt::Display| CommandError::Other(format!("{name}: {what}"));
    let _alone = alone(path).map_err(|error| failed(&format!("its folder cannot be locked: {error}")))?;
    let seen = read(path).map_err(|error| failed(&format!("cannot be read: {error}")))?;
    let mut document = Document::read(seen.as_deref().unwrap_or(EMPTY)).map_err(|fault| failed(&fault))?;
    change(&mut document);
    let text = document.text().map_err(|fault| failed(&fault))?;
    if seen.as_deref() != Some(&text) {
        let written = replace(path, seen.as_deref(), &text);
        written.map_err(|error| failed(&format!("cannot be written: {error}")))?;
    }
    Ok(document.rules)
}

fn put_in_zookeeper(
    source: &ZooKeeperSource,
    wanted: &Document,
    out: &mut impl Write,
) -> Result<(), CommandError> {
    let texts = wanted.texts();
    judge(&texts)?;
    show_warnings();
    let old = match Contents::load(source.clone()) {
        Ok(contents) => contents.rules,
        // The znode of the rules may not exist before its first rule. If it is ZooKeeper that is away, putting
        // fails too.
        Err(CommandError::Limiter(error)) if error.kind() == ErrorKind::Connection => Rules::default(),
        Err(failure) => return Err(failure),
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    for (id, text) in &texts {
        runtime.block_on(source.put(id, text))?;
        tell(&old, &wanted.rules, id, out)?;
    }
    Ok(())
}

/// Says what a rule that was put made different.
fn tell(old: &Rules, new: &Rules, id: &str, out: &mut impl Write) -> io::Result<()> {
    match change(old, new, id) {
        Some(change) => change.show(out),
        None => writeln!(out, "same     {id}"),
    }
}

/// Refuses what those who follow ZooKeeper would.
fn judge(texts: &[(String, String)]) -> Result<(), CommandError> {
    match Contents::load(RuleTexts(texts.to_vec()))?.status.refused.first() {
        Some(refusal) => Err(CommandError::Other(format!("rule \"{}\": {}", refusal.unit, refusal.reason))),
        None => Ok(()),
    }
}

/// Rules that are kept one by one.
#[derive(Debug)]
struct RuleTexts(Vec<(String, String)>);

impl RuleSource for RuleTexts {
    fn name(&self) -> String {
        "the rules to be put".to_owned()
    }

    fn follow<'a>(&'a self, updates: &'a Updates) -> Following<'a> {
        updates.rules(self.0.iter().map(|(id, text)| (id.clone(), Ok(text.clone()))).collect());
        Box::pin(std::future::pending())
    }
}
