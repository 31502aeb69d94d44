//! The last good version of every unit of a source. No I/O happens here.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use super::Refusal;
use crate::catalog::Share;
use crate::rules::{Checked, Rule, Rules, read_one};
use crate::text::printable::printable;
use crate::text::words::quote;

/// More than a rule can need; a larger text is something else.
const MAX_RULE_BYTES: usize = 64 * 1024;

/// What a source says of itself, text by text. `Err` says why a text cannot be had.
pub(super) enum SourceReport {
    /// All rules in one text, updated as a whole.
    File(Checked<String>),
    /// All rules, each in a text of its own that is updated by itself.
    Rules(Vec<(String, Checked<String>)>),
    /// Some of these; none for one that is gone.
    Changed(Vec<(String, Option<Checked<String>>)>),
}

/// What is in force, and what is refused.
#[derive(Debug, Default)]
pub(super) struct Book {
    file: Entry<Rules>,
    rules: BTreeMap<String, Entry<Arc<Rule>>>,
    /// What was in force before the first report.
    before: Rules,
    /// Rules of the application, whose names no other rule may have.
    added: Rules,
    /// The part of their limits that the limiter uses.
    share: Share,
}

#[derive(Debug)]
struct Entry<T> {
    good: Option<Good<T>>,
    fault: Option<RefusedText>,
}

/// Why a text was refused.
#[derive(Debug, PartialEq, Eq)]
struct RefusedText {
    reason: String,
    /// The hash of the text: the same one is refused once, however often it is reported.
    of: u64,
}

#[derive(Debug)]
struct Good<T> {
    /// None for a rule that was in force before the first report.
    text: Option<String>,
    value: T,
}

/// The effect of a report.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Whether other rules are in force.
    pub(super) changed: bool,
    /// What was refused that was not so before.
    pub(super) refused: Vec<Refusal>,
}

impl<T> Default for Entry<T> {
    fn default() -> Self {
        Self { good: None, fault: None }
    }
}

impl<T> Entry<T> {
    /// Takes a text if it is valid, and keeps the last good one if it is not.
    fn take(
        &mut self,
        unit: &str,
        text: Checked<String>,
        read: impl FnOnce(&str) -> Checked<T>,
        effect: &mut Effect,
    ) {
        if let (Ok(text), Some(good)) = (&text, &self.good)
            && Some(text) == good.text.as_ref()
        {
            self.fault = None;
            return;
        }
        let of = BuildHasherDefault::<DefaultHasher>::default().hash_one(&text);
        match text.and_then(|text| Ok(Good { value: read(&text)?, text: Some(text) })) {
            Ok(good) => {
                *self = Self { good: Some(good), fault: None };
                effect.changed = true;
            }
            Err(reason) => {
                let (unit, reason) = (printable(unit).into_owned(), printable(&reason).into_owned());
                let fault = Some(RefusedText { reason: reason.clone(), of });
                if self.fault != fault {
                    self.fault = fault;
                    effect.refused.push(Refusal { unit, reason });
                }
            }
        }
    }
}

impl Book {
    /// One that refuses rules of which this share leaves too little.
    pub(super) fn of_share(share: Share) -> Self {
        Self { share, ..Self::default() }
    }

    /// Says which rules are in force before the first report. They are the last good version of what it has in
    /// a bad one.
    pub(super) fn begin_with(&mut self, before: Rules) {
        self.before = before;
    }

    /// Says which rules the application has.
    pub(super) fn reserve(&mut self, added: Rules) {
        self.added = added;
    }

    /// Takes what is good of a report of the source called `source`.
    pub(super) fn apply(&mut self, source: &str, report: SourceReport) -> Effect {
        let mut effect = Effect::default();
        match report {
            SourceReport::File(text) => {
                let read = |text: &str| {
                    let rules = Rules::read(text)?;
                    rules.iter().try_for_each(|rule| ensure_free(&self.added, rule))?;
                    rules.iter().try_for_each(|rule| self.share.validate_rule(rule))?;
                    Ok(rules)
                };
                self.file.take(source, text, read, &mut effect);
                if self.file.good.is_some() {
                    self.rules.clear();
                }
            }
            SourceReport::Rules(texts) => {
                let there: HashSet<_> = texts.iter().map(|(id, _)| id.as_str()).collect();
                let gone: Vec<_> =
                    self.rules.keys().filter(|id| !there.contains(id.as_str())).cloned().collect();
                gone.iter().for_each(|id| self.remove(id, &mut effect));
                for (id, text) in texts {
                    self.rule(id, text, &mut effect);
                }
                self.before = Rules::default();
            }
            SourceReport::Changed(changes) => {
                for (id, text) in changes {
                    match text {
                        Some(text) => self.rule(id, text, &mut effect),
                        None => self.remove(&id, &mut effect),
                    }
                }
            }
        }
        effect
    }

