//! What differs between rules.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use sluicegate::Rules;
use sluicegate::internal::object;
use sluicegate::rules::Rule;

use super::list::limits;
use crate::outcome::{CommandError, ExitStatus};
use crate::show::json_line;
use crate::source::{Contents, faults, source};
use crate::stderr::complain;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const CHANGED: Style = AnsiColor::Yellow.on_default();

/// How a rule differs.
pub(super) enum Change<'a> {
    Added(&'a Rule),
    Removed(&'a Rule),
    Changed(&'a Rule, Vec<FieldDiff>),
}

/// A field that differs; `None` where it is not stated.
pub(super) struct FieldDiff {
    path: String,
    old: Option<Value>,
    new: Option<Value>,
}

pub(super) fn diff(
    old: &OsStr,
    new: &OsStr,
    json: bool,
    out: &mut impl Write,
) -> Result<ExitStatus, CommandError> {
    let (old, new) = (Contents::load(source(old)?)?, Contents::load(source(new)?)?);
    let changes = changes(&old.rules, &new.rules);
    for change in &changes {
        if json { writeln!(out, "{}", json_line(&change.json()))? } else { change.show(out)? }
    }
    // What is not valid cannot be compared.
    let faults: Vec<_> = faults(&old.status).chain(faults(&new.status)).collect();
    if faults.is_empty() {
        return Ok(ExitStatus::of(changes.is_empty()));
    }
    faults.iter().for_each(complain);
    Err(CommandError::Reported)
}

/// In the order of the old rules, then of the new.
pub(super) fn changes<'a>(old: &'a Rules, new: &'a Rules) -> Vec<Change<'a>> {
    let added = new.iter().filter(|rule| old.get(&rule.id).is_none());
    old.iter().chain(added).filter_map(|rule| change(old, new, &rule.id)).collect()
}

/// How one rule differs, if it does.
pub(super) fn change<'a>(old: &'a Rules, new: &'a Rules, id: &str) -> Option<Change<'a>> {
    match (old.get(id), new.get(id)) {
        (None, None) => None,
        (None, Some(now)) => Some(Change::Added(now)),
        (Some(was), None) => Some(Change::Removed(was)),
        (Some(was), Some(now)) if was == now => None,
        (Some(was), Some(now)) => Some(Change::Changed(now, fields(was, now))),
    }
}

fn fields(old: &Rule, new: &Rule) -> Vec<FieldDiff> {
    let (old, new) = (flat(old), flat(new));
    let gone = old.iter().filter(|(path, _)| !new.contains_key(*path)).map(|(path, value)| FieldDiff {
        path: path.clone(),
        old: Some(value.clone()),
        new: None,
    });
    let set = new.iter().filter(|(path, value)| old.get(*path) != Some(*value)).map(|(path, value)| {
        FieldDiff { path: path.clone(), old: old.get(path).cloned(), new: Some(value.clone()) }
    });
    let mut fields: Vec<_> = gone.chain(set).collect();
    fields.sort_by(|one, other| one.path.cmp(&other.path));
    fields
}

/// The fields of a rule with their paths, such as `limits[1].limit`.
pub(crate) fn flat(rule: &Rule) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    flatten("", Value::Object(object(rule)), &mut found);
    found
}

fn flatten(path: &str, value: Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, value) in fields {
                flatten(&format!("{path}{dot}{name}"), value, found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for (at, value) in items.into_iter().enumerate() {
                flatten(&format!("{path}[{at}]"), value, found);
            }
        }
        value => drop(found.insert(path.to_owned(), value)),
    }
}

impl Change<'_> {
    pub(super) fn rule(&self) -> &Rule {
        match self {
            Self::Added(rule) | Self::Removed(rule) | Self::Changed(rule, _) => rule,
        }
    }

    fn word(&self) -> (Style, &'static str) {
        match self {
            Self::Added(_) => (ADDED, "added"),
            Self::Removed(_) => (REMOVED, "removed"),
            Self::Changed(..) => (CHANGED, "changed"),
        }
    }

    pub(super) fn show(&self, out: &mut impl Write) -> io::Result<()> {
        let (style, word) = self.word();
        let rule = self.rule();
        write!(out, "{style}{word:<7}{style:#}  {}", rule.id)?;
        let Self::Changed(_, fields) = self else {
            return writeln!(out, "  {}, {}", rule.algorithm.name(), limits(rule));
        };
        writeln!(out)?;
        for FieldDiff { path, old, new } in fields {
            writeln!(out, "         {path}: {} -> {}", shown(old.as_ref()), shown(new.as_ref()))?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let (id, change) = (&*self.rule().id, self.word().1);
        match self {
            Self::Added(rule) | Self::Removed(rule) => {
                json!({ "rule_id": id, "change": change, "rule": object(rule) })
            }
            Self::Changed(_, fields) => {
                let field = |it: &FieldDiff| json!({ "field": it.path, "old": it.old, "new": it.new });
                let fields: Vec<_> = fields.iter().map(field).collect();
                json!({ "rule_id": id, "change": change, "fields": fields })
            }
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "unset".to_owned(), json_line)
}
