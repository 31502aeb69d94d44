//! What carries calls out: threads that block, event loops that multiplex.

pub(super) mod connection;
pub(super) mod discoverer;
pub(super) mod hub;
pub(super) mod loops;
pub(super) mod multiplexer;
pub(super) mod spin;
pub(super) mod threads;