    fn rule(&mut self, id: String, text: Checked<String>, effect: &mut Effect) {
        effect.changed |= self.file.good.is_some();
        self.file = Entry::default();
        let before = || self.before.get(&id).map(|rule| Good { text: None, value: Arc::clone(rule) });
        let entry = self.rules.entry(id.clone()).or_insert_with(|| Entry { good: before(), fault: None });
        let read = |text: &str| {
            let rule = read_named(&id, text)?;
            ensure_free(&self.added, &rule)?;
            self.share.validate_rule(&rule)?;
            Ok(rule)
        };
        entry.take(&id, text, read, effect);
    }

    fn remove(&mut self, id: &str, effect: &mut Effect) {
        let removed = self.rules.remove(id);
        effect.changed |= removed.is_some_and(|entry| entry.good.is_some());
    }

    /// Whether nothing was ever good of a source that is updated as a whole.
    pub(super) fn is_blank(&self) -> bool {
        self.file.good.is_none() && self.file.fault.is_some()
    }

    /// The rules in force.
    pub(super) fn in_force(&self) -> Rules {
        match &self.file.good {
            Some(file) => file.value.clone(),
            None => {
                let good = || self.rules.values().filter_map(|entry| entry.good.as_ref());
                let rules = good().map(|rule| Arc::clone(&rule.value)).collect();
                let texts =
                    good().map(|rule| rule.text.clone().unwrap_or_else(|| format!("{:?}", rule.value)));
                Rules::assemble(rules, texts)
            }
        }
    }

    /// The rules in force as one text, unless that of one of them is not known.
    pub(super) fn text(&self) -> Option<String> {
        if let Some(file) = &self.file.good {
            return file.text.clone();
        }
        let good = self.rules.values().filter_map(|entry| entry.good.as_ref());
        let texts = good.map(|rule| Some(rule.text.as_ref()?.trim_start_matches('\u{feff}')));
        // A text may end with a comment, which ends with its line.
        Some(format!("[\n{}\n]\n", texts.collect::<Option<Vec<_>>>()?.join("\n,\n")))
    }

    /// What is refused at present.
    pub(super) fn refused(&self, source: &str) -> Vec<Refusal> {
        let refusal = |unit: &str, fault: &Option<RefusedText>| {
            let reason = fault.as_ref()?.reason.clone();
            Some(Refusal { unit: printable(unit).into_owned(), reason })
        };
        let rules = self.rules.iter().filter_map(|(id, entry)| refusal(id, &entry.fault));
        refusal(source, &self.file.fault).into_iter().chain(rules).collect()
    }
}

/// Refuses a rule that has the name of one of the application.
fn ensure_free(added: &Rules, rule: &Rule) -> Checked<()> {
    if added.get(&rule.id).is_none() {
        return Ok(());
    }
    Err(format!(
        "rule {}: the application has added a rule of that name (give one of them another)",
        quote(&rule.id)
    ))
}

/// The rule in a text that has to be of this name.
fn read_named(id: &str, text: &str) -> Checked<Arc<Rule>> {
    if text.len() > MAX_RULE_BYTES {
        return Err(format!("it has {} bytes; a rule has {MAX_RULE_BYTES} at most", text.len()));
    }
    let rule = read_one(text)?;
    if *rule.id != *id {
        return Err(format!("it holds the rule {}; name and rule_id have to be the same", quote(&rule.id)));
    }
    Ok(Arc::new(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str, limit: u64) -> String {
        format!(r#"{{ "rule_id": "{id}", "algorithm": "gcra", "limit": {limit}, "window_size_seconds": 1 }}"#)
    }

    fn limits(book: &Book) -> Vec<(String, f64)> {
        book.in_force().iter().map(|rule| (rule.id.to_string(), rule.limits[0].limit)).collect()
    }

    #[test]
    fn what_was_in_force_before_outlasts_a_bad_first_report() {
        let mut book = Book::default();
        let before = ["a", "b", "c"].map(|id| rule(id, 1)).join(",");
        book.begin_with(Rules::from_json(&format!("[{before}]")).unwrap());
        let texts = [("a", "garbage".to_owned()), ("b", rule("b", 2)), ("d", "garbage".to_owned())];
        let texts = texts.map(|(id, text)| (id.to_owned(), Ok(text)));
        assert!(book.apply("source", SourceReport::Rules(texts.to_vec())).changed);
        assert_eq!(limits(&book), [("a".to_owned(), 1.0), ("b".to_owned(), 2.0)]);
        assert_eq!(book.refused("source").len(), 2);
        assert_eq!(book.text(), None, "the text of a is not known");

        let good = SourceReport::Changed(vec![("a".to_owned(), Some(Ok(rule("a", 3))))]);
        assert!(book.apply("source", good).changed);
        assert_eq!(Rules::from_json(&book.text().unwrap()).unwrap().len(), 2);
        let again = SourceReport::Changed(vec![("c".to_owned(), Some(Ok("garbage".to_owned())))]);
        assert!(!book.apply("source", again).changed, "c is gone for good");
    }
}
