//! How to learn which server owns which slots: the question, and what its answer says.

use ::redis::{Cmd, Value, cmd, from_redis_value_ref};

use crate::error::Error;
use crate::net::address::Address;
use crate::redis::settings::login::Role;

const LAST_SLOT: u16 = 16383;

/// Slots from the end of the range before to `last`, and their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::redis) struct Range {
    pub(in crate::redis) first: u16,
    pub(in crate::redis) last: u16,
    pub(in crate::redis) owner: Address,
}

/// Which server owns which slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::redis) struct Topology {
    /// In order of slots.
    pub(super) ranges: Vec<Range>,
    /// Grows with every failover that Sentinels agree on; a Cluster has none.
    pub(in crate::redis) epoch: Option<u64>,
}

/// Who is asked for the topology.
#[derive(Debug, Clone)]
pub(in crate::redis) enum Discovery {
    /// Any node of the Cluster.
    Cluster,
    /// Any Sentinel, about the service of this name.
    Sentinel(String),
}

impl Discovery {
    /// The question, and what the server is that answers it.
    pub(in crate::redis) fn query(&self) -> (Cmd, Role) {
        match self {
            Self::Cluster => (cmd("CLUSTER").arg("SLOTS").take(), Role::Data),
            Self::Sentinel(service) => (cmd("SENTINEL").arg("MASTER").arg(service).take(), Role::Sentinel),
        }
    }

    /// What the answer says; the error says why it cannot be used.
    pub(in crate::redis) fn answer(&self, value: &Value, answered: &Address) -> Result<Topology, String> {
        match self {
            Self::Cluster => Ok(Topology { ranges: cluster(value, answered)?, epoch: None }),
            Self::Sentinel(_) => sentinel(value),
        }
    }

    /// The further question after an answer amid a failover. The Sentinel that leads one goes on to describe the old primary
    /// after another server has been promoted, already with the new epoch; the address it names is right.
    pub(in crate::redis) fn question_amid_failover(&self, value: &Value) -> Option<Cmd> {
        let Self::Sentinel(service) = self else { return None };
        let is_amid_failover = field(value, "flags")?.split(',').any(|flag| flag == "failover_in_progress");
        is_amid_failover.then(|| cmd("SENTINEL").arg("GET-MASTER-ADDR-BY-NAME").arg(service).take())
    }

    /// Why the question was refused, if it was about something that does not exist.
    pub(in crate::redis) fn refused(&self, error: &Error) -> Option<String> {
        match self {
            Self::Sentinel(service) if error.message().contains("No such master") => {
                Some(format!("the service {service:?} is not known"))
            }
            Self::Cluster | Self::Sentinel(_) => None,
        }
    }
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
    let [Value::Int(first), Value::Int(last), Value::Array(owner), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = owner.as_slice() else { return None };
    // A null is what an empty host is.
    let host = text(host).unwrap_or_default();
    let owner = Address::announced(&host, u16::try_from(*port).ok()?, answered)?;
    Some(Range { first: u16::try_from(*first).ok()?, last: u16::try_from(*last).ok()?, owner })
}

impl Topology {
    /// The same with the primary that is named by the answer to the further question.
    pub(super) fn with_primary(self, value: &Value) -> Result<Self, String> {
        let not_understood =
            || "the answer to SENTINEL GET-MASTER-ADDR-BY-NAME was not understood".to_owned();
        let (host, port): (String, String) = from_redis_value_ref(value).map_err(|_| not_understood())?;
        let owner = Address::Tcp(host, port.parse().map_err(|_| not_understood())?);
        Ok(Self { ranges: vec![Range { first: 0, last: LAST_SLOT, owner }], ..self })
    }
}

/// A field of what a Sentinel says of a service.
fn field(value: &Value, name: &str) -> Option<String> {
    let (_, field) = value.as_map_iter()?.find(|(key, _)| text(key).as_deref() == Some(name))?;
    text(field)
}

fn sentinel(value: &Value) -> Result<Topology, String> {
    let field = |name: &str| field(value, name);
    let (Some(host), Some(port)) = (field("ip"), field("port").and_then(|port| port.parse().ok())) else {
        return Err("the answer to SENTINEL MASTER was not understood".to_owned());
    };
    let owner = Address::Tcp(host, port);
    let epoch = field("config-epoch").and_then(|epoch| epoch.parse().ok());
    Ok(Topology { ranges: vec![Range { first: 0, last: LAST_SLOT, owner }], epoch })
}

fn text(value: &Value) -> Option<String> {
    from_redis_value_ref(value).ok()
}
