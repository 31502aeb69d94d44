//! The shortest way to the engine inside the process: a check there takes less time than Node-API needs to
//! pass a string and to find the object that a method belongs to. So the key passes through memory that both
//! sides see, and the function is one of its own, without arguments.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null_mut, null};
use std::rc::Rc;
use std::str::from_utf8;

use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, Uint8Array};
use napi::{Env, JsError, Result, sys};
use sluicegate::{Check, CheckOptions};

use crate::answers::Writer;
use crate::calls::single;
use crate::failure::Failure;
use crate::limiter::{Function, Shared, foreign};

/// What the function has of its own.
struct AtOnce {
    shared: Rc<Shared>,
    /// The key, in ASCII.
    key: Uint8Array,
}

/// A function that answers the check, peek or refund in the first row of the mailbox, which names no
/// resource. The row's key is at the beginning of `key`, in ASCII.
#[allow(unsafe_code)]
pub(crate) fn function<'env>(env: &Env, shared: Rc<Shared>, key: Uint8Array) -> Result<Function<'env>> {
    let data = Box::into_raw(Box::new(AtOnce { shared, key })).cast();
    let mut function = null_mut();
    unsafe {
        napi::check_status!(sys::napi_create_function(env.raw(), null(), 0, Some(call), data, &mut function))?;
        napi::check_status!(sys::napi_add_finalizer(env.raw(), function, data, Some(release), null_mut(), null_mut()))?;
        Function::from_napi_value(env.raw(), function)
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn call(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut data = null_mut();
    let status = unsafe { sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut data) };
    if status != sys::Status::napi_ok { return null_mut(); }
    let at_once = unsafe { &*data.cast::<AtOnce>() };
    match catch_unwind(AssertUnwindSafe(|| at_once.answer())) {
        Ok(Ok(None)) => null_mut(),
        Ok(Ok(Some(failure))) => unsafe { Failure::to_napi_value(env, failure) }.unwrap_or(null_mut()),
        Ok(Err(error)) => { unsafe { JsError::from(error).throw_into(env) }; null_mut() }
        Err(_) => { unsafe { JsError::from(foreign()).throw_into(env) }; null_mut() }
    }
}

#[allow(unsafe_code)]
unsafe extern "C" fn release(_: sys::napi_env, data: *mut c_void, _: *mut c_void) {
    drop(unsafe { Box::from_raw(data.cast::<AtOnce>()) });
}

impl AtOnce {
    fn answer(&self) -> Result<Option<Failure>> {
        let shared = &*self.shared;
        let mut mailbox = shared.mailbox.borrow_mut();
        let row = mailbox.call(0).ok_or_else(foreign)?;
        let kind = single(row.op).ok_or_else(foreign)?;
        let rule = shared.names.get(row.rule).ok_or_else(foreign)?;
        let key = self.key.get(..row.key_length).and_then(|key| from_utf8(key).ok()).ok_or_else(foreign)?;
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
}
