//! One rule.

use super::fallback::Fallback;
use super::fields::{Checked, Fields};
use super::id::RuleId;
use super::json::{Json, MAX_WHOLE};
use super::model::{Algorithm, Rule, Scope};
use super::{algorithm, block, global, identifier, lease, limits, matching, table};

const RULE_ID: &str = "1 to 128 of A-Z a-z 0-9 _ . : / -";
const DEFAULT_IPV6_PREFIX: u8 = 64;
const DEFAULT_LEASE_US: u64 = 60_000_000;

/// The rule at a position of its file, counted from 0.
pub(super) fn read(value: &Json, at: usize) -> Checked<Rule> {
    let label = label(value, at);
    let Some(fields) = value.object() else {
        return Err(format!("{label}: it is {}; it has to be an object", value.shown()));
    };
    read_fields(fields).map_err(|fault| format!("{label}: {fault}"))
}

/// How messages call a rule: by its id or, if it has no valid one, by its position.
fn label(value: &Json, at: usize) -> String {
    let id = value.object().and_then(|fields| fields.iter().find(|field| field.0 == "rule_id"));
    match id.and_then(|(_, id)| read_id(id)) {
        Some(id) => format!("rule \"{id}\""),
        None => format!("rule {}", at + 1),
    }
}

fn read_fields(fields: &[(String, Json)]) -> Checked<Rule> {
    for (name, _) in fields {
        if let Some(place) = table::place_inside(name) {
            return Err(format!("field \"{name}\" does not belong here; move it into {place}"));
        }
    }
    let fields = Fields::new("", fields, table::RULE)?;
    let id = fields.required("rule_id", RULE_ID, read_id)?;
    let description = fields.optional("description", "a text", Json::text)?;
    let algorithm = algorithm::read(&fields)?;
    let limits = limits::read(&fields, algorithm)?;
    let matches = matching::read(&fields)?;
    let unless = matching::exemptions(&fields)?;
    let resource_identifier_type = identifier::read(&fields, "resource_identifier_type", matches.as_ref())?;
    if resource_identifier_type.is_some() && limits.iter().all(|limit| limit.scope == Scope::Key) {
        return Err(
            "field \"resource_identifier_type\" is for a rule with a limit of \"scope\": \"resource\"; \
             add one, or leave the field out"
                .to_owned(),
        );
    }
    if fields.has("cost") && matches.is_none() {
        return Err("field \"cost\" is for a rule with \"match\"; add one, or leave the field out".to_owned());
    }
    let whole = format!("a whole number from 1 to {MAX_WHOLE}");
    let cost = fields.optional("cost", &whole, |value| value.whole(1, MAX_WHOLE))?;
    let lease_us = reservation_lease(&fields, algorithm)?;
    let block = block::block(&fields, &limits)?;
    let overrides = block::overrides(&fields, &limits)?;
    let global_us = global::global(&fields, &limits)?;
    let lease = lease::lease(&fields, &limits)?;
    let rule = Rule {
        id: RuleId::from(id),
        description: description.unwrap_or_default().to_owned(),
        identifier_type: identifier::read_key(&fields, matches.as_ref())?,
        resource_identifier_type,
        algorithm,
        limits,
        count_denied: fields.flag("count_denied")?,
        lease_us,
        block,
        overrides,
        global_us,
        lease,
        shadow: fields.flag("shadow")?,
        fallback: fields.one_of_few("fallback", &Fallback::WORDS)?,
        priority: priority(&fields)?,
        ipv6_prefix_length: ipv6_prefix_length(&fields)?,
        matches,
        unless,
        cost: cost.map_or(1, i64::unsigned_abs),
    };
    ensure_counts(&rule, &fields)?;
    Ok(rule)
}

/// Refuses a rule that requests would match and that would count none of them.
fn ensure_counts(rule: &Rule, fields: &Fields<'_>) -> Checked<()> {
    if rule.matches.is_none() {
        return Ok(());
    }
    if rule.identifier_type.is_none() {
        return Err(identifier::missing(fields, "identifier_type", "a rule with \"match\""));
    }
    let limits_resource = rule.limits.iter().any(|limit| limit.scope == Scope::Resource);
    if limits_resource && rule.resource_identifier_type.is_none() {
        let such = "a rule with \"match\" and a limit of \"scope\": \"resource\"";
        return Err(identifier::missing(fields, "resource_identifier_type", such));
    }
    Ok(())
}

/// How long reservations live, in microseconds, for a rule that has them.
fn reservation_lease(fields: &Fields<'_>, algorithm: Algorithm) -> Checked<Option<u64>> {
    let reserves = fields.flag("reservations")? || algorithm == Algorithm::Concurrency;
    if reserves && fields.flag("count_denied")? {
        return Err(
            "field \"reservations\" and \"count_denied\" exclude each other; leave one out".to_owned()
        );
    }
    if !reserves && fields.has("lease_seconds") {
        return Err(
            "field \"lease_seconds\" is for a rule with \"reservations\"; add \"reservations\": true, or \
                    leave the field out"
                .to_owned(),
        );
    }
    let lease = fields.optional("lease_seconds", limits::WINDOW, limits::window)?;
    Ok(reserves.then_some(lease.unwrap_or(DEFAULT_LEASE_US)))
}

fn read_id(value: &Json) -> Option<&str> {
    let is_id_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    value.text().filter(|id| (1..=128).contains(&id.len()) && id.bytes().all(is_id_byte))
}

fn priority(fields: &Fields<'_>) -> Checked<i64> {
    let right = format!("a whole number from -{MAX_WHOLE} to {MAX_WHOLE}");
    let priority = fields.optional("priority", &right, |value| value.whole(-MAX_WHOLE, MAX_WHOLE))?;
    Ok(priority.unwrap_or(0))
}

fn ipv6_prefix_length(fields: &Fields<'_>) -> Checked<u8> {
    let bits = |value: &Json| value.whole(1, 128).and_then(|bits| u8::try_from(bits).ok());
    let length = fields.optional("ipv6_prefix_length", "a whole number from 1 to 128", bits)?;
    Ok(length.unwrap_or(DEFAULT_IPV6_PREFIX))
}

/// The message for a rule whose id an earlier one has.
pub(super) fn repeated(id: &str, earlier: usize, at: usize) -> String {
    let (earlier, at) = (earlier + 1, at + 1);
    format!(
        "rule \"{id}\": field \"rule_id\" is the same in rule {earlier} and rule {at}; ids have to differ"
    )
}
