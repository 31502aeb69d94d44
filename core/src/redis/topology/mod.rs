//! Which server has the state of a key: what is known of it, and how it is found out. Does no I/O.

pub(super) mod discovery;
pub(super) mod learned;
mod primaries_log;
pub(super) mod router;
pub(super) mod search;
