//! A JavaScript function made of a closure, without arguments.
//!
//! That of napi allocates memory for arguments on every call, which takes a tenth of a check's time.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{null, null_mut};

use napi::bindgen_prelude::{Either, FromNapiValue, ToNapiValue};
use napi::{Env, Error, JsError, Result, Status, check_status, sys};

use crate::failure::Failure;

/// What a call came to where it was not simply carried out: it failed, or `true`: it was not carried out.
pub(crate) type Refusal = Either<Failure, bool>;

/// Returns `undefined` where the call was carried out.
pub(crate) type Function<'env> = napi::bindgen_prelude::Function<'env, (), Option<Refusal>>;

/// The function; it owns the closure.
#[allow(unsafe_code)]
pub(crate) fn function<'env, F>(env: &'env Env, closure: F) -> Result<Function<'env>>
where
    F: Fn() -> Result<Option<Refusal>> + 'static,
{
    let mut function = null_mut();
    let closure = Box::into_raw(Box::new(closure)).cast();
    // SAFETY: this is the thread of the environment. `closure` is an `F`, as `call` and `release` take it
    // to be, and lives until `release`, which runs when no call can come any more. Where a step fails, it
    // is never released: it may be in use.
    unsafe {
        let env = env.raw();
        check_status!(sys::napi_create_function(env, null(), 0, Some(call::<F>), closure, &mut function))?;
        let release = Some(release::<F> as unsafe extern "C" fn(_, _, _));
        check_status!(sys::napi_add_finalizer(env, function, closure, release, null_mut(), null_mut()))?;
        Function::from_napi_value(env, function)
    }
}

/// Called by JavaScript.
#[allow(unsafe_code)]
unsafe extern "C" fn call<F>(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value
where
    F: Fn() -> Result<Option<Refusal>>,
{
    // SAFETY: Node-API calls this with what `function` gave it.
    let answer = || match unsafe { closure::<F>(env, info) }.and_then(|closure| closure()) {
        // Nearly every call ends so. All other results are long, and nothing is to be moved for them here.
        Ok(None) => null_mut(),
        refused => deliver(env, refused),
    };
    // A panic must not leave Rust.
    catch_unwind(AssertUnwindSafe(answer)).unwrap_or_else(|_| {
        deliver(env, Err(Error::new(Status::GenericFailure, "a defect of sluicegate: it panicked")))
    })
}

/// What `function` gave to Node-API, for the time of this call.
#[allow(unsafe_code)]
unsafe fn closure<'call, F>(env: sys::napi_env, info: sys::napi_callback_info) -> Result<&'call F> {
    let mut closure = null_mut();
    // SAFETY: the caller's.
    unsafe {
        check_status!(sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut closure))?;
        Ok(&*closure.cast())
    }
}

/// Returns a failure to JavaScript, or throws an error.
#[cold]
#[allow(unsafe_code)]
fn deliver(env: sys::napi_env, result: Result<Option<Refusal>>) -> sys::napi_value {
    // SAFETY: this is the thread of the environment; JavaScript finds the exception when `call` returns.
    unsafe {
        result.and_then(|refusal| Option::to_napi_value(env, refusal)).unwrap_or_else(|error| {
            JsError::from(error).throw_into(env);
            null_mut()
        })
    }
}

/// Called by the garbage collector.
#[allow(unsafe_code)]
unsafe extern "C" fn release<F>(_env: sys::napi_env, closure: *mut c_void, _hint: *mut c_void) {
    // SAFETY: it was made from a box of an `F`, and nobody uses it any more.
    let closure = unsafe { Box::from_raw(closure.cast::<F>()) };
    // As above: a panic must not leave Rust.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(closure)));
}
