//! Makes the JSON Schema of rules of the table that the reader uses.

use std::path::Path;
use std::{env, fs};

use serde_json::{Map, Value, json};

use super::algorithm::DEFAULTS;
use super::identifier::MAX_PARTS;
use super::limits::{MAX_BURST, MAX_LOG};
use super::matching::MAX_EXEMPTIONS;
use super::rate::UNITS;
use super::table::{FILE, Field, FieldKind, LIMIT, RULE};

/// A token of HTTP: the name of a method or a header.
const TOKEN: &str = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";

fn made() -> String {
    let array = json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rules of Sluicegate",
        "description": "An array of rules, or an object with it as \"rules\". Comments may stand in files.",
        "if": { "type": "array" },
        "then": array,
        "else": object(FILE),
        "$defs": { "rule": rule(), "identifier": identifier() },
    });
    format!("{schema:#}\n")
}

fn rule() -> Value {
    let mut rule = object(RULE);
    rule["description"] = json!("A named policy: an algorithm and one or more limits.");
    rule["allOf"] =
        RULE.iter().filter(|field| !field.algorithms.is_empty()).map(option).chain(limits()).collect();
    rule
}

/// An object with these fields and no others.
fn object(fields: &[Field]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.to_owned(), described(field))).collect();
    let required: Vec<_> = fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn described(field: &Field) -> Value {
    let mut value = value(&field.kind);
    value["description"] = json!(field.about);
    value
}

fn value(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::Flag => json!({ "type": "boolean" }),
        FieldKind::RuleId => json!({ "type": "string", "pattern": "^[A-Za-z0-9_.:/-]{1,128}$" }),
        FieldKind::Algorithm => json!({ "enum": DEFAULTS.map(|algorithm| algorithm.name()) }),
        FieldKind::Rate => {
            json!({ "type": "string", "pattern": rate(), "examples": ["5/minute", "100/s", "20/30s"] })
        }
        FieldKind::Identifier => json!({ "$ref": "#/$defs/identifier" }),
        FieldKind::Identifiers => json!({ "anyOf": [
            { "$ref": "#/$defs/identifier" },
            {
                "type": "array", "minItems": 1, "maxItems": MAX_PARTS, "uniqueItems": true,
                "items": { "$ref": "#/$defs/identifier" },
            },
        ] }),
        FieldKind::PathPattern => json!({ "type": "string", "maxLength": 2048, "pattern": path_pattern() }),
        FieldKind::Methods => json!({
            "type": "array", "minItems": 1, "uniqueItems": true,
            "items": { "type": "string", "pattern": format!("^{TOKEN}$") },
        }),
        FieldKind::Headers => json!({
            "type": "object", "propertyNames": { "pattern": format!("^{TOKEN}$") },
            "additionalProperties": { "type": "string" },
        }),
        FieldKind::Networks => json!({
            "anyOf": [network(), { "type": "array", "minItems": 1, "items": network() }],
        }),
        FieldKind::Word(words) => json!({ "enum": words }),
        FieldKind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        FieldKind::Number(least, None) => json!({ "type": "number", "minimum": least }),
        FieldKind::Number(least, Some(most)) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        FieldKind::Object(fields) => object(fields),
        FieldKind::Exemptions(fields) => exemptions(fields),
        FieldKind::Objects(fields) => json!({ "type": "array", "minItems": 1, "items": object(fields) }),
        FieldKind::Rules => json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } }),
    }
}

/// Objects that state a condition: without one they would exempt every request.
fn exemptions(fields: &[Field]) -> Value {
    let mut one = object(fields);
    one["anyOf"] = json!([
        { "required": ["path_pattern"] },
        { "required": ["methods"] },
        { "required": ["ip_subnet"] },
        { "required": ["required_headers"], "properties": { "required_headers": { "minProperties": 1 } } },
        {
            "required": ["requires_authentication"],
            "properties": { "requires_authentication": { "const": true } },
        },
    ]);
    let several = json!({ "type": "array", "minItems": 1, "maxItems": MAX_EXEMPTIONS, "items": one });
    json!({ "anyOf": [one, several] })
}

