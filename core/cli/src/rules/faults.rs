//! Every fault of a text of rules, each with its place.
//!
//! The reader stops at the first fault. So every rule is read for itself, and again without the field that was at
//! fault, until nothing is wrong with what is left.

use std::collections::HashMap;

use sluicegate::Rules;

use super::tree::{JsonContent, JsonNode, unreadable_from};

/// A rule cannot have more faults than this reports.
const MOST: usize = 100;

/// What takes the place of a field without which the rest of a rule cannot be read.
const PLACEHOLDERS: [(&str, &str); 5] = [
    ("rule_id", "\"rule\""),
    ("limit", "1"),
    ("window_size_seconds", "1"),
    ("resolution_seconds", "1"),
    ("rate", "\"1/s\""),
];

/// `LINE:COLUMN: MESSAGE` for each fault, in the order of the text; none if the rules are valid.
pub(super) fn faults(text: &str) -> Vec<String> {
    let Err(first) = Rules::from_json(text) else { return Vec::new() };
    // A byte order mark is not part of the text that is parsed.
    let bare = text.trim_start_matches('\u{feff}');
    let Some(root) = JsonNode::read(bare).filter(|_| !first.message().starts_with("not valid JSON")) else {
        return vec![with_its_place(first.message(), bare)];
    };
    let mut found = match rules_of(&root) {
        Some(rules) => faults_of_rules(rules),
        None => Vec::new(),
    };
    if found.is_empty() {
        found.push((root.find(field_of(first.message()).unwrap_or_default()), first.message().to_owned()));
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(at, message)| format!("{}: {message}", line_and_column(bare, at))).collect()
}

fn rules_of(root: &JsonNode) -> Option<&[JsonNode]> {
    match &root.content {
        JsonContent::Array(rules) => Some(rules),
        JsonContent::Object(fields) => fields.iter().find(|field| field.name == "rules").and_then(|field| {
            if let JsonContent::Array(rules) = &field.value.content { Some(rules.as_slice()) } else { None }
        }),
        JsonContent::Other(_) => None,
    }
}

fn faults_of_rules(rules: &[JsonNode]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut positions = HashMap::new();
    for (position, rule) in rules.iter().enumerate() {
        faults_of_rule(rule, position + 1, &mut found);
        let Some(id) = id_of(rule) else { continue };
        if let Some(earlier) = positions.insert(id.clone(), position + 1) {
            let at = rule.find("rule_id");
            let position = position + 1;
            found.push((
                at,
                format!(
                    "rule {id}: field \"rule_id\" is the same in rule {earlier} and rule {position}; \
                     ids have to differ"
                ),
            ));
        }
    }
    found
}

/// The id as it is written, in quotes.
fn id_of(rule: &JsonNode) -> Option<String> {
    let JsonContent::Object(fields) = &rule.content else { return None };
    let id = &fields.iter().find(|field| field.name == "rule_id")?.value.content;
    if let JsonContent::Other(text) = id { text.starts_with('"').then(|| text.clone()) } else { None }
}

fn faults_of_rule(rule: &JsonNode, number: usize, found: &mut Vec<(usize, String)>) {
    // Positions are those of the text; what is read again is a copy.
    let Some(mut rest) = JsonNode::read(&rule.text()) else { return };
    let mut taken: Vec<String> = Vec::new();
    for _ in 0..MOST {
        let Err(error) = Rules::from_json(&format!("[{}]", rest.text())) else { return };
        let message = error.message();
        let path = field_of(message).unwrap_or_default();
        // That is our doing: the field was there, and was at fault.
        let is_gone = message.contains("is missing; it has to be") && taken.iter().any(|field| field == path);
        if !is_gone {
            let message = match message.strip_prefix("rule 1: ") {
                Some(rest) => format!("rule {number}: {rest}"),
                None => message.replacen("rule \"rule\": ", &format!("rule {number}: "), 1),
            };
            found.push((rule.find(path), message));
        }
        // What an option has to be depends on the algorithm; without one nothing more can be said.
        if path.is_empty() || path == "algorithm" {
            return;
        }
        let is_removed = rest.remove(path);
        // A rate stands for fields that would then be missing, unless they are there too.
        let is_rate = path.ends_with("rate") && !message.contains("exclude each other");
        if !is_removed || is_rate {
            let Some(placeholder) = placeholder(path) else { return };
            rest.insert(path, placeholder);
        }
        taken.push(path.to_owned());
    }
}

