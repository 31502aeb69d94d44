//! What servers watch, and what the driver remembers of it.

use std::sync::Arc;

use super::plan::Time;
use super::protocol::Key;
use crate::tracking::Registration;

/// A call whose answer is remembered.
pub(super) struct Remembered {
    pub(super) call: usize,
    pub(super) key: Key,
    pub(super) registration: Arc<Registration>,
    pub(super) submitted: Time,
    /// The connection on which it was executed.
    pub(super) connection: Option<usize>,
    /// Whether its keys were watched there: not, where they are being moved.
    pub(super) is_watched: bool,
    /// Whether it was answered, and something was agreed about its keys.
    pub(super) is_kept: bool,
    /// When the server that watches the key knew that it has changed.
    pub(super) changed_at: Option<Time>,
    /// Where messages about it end on its connection.
    pub(super) announced: Vec<usize>,
}

#[derive(Default)]
pub(super) struct Watching {
    /// What servers watch, and for which connections.
    pub(super) table: Vec<(usize, Key)>,
    pub(super) answers: Vec<Remembered>,
    /// Keys of which something was announced (`None`: of all), for whichever call.
    pub(super) announced: Vec<Option<Key>>,
    /// Changes that a script has made, which are announced behind its answer.
    pub(super) late: Vec<(usize, Key)>,
}
