//! Where no socket can be watched.

use std::rc::Rc;

use napi::Env;

use crate::shared::Shared;
use crate::wake::Wake;

/// There is none.
pub(crate) enum Poll {}

pub(crate) fn is_possible() -> bool {
    false
}

impl Poll {
    pub(crate) fn new(_env: &Env, _socket: i32, _limiter: &Rc<Shared>, _wake: &Wake) -> Option<Self> {
        None
    }
}
