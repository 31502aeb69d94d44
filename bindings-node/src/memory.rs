//! The shortest way to the in-memory engine: a check there takes less time than Node-API needs to
//! pass a string and to find the object that a method belongs to. So the key passes through memory that both
//! sides see, and the function is one of its own.

use std::rc::Rc;
use std::str::from_utf8_unchecked;

use napi::bindgen_prelude::Uint8Array;
use napi::{Env, Result};
use sluicegate::bridge::Verdict;
use sluicegate::{Check, CheckOptions};

use crate::answers::single as answer_row;
use crate::calls::single;
use crate::failure::Failure;
use crate::function::{self, Function};
use crate::shared::{Shared, foreign};

/// A function that answers the check, peek or refund in the first row of the mailbox, which names no
/// resource. The row's key is at the beginning of `key`, in ASCII.
pub(crate) fn function<'env>(env: &'env Env, shared: Rc<Shared>, key: Uint8Array) -> Result<Function<'env>> {
    function::function(env, move || answer(&shared, &key))
}

fn answer(shared: &Shared, key: &[u8]) -> Result<Option<Failure>> {
    let mut mailbox = shared.mailbox.borrow_mut();
    let row = mailbox.call(0).ok_or_else(foreign)?;
    let kind = single(row.op).ok_or_else(foreign)?;
    let names = shared.names.borrow();
    let rule = names.get(row.rule).ok_or_else(foreign)?;
    let key = key.get(..row.key_length).and_then(ascii).ok_or_else(foreign)?;
    let mut options = CheckOptions::new().cost(row.cost);
    options.limit = row.limit;
    options.timeout = row.timeout();
    let check = Check::new(rule, key).with(options);
    let put = |verdict: Verdict<'_>| mailbox.answer(0, &answer_row(row.token, row.rule, &verdict));
    let answered = shared.bridge.single_at_once(kind, &check, put).ok_or_else(foreign)?;
    Ok(answered.err().map(|error| Failure::from(&error)))
}

/// Text in ASCII, which is faster to verify than UTF-8.
#[allow(unsafe_code)]
fn ascii(bytes: &[u8]) -> Option<&str> {
    // SAFETY: ASCII is UTF-8.
    bytes.is_ascii().then(|| unsafe { from_utf8_unchecked(bytes) })
}
