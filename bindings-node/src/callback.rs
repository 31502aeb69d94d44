//! Calls JavaScript from a callback of libuv, on the thread of the loop, while none of it runs.

use std::ptr::{null, null_mut};

use napi::bindgen_prelude::{Function, FunctionRef};
use napi::{Env, JsValue, Result, check_status, sys};

/// A JavaScript function without arguments.
pub(crate) struct Callback(FunctionRef<(), ()>);

impl Callback {
    pub(crate) fn new(function: &Function<'_, (), ()>) -> Result<Self> {
        function.create_ref().map(Self)
    }

    /// Calls the function, and then what its promises lead to. What it throws is an exception that nobody catches. No effect once
    /// the environment is ending.
    #[allow(unsafe_code)]
    pub(crate) fn call(&self, env: &Env) {
        let mut scope = null_mut();
        // SAFETY: this is the thread of the environment, which has not ended: its cleanup hook stops the watching before. Values
        // are used within the scope alone.
        unsafe {
            if sys::napi_open_handle_scope(env.raw(), &raw mut scope) == sys::Status::napi_ok {
                let _ = self.call_in_scope(env);
                sys::napi_close_handle_scope(env.raw(), scope);
            }
        }
    }

    #[allow(unsafe_code)]
    fn call_in_scope(&self, env: &Env) -> Result<()> {
        let function = self.0.borrow_back(env)?.raw();
        let (mut global, mut thrown) = (null_mut(), null_mut());
        // SAFETY: as above.
        unsafe {
            check_status!(sys::napi_get_global(env.raw(), &raw mut global))?;
            let called =
                sys::napi_make_callback(env.raw(), null_mut(), global, function, 0, null(), null_mut());
            if called == sys::Status::napi_pending_exception {
                check_status!(sys::napi_get_and_clear_last_exception(env.raw(), &raw mut thrown))?;
                check_status!(sys::napi_fatal_exception(env.raw(), thrown))?;
            }
        }
        Ok(())
    }
}
