//! Calls of event loops: that of Tokio, and those of other languages.

pub(in crate::redis) mod asynchronous;
#[cfg(feature = "bridge")]
pub(in crate::redis) mod loop_host;
pub(in crate::redis) mod tokio_host;