fn placeholder(path: &str) -> Option<&'static str> {
    let name = path.rsplit('.').next().unwrap_or(path);
    PLACEHOLDERS.iter().find(|(field, _)| *field == name).map(|(_, text)| *text)
}

/// The place in front of what is said of a text that is not JSON.
fn with_its_place(message: &str, text: &str) -> String {
    match message.rsplit_once(" at line ").and_then(|(what, at)| Some((what, at.split_once(" column ")?))) {
        Some((what, (line, column))) => format!("{line}:{column}: {what}"),
        None => format!("{}: {message}", line_and_column(text, unreadable_from(text))),
    }
}

/// The path of the field that a message is about.
fn field_of(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("field \"")?;
    rest.split_once('"').map(|(path, _)| path)
}

fn line_and_column(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_rules_have_no_fault() {
        assert!(faults("\u{feff}[] // none").is_empty());
    }

    #[test]
    fn what_is_no_list_of_rules_is_one_fault() {
        assert_eq!(
            faults("5"),
            ["1:1: it is 5; it has to be an array of rules, or an object with \"rules\""]
        );
        let other = "{\n  \"rules\": [], \"version\": 1\n}";
        assert_eq!(
            faults(other),
            ["2:16: field \"version\" is not known; it could be \"rules\" or \"$schema\""]
        );
        assert_eq!(faults("[{"), ["1:2: not valid JSON: EOF while parsing an object"]);
        let comment = "not valid JSON: the comment that begins with /* in line 2 has no */";
        assert_eq!(faults("[\n  /* a /* b\n]"), [format!("2:3: {comment}")]);
    }

    #[test]
    fn every_fault_of_every_rule_has_its_place() {
        let text = r#"[
  { "rule_id": "a b", "algorithm": "gcra", "limit": "five", "window_size_seconds": 0, "shadw": true },
  { "rule_id": "b", "algorithm": "decai", "limit": 0 },
  7,
  { "rule_id": "c", "algorithm": "gcra", "limits": [
      { "limit": 1, "window_size_seconds": 60 },
      { "limit": -1 }
    ], "priority": "high", "match": { "methods": [], "ip_subnet": "10.0.0.0/40" }, "identifier_type": "global" },
  { "rule_id": "b", "algorithm": "gcra", "limit": 1, "limit": 2, "window_size_seconds": 60 },
  { "rule_id": "d", "rate": "5/minut" },
  { "rule_id": "e", "rate": "5/s", "limit": 5, "priority": "low" }
]"#;
        let faults = faults(text);
        let starts: Vec<_> = faults.iter().map(|fault| fault.split(" is ").next().unwrap()).collect();
        assert_eq!(
            starts,
            [
                "2:5: rule 1: field \"rule_id\"",
                "2:44: rule 1: field \"limit\"",
                "2:61: rule 1: field \"window_size_seconds\"",
                "2:87: rule 1: field \"shadw\"",
                "3:21: rule \"b\": field \"algorithm\"",
                "4:3: rule 3: it",
                "7:7: rule \"c\": field \"limits[1].window_size_seconds\"",
                "7:9: rule \"c\": field \"limits[1].limit\"",
                "8:8: rule \"c\": field \"priority\"",
                "8:39: rule \"c\": field \"match.methods\"",
                "8:54: rule \"c\": field \"match.ip_subnet\"",
                "9:5: rule \"b\": field \"rule_id\"",
                "9:54: rule \"b\": field \"limit\"",
                "10:21: rule \"d\": field \"rate\"",
                "11:36: rule \"e\": field \"limit\" and \"rate\" exclude each other; leave one out",
                "11:48: rule \"e\": field \"priority\"",
            ],
            "{faults:#?}"
        );
    }
}
