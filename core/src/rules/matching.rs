//! The `match` of a rule, which requests it applies to, and its `unless`, which of them it exempts.

use std::collections::BTreeMap;

use super::fields::{Checked, Fields};
use super::identifier::{is_name, is_token};
use super::json::Json;
use super::model::Match;
use super::table;
use crate::net::subnet::Subnet;
use crate::text::spelling::canonical;
use crate::text::words::quote;

const MAX_PATTERN_BYTES: usize = 2048;
/// Each of them may be compared with a request.
pub(super) const MAX_EXEMPTIONS: usize = 32;
const BALANCED: &str = "a path in which every \"{\" has its \"}\", as in \"/orders/{id}\"";

/// The match of a rule that has one.
pub(super) fn read(rule: &Fields<'_>) -> Checked<Option<Match>> {
    let Some(fields) = rule.optional("match", "an object", Json::object)? else { return Ok(None) };
    conditions("match.", fields).map(Some)
}

/// The exemptions of a rule; none may exempt every request.
pub(super) fn exemptions(rule: &Fields<'_>) -> Checked<Vec<Match>> {
    const RIGHT: &str = "an object of conditions like \"match\", or an array of them";
    let Some(value) = rule.get("unless") else { return Ok(Vec::new()) };
    if !rule.has("match") {
        return Err(
            "field \"unless\" is for a rule with \"match\"; add one, or leave the field out".to_owned()
        );
    }
    let Some(objects) = value.array() else {
        let object = value.object().ok_or_else(|| rule.wrong("unless", RIGHT))?;
        return Ok(vec![exemption(rule, "unless", object)?]);
    };
    if objects.is_empty() {
        return Err(rule.wrong("unless", "an array of at least one object; leave it out for no exemption"));
    }
    if objects.len() > MAX_EXEMPTIONS {
        let (field, count) = (rule.named("unless"), objects.len());
        return Err(format!("{field} has {count} objects; a rule has {MAX_EXEMPTIONS} at most"));
    }
    let read = |(at, object): (usize, &Json)| {
        let name = format!("unless[{at}]");
        let fields = object.object().ok_or_else(|| wrong_item(rule, &name, object, "an object"))?;
        exemption(rule, &name, fields)
    };
    objects.iter().enumerate().map(read).collect()
}

fn exemption(rule: &Fields<'_>, name: &str, fields: &[(String, Json)]) -> Checked<Match> {
    let read = conditions(&format!("{name}."), fields)?;
    if read == Match::default() {
        return Err(format!("{} has no condition, so it exempts every request; add one", rule.named(name)));
    }
    Ok(read)
}

fn conditions(prefix: &str, fields: &[(String, Json)]) -> Checked<Match> {
    let fields = Fields::new(prefix, fields, table::MATCH)?;
    Ok(Match {
        path_pattern: path_pattern(&fields)?,
        methods: methods(&fields)?,
        requires_authentication: fields.flag("requires_authentication")?,
        required_headers: required_headers(&fields)?,
        ip_subnet: ip_subnet(&fields)?,
    })
}

fn path_pattern(fields: &Fields<'_>) -> Checked<Option<String>> {
    let pattern = fields.optional("path_pattern", "a text", Json::text)?;
    if let Some(pattern) = pattern
        && let Some(right) = wrong_with(pattern)
    {
        return Err(fields.wrong("path_pattern", right));
    }
    Ok(pattern.map(str::to_owned))
}

/// What a pattern would have to be, when it is not.
fn wrong_with(pattern: &str) -> Option<&'static str> {
    if !pattern.starts_with(['/', '*']) {
        return Some("a path that begins with \"/\" or \"*\"");
    }
    if pattern.len() > MAX_PATTERN_BYTES {
        return Some("at most 2048 bytes long");
    }
    if pattern.chars().any(char::is_control) {
        return Some("a path without control characters");
    }
    if pattern.contains(['?', '#']) {
        return Some("a path without query, so without \"?\" and \"#\"");
    }
    wrong_with_names(pattern).or_else(|| wrong_with_segments(pattern))
}

