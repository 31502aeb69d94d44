//! The shortest way to the in-memory engine, and to what a server lent or said before: a check there takes less time than Node-API
//! needs to pass a string and to find the object that a method belongs to. So the key passes through memory that both
//! sides see, and the function is one of its own.

use std::rc::Rc;
use std::str::from_utf8_unchecked;

use napi::bindgen_prelude::{Either, Uint8Array};
use napi::{Env, Result};
use sluicegate::bridge::RawDecision;
use sluicegate::{Check, CheckOptions};

use crate::answers::single as answer_row;
use crate::calls::single;
use crate::failure::Failure;
use crate::function::{self, Function};
use crate::mailbox::CallRow;
use crate::shared::{Shared, foreign};

/// A function that answers the check, peek or refund in the first row of the mailbox, which names no
/// resource, unless a server has to be asked. The row's key is at the beginning of `key`, in ASCII.
pub(crate) fn function<'env>(env: &'env Env, shared: Rc<Shared>, key: Uint8Array) -> Result<Function<'env>> {
    function::function(env, move || match answer(&shared, &key) {
        Some(Some(Ok(()))) => Ok(None),
        Some(Some(Err(error))) => Ok(Some(Either::A(Failure::from(&error)))),
        Some(None) => Ok(Some(Either::B(true))),
        None => Err(foreign()),
    })
}

/// `None` when the row is not one that `lib/mailbox.js` writes, `Some(None)` when a server has to be asked.
#[inline]
fn answer(shared: &Shared, key: &[u8]) -> Option<Option<sluicegate::Result<()>>> {
    let mut mailbox = shared.mailbox.borrow_mut();
    let row = mailbox.call(0)?;
    let kind = single(row.op())?;
    let (names, number) = (shared.names.borrow(), row.rule());
    let key = key.get(..row.key_length()).and_then(ascii)?;
    let check = Check::new(names.get(number)?, key).with(options(&row));
    // JavaScript reads the answer as soon as this returns: no token says whose it is.
    let put = |raw: RawDecision<'_>| mailbox.answer(0, &answer_row(0, number, &raw));
    Some(shared.bridge.single_at_once(kind, &check, put))
}

/// The options of a call; one that has none is spared the work on each.
#[inline]
fn options(row: &CallRow<'_>) -> CheckOptions<'static> {
    let mut options = CheckOptions::new();
    if let Some(cost) = row.cost() {
        options.cost = cost;
        options.limit = row.limit();
        options.timeout = row.timeout();
    }
    options
}

/// Text in ASCII, which is faster to verify than UTF-8.
#[allow(unsafe_code)]
fn ascii(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    bytes.is_ascii().then(|| unsafe { from_utf8_unchecked(bytes) })
}
