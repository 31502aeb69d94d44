//! What goes over a connection: commands, replies, and what a reply asks for. Does no I/O.

pub(super) mod channel;
pub(super) mod command;
pub(super) mod role;
pub(super) mod session;
