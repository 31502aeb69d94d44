//! One search for the topology, of the simulation.

use super::super::discovery::Topology;
use crate::address::Address;
use crate::error::{Error, Result};

/// One search for the topology.
pub(super) struct Search {
    pub(super) seeds: Vec<Address>,
    pub(super) asked: usize,
    pub(super) awaited: usize,
    /// What each of them said, until it is confirmed.
    pub(super) topologies: Vec<Option<Topology>>,
    pub(super) failure: Option<Error>,
    pub(super) is_over: bool,
    pub(super) result: Option<Result<()>>,
}