fn rate() -> String {
    format!("^0*[1-9][0-9]*/(0*[1-9][0-9]*)?({})$", UNITS.map(|unit| unit.0).join("|"))
}

fn identifier() -> Value {
    let pattern = format!("^(user_id|ip_address|api_key|global|header:{TOKEN}|path:[A-Za-z0-9_]+)$");
    json!({
        "type": "string",
        "pattern": pattern,
        "examples": ["user_id", "ip_address", "api_key", "header:X-Tenant", "path:id", "global"],
    })
}

/// No query, control character, empty segment or dot segment; a name in braces is a whole segment.
fn path_pattern() -> &'static str {
    concat!(
        r"^(?!//.|.+//)(?!.*/(\.|%2[eE]){1,2}(/|$))[/*]",
        r"([^{}?#\u0000-\u001f\u007f]|(?<=/)\{[A-Za-z0-9_]+\}(?=/|$))*$",
    )
}

fn network() -> Value {
    let byte = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])";
    let ipv4 = format!(r"({byte}\.){{3}}{byte}(/(3[0-2]|[12]?[0-9]))?");
    let ipv6 = "[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?";
    json!({ "type": "string", "pattern": format!("^({ipv4}|{ipv6})$"), "examples": ["192.168.1.0/24", "2001:db8::/32"] })
}

/// The algorithms without a window.
const WINDOWLESS: &[&str] = &["decay", "concurrency"];

/// A field that other algorithms do not have.
fn option(field: &Field) -> Value {
    let mut refused = json!({ "properties": { field.name: false } });
    if LIMIT.iter().any(|inside| inside.name == field.name) {
        refused["properties"]["limits"] = each_limit(json!({ "properties": { field.name: false } }));
    }
    json!({ "if": algorithm(field.algorithms), "else": refused })
}

