//! How to learn which server owns which slots: the question, and what its answer says.

use std::time::Duration;

use ::redis::{Cmd, Value};

use super::address::Address;

/// The last slot of a Cluster.
const LAST_SLOT: u16 = 16383;

/// Slots from the end of the range before to `last`, and their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) owner: Address,
}

/// Who is asked.
pub(super) enum Discovery {
    /// Any node of the Cluster.
    Cluster,
    /// Any Sentinel, about the service of this name.
    Sentinel(String),
}

impl Discovery {
    pub(super) fn question(&self) -> Cmd {
        let mut cmd = Cmd::new();
        match self {
            Self::Cluster => cmd.arg("CLUSTER").arg("SLOTS"),
            Self::Sentinel(service) => cmd.arg("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service),
        };
        cmd
    }

    /// The owners, in order of slots; the error says why the answer cannot be used.
    pub(super) fn answer(&self, value: &Value, answered: &Address) -> Result<Vec<Range>, String> {
        match self {
            Self::Cluster => cluster(value, answered),
            Self::Sentinel(service) => sentinel(value, service),
        }
    }

    /// Whether the owner found must confirm that it is a primary: a Sentinel may be behind.
    pub(super) fn needs_confirmation(&self) -> bool {
        matches!(self, Self::Sentinel(_))
    }
}

/// How long to wait for the first of so many advisers, any of which will do: one that is silent leaves time for
/// the next.
pub(super) fn patience(left: Duration, advisers: usize) -> Duration {
    if advisers > 1 { left / 2 } else { left }
}

/// Asks a server what it is.
pub(super) fn role() -> Cmd {
    ::redis::cmd("ROLE")
}

/// Whether the answer to [`role`] is that of a primary.
pub(super) fn is_primary(value: &Value) -> bool {
    matches!(value, Value::Array(items) if items.first().and_then(text).as_deref() == Some("master"))
}

fn cluster(value: &Value, answered: &Address) -> Result<Vec<Range>, String> {
    let Value::Array(items) = value else {
        return Err("the answer to CLUSTER SLOTS is not a list".to_owned());
    };
    let mut ranges: Vec<Range> = items.iter().filter_map(|item| range(item, answered)).collect();
    if ranges.is_empty() {
        return Err("no slot has an owner".to_owned());
    }
    ranges.sort_by_key(|range| range.first);
    Ok(ranges)
}

/// `[first, last, [host, port, ...], replicas...]`
fn range(item: &Value, answered: &Address) -> Option<Range> {
    let Value::Array(parts) = item else { return None };
    let [first, last, Value::Array(owner), ..] = parts.as_slice() else { return None };
    let [host, port, ..] = owner.as_slice() else { return None };
    // A null or empty host means "the one you asked"; `?` means that the node does not know.
    let host = text(host).unwrap_or_default();
    if host == "?" {
        return None;
    }
    Some(Range {
        first: number(first)?,
        last: number(last)?,
        owner: Address::announced(&host, number(port)?, answered),
    })
}

fn sentinel(value: &Value, service: &str) -> Result<Vec<Range>, String> {
    let unknown = || format!("the service {service:?} is not known");
    let Value::Array(parts) = value else { return Err(unknown()) };
    let [host, port] = parts.as_slice() else { return Err(unknown()) };
    let (Some(host), Some(port)) = (text(host), text(port).and_then(|port| port.parse().ok())) else {
        return Err(unknown());
    };
    Ok(vec![Range { first: 0, last: LAST_SLOT, owner: Address::Tcp(host, port) }])
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::Int(number) => u16::try_from(*number).ok(),
        _ => None,
    }
}
