//! How other threads wake the JavaScript loop.

use std::sync::Arc;

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Result, Status, sys};

/// Called without arguments; of itself it does not keep the process alive.
pub(crate) type WakeFunction = ThreadsafeFunction<(), (), (), Status, false, true>;

/// Wakes the loop, and keeps it alive while there is something to wake it for.
#[derive(Clone)]
pub(crate) struct Wake(Arc<WakeFunction>);

impl Wake {
    pub(crate) fn new(function: WakeFunction) -> Self {
        Self(Arc::new(function))
    }

    pub(crate) fn of(function: &Function<'_, (), ()>) -> Result<Self> {
        function.build_threadsafe_function().callee_handled::<false>().weak::<true>().build().map(Self::new)
    }

    /// Wakes the loop, from any thread. No effect once the loop has ended.
    pub(crate) fn call(&self) {
        let _ = self.0.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }

    /// Lets the process end, or not, while nothing but this limiter is at work.
    #[allow(unsafe_code)]
    pub(crate) fn keep_alive(&self, env: &Env, keep: bool) {
        let (env, function) = (env.raw(), self.0.raw());
        // SAFETY: this is the thread of the environment that made the function, which lives as long as
        // `self`. Both calls fail at most when that environment is ending, and then do nothing.
        unsafe {
            let _ = if keep {
                sys::napi_ref_threadsafe_function(env, function)
            } else {
                sys::napi_unref_threadsafe_function(env, function)
            };
        }
    }
}
