//! Calls of threads, which wait for their answers: connections from a pool, one thread pipelining the calls of others.

pub(in crate::redis) mod blocking;
pub(in crate::redis) mod combining;
pub(in crate::redis) mod pool;
