//! What goes over a connection: commands, replies, and what a reply asks for. Streams and time are handed in.

pub(super) mod channel;
pub(super) mod command;
pub(super) mod role;
pub(super) mod session;
