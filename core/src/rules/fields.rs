//! The fields of one JSON object, read strictly: each must be known, stated once, and of its type.

use super::json::Json;
use super::table::Field;
use crate::text::words::{nearest, one_of, quote};

/// `Err` is the message from the field on: what is wrong, and what would be right.
pub(crate) type Checked<T> = Result<T, String>;

/// The fields of one object.
pub(super) struct Fields<'a> {
    /// What stands before a field's name in messages: empty, `match.` or `limits[1].`
    prefix: String,
    fields: &'a [(String, Json)],
}

impl<'a> Fields<'a> {
    /// The fields of an object whose fields are all `known`, each at most once.
    pub(super) fn new(prefix: &str, fields: &'a [(String, Json)], known: &[Field]) -> Checked<Self> {
        let this = Self { prefix: prefix.to_owned(), fields };
        for (at, (name, _)) in fields.iter().enumerate() {
            if !known.iter().any(|field| field.name == name) {
                let names: Vec<_> = known.iter().map(|field| field.name).collect();
                return Err(format!("{} is not known; {}", this.named(name), known_instead(name, &names)));
            }
            if fields.iter().take(at).any(|(earlier, _)| earlier == name) {
                return Err(format!("{} is stated twice; state it once", this.named(name)));
            }
        }
        Ok(this)
    }

    /// `field "limits[1].limit"`.
    pub(super) fn named(&self, name: &str) -> String {
        format!("field {}", quote(&format!("{}{name}", self.prefix)))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Json> {
        self.fields.iter().find(|field| field.0 == name).map(|field| &field.1)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Reads a field that may be absent; `right` says what it has to be.
    pub(super) fn optional<T>(
        &self,
        name: &str,
        right: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Checked<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong(name, right))
    }

    /// Reads a field that has to be there.
    pub(super) fn required<T>(
        &self,
        name: &str,
        right: &str,
        read: impl FnOnce(&'a Json) -> Option<T>,
    ) -> Checked<T> {
        self.optional(name, right, read)?.ok_or_else(|| self.wrong(name, right))
    }

    /// Reads one of a few words; `None`: absent.
    pub(super) fn word<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Checked<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.text().unwrap_or_default();
        if let Some((_, meaning)) = words.iter().find(|word| word.0 == text) {
            return Ok(Some(*meaning));
        }
        Err(match nearest(text, words.iter().map(|word| word.0)) {
            Some(word) => format!("{} is {}; did you mean {}?", self.named(name), quote(text), quote(word)),
            None => self.none_of(name, words),
        })
    }

    /// The same for words so few that a mistake is answered with all of them.
    pub(super) fn one_of_few<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Checked<Option<T>> {
        self.word(name, words).map_err(|_| self.none_of(name, words))
    }

    fn none_of<T>(&self, name: &str, words: &[(&str, T)]) -> String {
        self.wrong(name, &one_of(&words.iter().map(|word| word.0).collect::<Vec<_>>()))
    }

    pub(super) fn flag(&self, name: &str) -> Checked<bool> {
        Ok(self.optional(name, "true or false", Json::flag)?.unwrap_or(false))
    }

    /// The message for a field that is not there, or holds what it must not.
    pub(super) fn wrong(&self, name: &str, right: &str) -> String {
        let shown = self.get(name).map_or_else(|| "missing".to_owned(), Json::shown);
        format!("{} is {shown}; it has to be {right}", self.named(name))
    }
}

fn known_instead(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(word) => format!("did you mean {}?", quote(word)),
        None => format!("it could be {}", one_of(known)),
    }
}
