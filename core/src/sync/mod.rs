//! What threads share, and what a forked child must not share with its parent.

pub(crate) mod fork;
#[cfg(feature = "bridge")]
pub(crate) mod inbox;
pub(crate) mod lock;
pub(crate) mod permits;
