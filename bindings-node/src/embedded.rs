//! The shortest way to the engine inside the process: a check there takes less time than Node-API needs to
//! pass a string and to find the object that a method belongs to. So the key passes through memory that both
//! sides see, and the function is one of its own.

use std::cell::RefCell;
use std::rc::Rc;

use napi::bindgen_prelude::{FunctionCallContext, Uint16Array};
use napi::{Env, Result};
use sluicegate::{Check, CheckOptions};

use crate::answers::Writer;
use crate::calls::single;
use crate::failure::Failure;
use crate::limiter::{Function, Shared, foreign};

/// A function that answers the check, peek or refund in the first row of the mailbox, which names no
/// resource. The row's key is at the beginning of `units`, in UTF-16.
pub(crate) fn function<'env>(
    env: &'env Env,
    shared: Rc<Shared>,
    units: Uint16Array,
) -> Result<Function<'env>> {
    let key = RefCell::new(String::new());
    env.create_function_from_closure("singleAtOnce", move |_: FunctionCallContext<'_>| {
        answer(&shared, &units, &mut key.borrow_mut())
    })
}

fn answer(shared: &Shared, units: &[u16], key: &mut String) -> Result<Option<Failure>> {
    let mut mailbox = shared.mailbox.borrow_mut();
    let row = mailbox.call(0).ok_or_else(foreign)?;
    let kind = single(row.op).ok_or_else(foreign)?;
    let rule = shared.names.get(row.rule).ok_or_else(foreign)?;
    decode(units.get(..row.key_length).ok_or_else(foreign)?, key);
    let mut options = CheckOptions::new().cost(row.cost);
    options.limit = row.limit;
    let check = Check::new(rule, key).with(options);
    match shared.bridge.single_at_once(kind, &check).ok_or_else(foreign)? {
        Ok(decision) => {
            Writer::new(&mut mailbox, &shared.numbers).single(row.token, row.rule, &decision);
            Ok(None)
        }
        Err(error) => Ok(Some(Failure::from(&error))),
    }
}

/// Into a text that is used again and again, to spare the allocation.
fn decode(units: &[u16], text: &mut String) {
    let characters = char::decode_utf16(units.iter().copied());
    text.clear();
    text.extend(characters.map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER)));
}