fn wrong_with_names(pattern: &str) -> Option<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = pattern;
    while let Some((before, opened)) = rest.split_once('{') {
        let Some((name, after)) = opened.split_once('}') else { return Some(BALANCED) };
        if before.contains('}') {
            return Some(BALANCED);
        }
        if !is_name(name) {
            return Some("a path whose names in braces are of A-Z a-z 0-9 _");
        }
        if names.contains(&name) {
            return Some("a path whose names in braces are all different");
        }
        let is_whole = before.ends_with('/') && (after.is_empty() || after.starts_with(['/', '}']));
        if !is_whole {
            return Some("a path whose names in braces are whole segments, as in \"/orders/{id}\"");
        }
        names.push(name);
        rest = after;
    }
    rest.contains('}').then_some(BALANCED)
}

/// Paths are matched without empty and dot segments, so a pattern with one would never match.
fn wrong_with_segments(pattern: &str) -> Option<&'static str> {
    let pattern = canonical(pattern);
    let pattern = pattern.strip_prefix('/').unwrap_or(&pattern);
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    let never = |segment: &str| matches!(segment, "" | "." | "..");
    let is_wrong = !pattern.is_empty() && pattern.split('/').any(never);
    is_wrong.then_some("a path without empty segments, \".\" and \"..\"")
}

fn methods(fields: &Fields<'_>) -> Checked<Vec<String>> {
    const RIGHT: &str = "an array of HTTP methods, as in [\"GET\", \"POST\"]";
    let methods = fields.optional("methods", RIGHT, Json::array)?;
    let Some(methods) = methods else { return Ok(Vec::new()) };
    if methods.is_empty() {
        return Err(fields.wrong("methods", "an array of at least one method; leave it out for all"));
    }
    let mut read: Vec<String> = Vec::new();
    for (at, method) in methods.iter().enumerate() {
        let name = format!("methods[{at}]");
        let Some(token) = method.text().filter(|text| is_token(text)) else {
            return Err(wrong_item(fields, &name, method, "an HTTP method, as in \"GET\""));
        };
        let token = token.to_ascii_uppercase();
        if read.contains(&token) {
            return Err(format!("{} states {} again; state it once", fields.named(&name), quote(&token)));
        }
        read.push(token);
    }
    Ok(read)
}

fn required_headers(fields: &Fields<'_>) -> Checked<BTreeMap<String, String>> {
    const RIGHT: &str = "an object of names and values of headers";
    let headers = fields.optional("required_headers", RIGHT, Json::object)?;
    let mut read = BTreeMap::new();
    for (name, value) in headers.unwrap_or_default() {
        let path = format!("required_headers.{name}");
        if !is_token(name) {
            let field = fields.named("required_headers");
            return Err(format!("{field} names {}; it has to be the name of an HTTP header", quote(name)));
        }
        let Some(text) = value.text() else {
            return Err(wrong_item(fields, &path, value, "a text (\"*\" for any value)"));
        };
        if read.insert(name.to_ascii_lowercase(), text.to_owned()).is_some() {
            let field = fields.named(&path);
            return Err(format!("{field} is stated twice (capitals do not count); state it once"));
        }
    }
    Ok(read)
}

fn ip_subnet(fields: &Fields<'_>) -> Checked<Vec<String>> {
    const RIGHT: &str = "a network such as \"192.168.1.0/24\" or \"2001:db8::/32\"";
    let Some(value) = fields.get("ip_subnet") else { return Ok(Vec::new()) };
    let Some(networks) = value.array() else {
        let network = value.text().filter(|text| Subnet::parse(text).is_some());
        let network =
            network.ok_or_else(|| fields.wrong("ip_subnet", &format!("{RIGHT}, or an array of them")))?;
        return Ok(vec![network.to_owned()]);
    };
    if networks.is_empty() {
        return Err(fields.wrong("ip_subnet", "an array of at least one network; leave it out for all"));
    }
    let read =
        |(at, network): (usize, &Json)| match network.text().filter(|text| Subnet::parse(text).is_some()) {
            Some(network) => Ok(network.to_owned()),
            None => Err(wrong_item(fields, &format!("ip_subnet[{at}]"), network, RIGHT)),
        };
    networks.iter().enumerate().map(read).collect()
}

fn wrong_item(fields: &Fields<'_>, name: &str, value: &Json, right: &str) -> String {
    format!("{} is {}; it has to be {right}", fields.named(name), value.shown())
}
