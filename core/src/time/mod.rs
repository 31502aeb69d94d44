//! Clocks, and the bounds of timeouts.

pub(crate) mod clock;
pub(crate) mod timeout;
