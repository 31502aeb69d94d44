//! Names of state in Redis.

pub(crate) mod slots;
