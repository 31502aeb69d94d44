//! When and how a server is connected to: names resolved, sockets opened, attempts spaced, servers that fail left alone.

pub(super) mod background;
pub(super) mod breaker;
pub(super) mod connector;
mod credentials;
pub(super) mod deadline;
pub(super) mod pacing;
pub(super) mod resolve;
pub(super) mod stream;
