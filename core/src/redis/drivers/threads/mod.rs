//! Calls of threads, which wait for their answers: one of them reads for all.

mod alarm;
pub(in crate::redis) mod blocking;
mod detached;
#[cfg(test)]
mod interleavings;
mod primitives;
mod readers;
