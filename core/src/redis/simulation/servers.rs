//! The model of servers: what each of them knows and stores.

use std::sync::LazyLock;

use super::plan::{RefusedScript, Scenario, Setup, TAGS, Time};
use super::protocol::{Key, SCRIPT_COUNT, bulk};
use crate::keys::slots::slot_of;

/// The hash slot of each tag.
pub(super) static SLOTS: LazyLock<[u16; TAGS]> =
    LazyLock::new(|| std::array::from_fn(|tag| slot_of(format!("t{tag}").as_bytes())));

#[derive(Default)]
pub(super) struct Server {
    pub(super) is_primary: bool,
    pub(super) hung_until: Time,
    pub(super) down_until: Time,
    pub(super) unreachable_until: Time,
    pub(super) refusal: Option<(RefusedScript, Time)>,
    /// The scripts that it knows.
    pub(super) scripts: [bool; SCRIPT_COUNT],
    /// How much each counter is charged.
    pub(super) counters: [u64; TAGS],
    /// The owner of each slot, as far as this node of a Cluster knows.
    pub(super) owners: [usize; TAGS],
}

/// A slot on its way to another server.
#[derive(Clone, Copy)]
pub(super) struct Migration {
    pub(super) to: usize,
    /// How many thirds of its keys have moved.
    pub(super) progress: usize,
}

impl Migration {
    pub(super) fn has_moved(self, key: Key) -> bool {
        key.family % 3 < self.progress
    }
}

pub(super) struct Deployment {
    pub(super) servers: Vec<Server>,
    /// The server that is in charge, of `Setup::One` and `Setup::Sentinel`.
    pub(super) primary: usize,
    pub(super) epoch: u64,
    /// Primary and epoch as each Sentinel knows them.
    pub(super) sentinels: [(usize, u64); 3],
    pub(super) owners: [usize; TAGS],
    pub(super) migrations: [Option<Migration>; TAGS],
    /// What the whole Cluster has counted: state moves with its slot.
    pub(super) counters: [u64; TAGS],
}

impl Deployment {
    pub(super) fn new(plan: &Scenario) -> Self {
        let owners = std::array::from_fn(|tag| tag % 3);
        let masters = if plan.setup == Setup::Cluster { 3 } else { 1 };
        let server = |id| Server { is_primary: id < masters, owners, ..Server::default() };
        Self {
            servers: (0..plan.servers()).map(server).collect(),
            primary: 0,
            epoch: 0,
            sentinels: [(0, 0); 3],
            owners,
            migrations: [None; TAGS],
            counters: [0; TAGS],
        }
    }

    /// `CLUSTER SLOTS` of a node. Every slot belongs to the next tag.
    pub(super) fn cluster_slots(&self, node: usize) -> String {
        let mut tags: Vec<usize> = (0..TAGS).collect();
        tags.sort_by_key(|tag| SLOTS[*tag]);
        let mut text = format!("*{TAGS}\r\n");
        let mut first = 0;
        for (place, tag) in tags.iter().enumerate() {
            let last = if place == TAGS - 1 { 16383 } else { SLOTS[*tag] };
            let owner = bulk(&format!("h{}", self.servers[node].owners[*tag]));
            text += &format!("*3\r\n:{first}\r\n:{last}\r\n*3\r\n{owner}:1\r\n{}", bulk("id"));
            first = last + 1;
        }
        text
    }

    pub(super) fn role(&self, server: usize) -> String {
        match self.servers[server].is_primary {
            true => format!("*3\r\n{}:0\r\n*0\r\n", bulk("master")),
            false => {
                format!("*5\r\n{}{}:1\r\n{}:0\r\n", bulk("slave"), bulk("other"), bulk("connected"))
            }
        }
    }

    /// What a Sentinel says about the service.
    pub(super) fn sentinel(&self, sentinel: usize) -> String {
        let (primary, epoch) = self.sentinels[sentinel];
        let fields = [
            "name",
            "service",
            "ip",
            &format!("h{primary}"),
            "port",
            "1",
            "config-epoch",
            &epoch.to_string(),
        ];
        format!("*{}\r\n{}", fields.len(), fields.map(bulk).concat())
    }
}