/// What limits have to be, by the algorithm and by whether there are several.
fn limits() -> impl Iterator<Item = Value> {
    let window = "window_size_seconds";
    let slot = "resolution_seconds";
    let whole = json!({
        "if": { "required": ["rate"] },
        "then": { "properties": { "limit": false, window: false, "window": false } },
        "else": {
            "properties": { "limit": { "type": "integer" } },
            "required": ["limit"],
            "oneOf": [{ "required": [window] }, { "required": ["window"] }],
        },
    });
    let limit_is_whole = json!({ "properties": { "limit": { "type": "integer" } } });
    let no_window = json!({ "properties": { window: false } });
    [
        json!({
            "if": { "required": ["limits"] },
            "then": { "properties": { "limit": false, window: false, "window": false, "rate": false } },
        }),
        json!({ "if": algorithm(WINDOWLESS), "then": everywhere(&no_window), "else": stated(&whole) }),
        json!({ "if": algorithm(WINDOWLESS), "then": stated(&json!({ "required": ["limit"] })) }),
        json!({ "if": algorithm(&["concurrency"]), "then": stated(&limit_is_whole) }),
        json!({
            "if": { "properties": { "reservations": { "const": true } }, "required": ["reservations"] },
            "then": { "properties": { "count_denied": { "const": false } } },
            "else": { "anyOf": [
                algorithm(&["concurrency"]), { "properties": { "lease_seconds": false } },
            ] },
        }),
        json!({
            "properties": { "block": { "dependentRequired": { "factor": ["seconds"], "max_seconds": ["seconds"] } } },
        }),
        json!({
            "if": { "properties": { "overrides": { "const": true } }, "required": ["overrides"] },
            "then": { "properties": { "limits": {
                "maxItems": 1, "items": { "properties": { "scope": { "const": "key" } } },
            } } },
        }),
        json!({
            "if": { "required": ["global"] },
            "then": { "properties": {
                "limits": { "maxItems": 1, "items": { "properties": { "scope": { "const": "key" } } } },
                "block": false,
                "count_denied": false,
            } },
        }),
        json!({
            "if": { "required": ["lease"] },
            "then": { "properties": {
                "limits": { "maxItems": 1, "items": { "properties": { "scope": { "const": "key" }, "window": false } } },
                "block": false,
                "count_denied": false,
                "global": false,
                "overrides": false,
                "reservations": false,
                "window": false,
            } },
        }),
        json!({
            "if": { "required": ["block"] },
            "then": { "properties": { "limits": { "items": { "properties": { "scope": { "const": "key" } } } } } },
        }),
        json!({
            "if": { "anyOf": [{ "required": ["cost"] }, { "required": ["unless"] }] },
            "then": { "required": ["match"] },
        }),
        json!({ "if": { "required": ["match"] }, "then": { "required": ["identifier_type"] } }),
        json!({
            "if": { "required": ["match", "limits"], "properties": { "limits": has_resource() } },
            "then": { "required": ["resource_identifier_type"] },
        }),
        json!({
            "if": { "allOf": [algorithm(&["decay"]), { "not": { "required": [slot] } }] },
            "then": stated(&json!({ "required": [slot] })),
        }),
        stated(&json!({ "dependentRequired": { "time_zone": ["window"], "month_start_day": ["window"] } })),
        stated(&json!({
            "if": { "required": ["month_start_day"] },
            "then": { "properties": { "window": { "const": "month" } } },
        })),
        json!({
            "if": { "required": ["window_start"] },
            "then": everywhere(&json!({ "properties": { "window": false } })),
        }),
        json!({ "if": algorithm(&["sliding_log"]), "then": everywhere(&at_most(MAX_LOG)) }),
        json!({
            "if": { "allOf": [gcra(), { "not": { "required": ["burst"] } }] },
            "then": everywhere(&at_most(MAX_BURST as i64)),
        }),
        json!({ "if": { "required": ["burst"] }, "then": { "properties": { "limits": { "maxItems": 1 } } } }),
        json!({ "if": { "required": ["resource_identifier_type"] }, "then": {
            "required": ["limits"],
            "properties": { "limits": has_resource() },
        } }),
    ]
    .into_iter()
}

/// Whether the rule has one of these algorithms; `gcra` is that of a rule that names none.
fn algorithm(names: &[&str]) -> Value {
    let required: &[&str] = if names.contains(&"gcra") { &[] } else { &["algorithm"] };
    json!({ "properties": { "algorithm": { "enum": names } }, "required": required })
}

fn gcra() -> Value {
    algorithm(&["gcra", "token_bucket", "leaky_bucket"])
}

fn at_most(most: i64) -> Value {
    json!({ "properties": { "limit": { "maximum": most } } })
}

/// One of the limits is that of a resource.
fn has_resource() -> Value {
    json!({ "contains": { "properties": { "scope": { "const": "resource" } }, "required": ["scope"] } })
}

fn each_limit(entry: Value) -> Value {
    json!({ "items": entry })
}

/// The rule's own fields, and those of each entry of `limits`, are so.
fn everywhere(what: &Value) -> Value {
    json!({ "allOf": [what, { "properties": { "limits": each_limit(what.clone()) } }] })
}

/// The limit is so, where it is stated: in the rule, or in each entry of `limits`.
fn stated(what: &Value) -> Value {
    json!({
        "if": { "required": ["limits"] },
        "then": { "properties": { "limits": each_limit(what.clone()) } },
        "else": what,
    })
}

#[test]
fn the_schema_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules/schema.json");
    if env::var_os("SLUICEGATE_WRITE_SCHEMA").is_some() {
        fs::write(&path, made()).unwrap();
    }
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let written = fs::read_to_string(&path).unwrap();
    assert_eq!(parsed(&written), parsed(&made()), "write it: SLUICEGATE_WRITE_SCHEMA=1 cargo test schema");
}
