//! What a process remembers of keys, so that a call need not go to the server: denials. No I/O and no clock: the limiter hands
//! in its time.

mod denial;
mod denials;
#[cfg(test)]
mod tests;

pub(crate) use denials::{Denials, Watch};
