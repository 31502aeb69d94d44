//! A text of JSON that knows where in it everything stands, and can be changed.

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// A value, and the byte at which it begins.
pub(super) struct JsonNode {
    pub(super) at: usize,
    pub(super) content: JsonContent,
}

pub(super) enum JsonContent {
    Object(Vec<JsonField>),
    Array(Vec<JsonNode>),
    /// As it is written.
    Other(String),
}

pub(super) struct JsonField {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) value: JsonNode,
}

/// A part of a path such as `limits[1].limit`.
enum PathStep<'a> {
    Name(&'a str),
    Place(usize),
}

/// The byte from which on a text cannot be read.
pub(super) fn unreadable_from(text: &str) -> usize {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    parsed.err().map_or(0, |error| error.range().start)
}

impl JsonNode {
    /// The value of a text, if it can be read at all.
    pub(super) fn read(text: &str) -> Option<Self> {
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?;
        parsed.value.map(|value| Self::of(&value, text))
    }

    fn of(value: &Value<'_>, text: &str) -> Self {
        let range = value.range();
        let content = match value {
            Value::Object(Object { properties, .. }) => JsonContent::Object(
                properties
                    .iter()
                    .map(|field| JsonField {
                        name: field.name.as_str().to_owned(),
                        at: field.range.start,
                        value: Self::of(&field.value, text),
                    })
                    .collect(),
            ),
            Value::Array(array) => {
                JsonContent::Array(array.elements.iter().map(|element| Self::of(element, text)).collect())
            }
            _ => JsonContent::Other(text.get(range.start..range.end).unwrap_or_default().to_owned()),
        };
        Self { at: range.start, content }
    }

    /// The same value as text, in another layout.
    pub(super) fn text(&self) -> String {
        match &self.content {
            JsonContent::Object(fields) => {
                let quoted = |name: &str| serde_json::Value::from(name).to_string();
                let fields =
                    fields.iter().map(|field| format!("{}:{}", quoted(&field.name), field.value.text()));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
            JsonContent::Array(elements) => {
                format!("[{}]", elements.iter().map(Self::text).collect::<Vec<_>>().join(","))
            }
            JsonContent::Other(text) => text.clone(),
        }
    }

    /// Where a path leads to, or as far as there is something; of fields that are stated twice the last.
    pub(super) fn find(&self, path: &str) -> usize {
        let mut node = self;
        let mut at = self.at;
        for step in steps(path) {
            let next = match (&node.content, step) {
                (JsonContent::Object(fields), PathStep::Name(name)) => {
                    fields.iter().rfind(|field| field.name == name).map(|field| (field.at, &field.value))
                }
                (JsonContent::Array(elements), PathStep::Place(place)) => {
                    elements.get(place).map(|node| (node.at, node))
                }
                _ => None,
            };
            let Some(next) = next else { break };
            (at, node) = next;
        }
        at
    }

    /// Removes what a path leads to; of fields that are stated twice the last. False when there is nothing.
    pub(super) fn remove(&mut self, path: &str) -> bool {
        let mut steps: Vec<_> = steps(path).collect();
        let Some(last) = steps.pop() else { return false };
        let Some(owner) = self.inner(steps) else { return false };
        match (&mut owner.content, last) {
            (JsonContent::Object(fields), PathStep::Name(name)) => {
                fields.iter().rposition(|field| field.name == name).map(|at| fields.remove(at)).is_some()
            }
            (JsonContent::Array(elements), PathStep::Place(place)) if place < elements.len() => {
                elements.remove(place);
                true
            }
            _ => false,
        }
    }

    /// States a field that is missing.
    pub(super) fn insert(&mut self, path: &str, text: &str) {
        let mut steps: Vec<_> = steps(path).collect();
        let Some(PathStep::Name(name)) = steps.pop() else { return };
        if let Some(Self { at, content: JsonContent::Object(fields) }) = self.inner(steps) {
            let value = Self { at: *at, content: JsonContent::Other(text.to_owned()) };
            fields.push(JsonField { name: name.to_owned(), at: *at, value });
        }
    }

    fn inner(&mut self, steps: Vec<PathStep<'_>>) -> Option<&mut Self> {
        steps.into_iter().try_fold(self, |node, step| match (&mut node.content, step) {
            (JsonContent::Object(fields), PathStep::Name(name)) => {
                fields.iter_mut().rfind(|field| field.name == name).map(|field| &mut field.value)
            }
            (JsonContent::Array(elements), PathStep::Place(place)) => elements.get_mut(place),
            _ => None,
        })
    }
}

fn steps(path: &str) -> impl Iterator<Item = PathStep<'_>> {
    path.split(['.', '[', ']']).filter(|step| !step.is_empty()).map(|step| match step.parse() {
        Ok(place) => PathStep::Place(place),
        Err(_) => PathStep::Name(step),
    })
}
