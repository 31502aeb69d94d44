//! What a region sends to state on which terms it decides by a limit, and to look up those of another one: `terms.lua` of the
//! crate `sluicegate-lua`.

use once_cell::race::OnceBox;
use redis::Value;
use sluicegate_lua::allotment;
use smallvec::{SmallVec, smallvec};

use super::protocol::{bytes, doubles};
use crate::algorithm::Terms;
use crate::error::Result;
use crate::plan::Charge;
use crate::script::{Argument, Script, ScriptCall};

/// So long the server keeps what was stated, in milliseconds.
const LASTS: &str = "3600000";

/// States the terms of the own region.
pub(crate) fn state_terms(charge: &Charge<'_>, prefix: &str) -> ScriptCall {
    call(charge, prefix, smallvec![bytes(&charge.policy.terms()), LASTS.as_bytes().into()])
}

/// Looks those of a region up.
pub(crate) fn look_terms_up(charge: &Charge<'_>, prefix: &str) -> ScriptCall {
    call(charge, prefix, SmallVec::new())
}

fn call(charge: &Charge<'_>, prefix: &str, args: SmallVec<[Argument; 1]>) -> ScriptCall {
    static SCRIPT: OnceBox<Script> = OnceBox::new();
    let script = SCRIPT.get_or_init(|| Box::new(Script::new(allotment::TERMS.to_owned())));
    ScriptCall::new(script, smallvec![charge.name_of_terms(prefix)], args)
}

/// What the region has stated, if that is anything: its processes may be of a version that states nothing.
pub(crate) fn stated_terms(reply: Result<Value>) -> Result<Option<Terms>> {
    let numbers = doubles(&reply?);
    Ok(numbers.and_then(|numbers| <[f64; 3]>::try_from(numbers.as_slice()).ok()))
}
