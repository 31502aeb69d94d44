//! Names of state in Redis: from what a caller passes as a key to the slot of a Cluster.

pub(crate) mod address;
pub(crate) mod composite;
pub(crate) mod key;
pub(crate) mod secret;
pub(crate) mod slots;
