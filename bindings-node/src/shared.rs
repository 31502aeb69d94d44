//! What the limiter's methods, its function and its watcher share.

use std::cell::{Cell, RefCell};

use napi::Error;
use sluicegate::bridge::Bridge;

use crate::callback::Callback;
use crate::mailbox::Mailbox;
use crate::names::Names;

/// All on one thread.
pub(crate) struct Shared {
    pub(crate) bridge: Bridge,
    pub(crate) mailbox: RefCell<Mailbox>,
    pub(crate) names: RefCell<Names>,
    /// Fetches the answers that have come.
    pub(crate) fetch: Callback,
    /// Whether libuv has a handle, by which it watches the socket or did until a moment ago.
    pub(crate) has_handle: Cell<bool>,
}

pub(crate) fn foreign() -> Error {
    Error::new(napi::Status::InvalidArg, "the mailbox holds what lib/mailbox.js does not write")
}
