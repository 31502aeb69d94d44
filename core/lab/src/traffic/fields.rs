//! The text of a traffic spec: a word, and its fields.

use sluicegate::internal;
use sluicegate::internal::{nearest, quote};
use sluicegate::{Error, Result};

use crate::units::{duration_us, rate};

/// `word:name=value,name=value`, of which every field has to be known to the word.
pub(super) struct Fields<'a> {
    spec: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

/// The word of a spec, and the rest.
pub(super) fn word(spec: &str) -> (&str, &str) {
    spec.split_once(':').unwrap_or((spec, ""))
}

/// The error for a word that none of `known` is.
pub(super) fn unknown(spec: &str, what: &str, name: &str, known: &[&str]) -> Error {
    let instead = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {}?", quote(near)),
        None => format!("known are {}", known.join(", ")),
    };
    refused(spec, &format!("{what} {} is not known; {instead}", quote(name)))
}

pub(super) fn refused(spec: &str, reason: &str) -> Error {
    internal::invalid_argument(format!("traffic {}: {reason}", quote(spec)))
}

impl<'a> Fields<'a> {
    pub(super) fn new(spec: &'a str, known: &[&str]) -> Result<Self> {
        let mut fields: Vec<(&str, &str)> = Vec::new();
        for part in word(spec).1.split(',').filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(refused(spec, &format!("{} has no value (write NAME=VALUE)", quote(part))));
            };
            if !known.contains(&name) {
                return Err(unknown(spec, "field", name, known));
            }
            if fields.iter().any(|field| field.0 == name) {
                return Err(refused(spec, &format!("field {} stands twice", quote(name))));
            }
            fields.push((name, value));
        }
        Ok(Self { spec, fields })
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1)
    }

    /// The value of a field as `read` understands it; an error says what it has to be.
    pub(super) fn read<T>(
        &self,
        name: &str,
        right: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>> {
        let value = |text| {
            read(text).ok_or_else(|| {
                refused(self.spec, &format!("field \"{name}\" is {}; it has to be {right}", quote(text)))
            })
        };
        self.text(name).map(value).transpose()
    }

    pub(super) fn duration(&self, name: &str) -> Result<Option<u64>> {
        self.read(name, "a time of at most ten years, as in 250ms, 10s or 1h", duration_us)
    }

    /// A time above zero.
    pub(super) fn period(&self, name: &str) -> Result<Option<u64>> {
        self.read(name, "a time above zero, as in 250ms, 10s or 1h", |text| {
            duration_us(text).filter(|us| *us > 0)
        })
    }

    pub(super) fn rate(&self) -> Result<Option<f64>> {
        self.read("rate", "a rate above zero, as in 100/s or 20/30s", rate)
    }

    /// A whole number from 1 to `most`.
    pub(super) fn number(&self, name: &str, most: u64) -> Result<Option<u64>> {
        let right = format!("a whole number from 1 to {most}");
        self.read(name, &right, |text| text.parse().ok().filter(|number| (1..=most).contains(number)))
    }
}
