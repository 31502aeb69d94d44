//! A text of rules that is changed and keeps its comments, its order and its layout.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstLeafNode, CstNode, CstObject, CstRootNode};
use sluicegate::Rules;

use crate::outcome::Failure;

/// What some editors begin every file with.
const MARK: char = '\u{feff}';

/// A text that holds valid rules.
pub(super) struct Document {
    has_mark: bool,
    root: CstRootNode,
    array: CstArray,
    pub(super) rules: Rules,
}

impl Document {
    /// Reads the text of a file of rules.
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let rules = Rules::from_json(text)?;
        let bare = text.trim_start_matches(MARK);
        let root = CstRootNode::parse(bare, &ParseOptions::default());
        let root = root.map_err(|error| Failure::Other(format!("not valid JSON: {error}")))?;
        let array = root.array_value().or_else(|| root.object_value()?.array_value("rules"));
        let array = array.ok_or_else(|| Failure::Other("it has no array of rules".to_owned()))?;
        Ok(Self { has_mark: bare.len() < text.len(), root, array, rules })
    }

    /// Reads the text of a file of rules, or of one rule.
    pub(super) fn read_some(text: &str) -> Result<Self, Failure> {
        let bare = text.trim_start_matches(MARK);
        let root = CstRootNode::parse(bare, &ParseOptions::default()).ok();
        let object = root.as_ref().and_then(CstRootNode::object_value);
        let is_one = object.is_some_and(|fields| fields.get("rules").is_none());
        // On the same line, so that messages name the right one.
        if is_one { Self::read(&format!("[{bare}\n]")) } else { Self::read(text) }
    }

    /// The text of each rule with its name, as it stands there.
    pub(super) fn texts(&self) -> Vec<(String, String)> {
        let elements = self.elements().into_iter();
        elements.map(|(id, rule)| (id, without_indent(&rule.to_string()))).collect()
    }

    /// Puts the rules of another document in place of those with the same names, or at the end.
    pub(super) fn put(&self, other: &Self) {
        let present = self.elements();
        for (id, rule) in other.elements() {
            match present.iter().find(|(name, _)| *name == id) {
                Some((_, there)) => update(there, &rule),
                None => drop(self.array.append(input(&rule.into()))),
            }
        }
    }

    pub(super) fn delete(&self, id: &str) {
        if let Some((_, rule)) = self.elements().into_iter().find(|(name, _)| name == id) {
            rule.remove();
        }
    }

    pub(super) fn text(&self) -> String {
        let mark = if self.has_mark { MARK.to_string() } else { String::new() };
        format!("{mark}{}", self.root)
    }

    fn elements(&self) -> Vec<(String, CstObject)> {
        let objects = self.array.elements().into_iter().filter_map(|element| element.as_object());
        // The text was read as rules, one by one in this order.
        self.rules.iter().map(|rule| rule.id.to_string()).zip(objects).collect()
    }
}

/// Makes an object state what another does; what is the same already stays as it is written.
fn update(there: &CstObject, wanted: &CstObject) {
    for field in there.properties() {
        if field.decoded_name().is_some_and(|name| wanted.get(&name).is_none()) {
            field.remove();
        }
    }
    for field in wanted.properties() {
        let (Some(name), Some(value)) = (field.decoded_name(), field.value()) else { continue };
        let Some(present) = there.get(&name) else {
            there.append(&name, input(&value));
            continue;
        };
        match (present.object_value(), value.as_object()) {
            (Some(there), Some(wanted)) => update(&there, &wanted),
            _ if present.to_serde_value() == value.to_serde_value() => (),
            _ => present.set_value(input(&value)),
        }
    }
}

fn input(node: &CstNode) -> CstInputValue {
    if let Some(object) = node.as_object() {
        let field =
            |field: jsonc_parser::cst::CstObjectProp| Some((field.decoded_name()?, input(&field.value()?)));
        return CstInputValue::Object(object.properties().into_iter().filter_map(field).collect());
    }
    if let Some(array) = node.as_array() {
        return CstInputValue::Array(array.elements().iter().map(input).collect());
    }
    match node {
        CstNode::Leaf(CstLeafNode::BooleanLit(flag)) => CstInputValue::Bool(flag.value()),
        CstNode::Leaf(CstLeafNode::NumberLit(number)) => CstInputValue::Number(number.to_string()),
        CstNode::Leaf(CstLeafNode::StringLit(text)) => {
            CstInputValue::String(text.decoded_value().unwrap_or_default())
        }
        _ => CstInputValue::Null,
    }
}

/// A rule out of a file is as far from the margin as the file has it.
fn without_indent(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    let indent = &last[..last.len() - last.trim_start().len()];
    let lines = text.lines().map(|line| line.strip_prefix(indent).unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}
