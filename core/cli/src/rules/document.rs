//! A text of rules that is changed and keeps its comments, its order and its layout.

use std::sync::Arc;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstLeafNode, CstNode, CstObject, CstRootNode};
use sluicegate::Rules;
use sluicegate::rules::Rule;

use crate::outcome::CommandError;

/// What some editors begin every file with.
const MARK: char = '\u{feff}';

/// A text that holds valid rules.
pub(super) struct Document {
    has_mark: bool,
    root: CstRootNode,
    array: CstArray,
    /// As they were read.
    pub(super) rules: Rules,
    /// As they are to become.
    wanted: Vec<Arc<Rule>>,
}

impl Document {
    /// Reads the text of a file of rules.
    pub(super) fn read(text: &str) -> Result<Self, CommandError> {
        let rules = Rules::from_json(text)?;
        let bare = text.trim_start_matches(MARK);
        let root = CstRootNode::parse(bare, &ParseOptions::default());
        let root = root.map_err(|error| CommandError::Other(format!("not valid JSON: {error}")))?;
        let array = root.array_value().or_else(|| root.object_value()?.array_value("rules"));
        let array = array.ok_or_else(|| CommandError::Other("it has no array of rules".to_owned()))?;
        let wanted = rules.iter().cloned().collect();
        Ok(Self { has_mark: bare.len() < text.len(), root, array, rules, wanted })
    }

    /// Reads the text of a file of rules, or of one rule.
    pub(super) fn read_some(text: &str) -> Result<Self, CommandError> {
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
    pub(super) fn put(&mut self, other: &Self) {
        let present = self.elements();
        for ((id, text), rule) in other.elements().iter().zip(other.rules.iter()) {
            if let Some(at) = present.iter().position(|(name, _)| name == id) {
                update(&present[at].1, text);
                self.wanted[at] = rule.clone();
            } else {
                self.array.append(input(&text.clone().into()));
                self.wanted.push(rule.clone());
            }
        }
    }

    pub(super) fn delete(&mut self, id: &str) {
        let present = self.elements().into_iter().find(|(name, _)| name == id);
        if let Some((_, rule)) = present {
            rule.remove();
            self.wanted.retain(|rule| *rule.id != *id);
        }
    }

    /// The text, which was read again: whatever else it became, it holds the rules that it has to.
    pub(super) fn text(&self) -> Result<String, CommandError> {
        let mark = if self.has_mark { MARK.to_string() } else { String::new() };
        let text = format!("{mark}{}", self.root);
        if Rules::from_json(&text)?.iter().eq(&self.wanted) {
            return Ok(text);
        }
        Err(CommandError::Other("its layout does not allow for this change; change it by hand".to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str, limit: u64) -> String {
        format!(r#"{{"rule_id": "{id}", "algorithm": "gcra", "limit": {limit}, "window_size_seconds": 1}}"#)
    }

    fn after(text: &str, change: impl FnOnce(&mut Document)) -> String {
        let mut document = Document::read(text).unwrap();
        change(&mut document);
        document.text().unwrap()
    }

    #[test]
    fn rules_are_put_and_deleted_in_any_layout() {
        let (a, b) = (rule("a", 1), rule("b", 2));
        let layouts = [
            format!("[{a},{b}]"),
            format!("/* top */ [ // first\n{a} // of a\n, {b} /* of b */ // end\n] // last"),
            format!("{{\"rules\": [\r\n\t{a},\r\n\r\n\t// of b\r\n\t{b}\r\n]}}\r\n"),
            format!("\u{feff}[{a}/**/,/**/\n// , ]\n{b}]"),
        ];
        let wanted =
            Document::read(&format!("[{}, {}, {}]", rule("c", 3), rule("b", 9), rule("d", 4))).unwrap();
        for text in &layouts {
            let put = after(text, |document| document.put(&wanted));
            assert!(text.matches("//").count() == put.matches("//").count(), "{put}");
            let (one, none) = (after(&put, |it| it.delete("b")), |it: &mut Document| it.delete("a"));
            let rest = after(&after(&after(&one, none), |it| it.delete("d")), |it| it.delete("c"));
            assert!(Rules::from_json(&rest).unwrap().is_empty());
            assert_eq!(after(&rest, |document| document.put(&wanted)).matches("rule_id").count(), 3);
        }
    }

    #[test]
    fn a_change_touches_nothing_else() {
        let before = r#"[
  { "rule_id": "a", /* who */ "algorithm": "gcra", "limit": 1.0, // one
    "window_size_seconds": 1, "identifier_type": "global", "match": { "methods": ["GET"], // read
      "path_pattern": "/a" } }
]"#;
        let wanted = r#"{"match": {"path_pattern": "/b", "methods": ["GET"]}, "limit": 1.0,
            "window_size_seconds": 1, "rule_id": "a", "algorithm": "gcra", "identifier_type": "global"}"#;
        let wanted = Document::read_some(wanted).unwrap();
        assert_eq!(after(before, |document| document.put(&wanted)), before.replace("/a", "/b"));
    }

    #[test]
    fn texts_are_brought_to_the_margin() {
        let text = "[\n    {\n      \"rule_id\": \"a\", // name\n      \"algorithm\": \"gcra\", \"limit\": 1,\n\
                    \"window_size_seconds\": 1\n    }\n]";
        let texts = Document::read(text).unwrap().texts();
        let margin = "{\n  \"rule_id\": \"a\", // name\n  \"algorithm\": \"gcra\", \"limit\": 1,\n\
                      \"window_size_seconds\": 1\n}";
        assert_eq!(texts, [("a".to_owned(), margin.to_owned())]);
    }
}
