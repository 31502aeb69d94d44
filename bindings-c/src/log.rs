//! Events, such as that rules were refused while they are followed.

use std::ffi::c_void;
use std::sync::Once;

use sluicegate::bridge::log_to;

use crate::callback::LogCallback;
use crate::text::terminated;

/// What came with a callback, for its calls on any thread.
struct Context(*mut c_void);

// SAFETY: the pointer is only handed back, to a function that any thread may call.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn pointer(&self) -> *mut c_void {
        self.0
    }
}

/// Without a callback, standard error.
static STANDARD_ERROR: Once = Once::new();

/// Has warnings written, unless a callback has them already.
pub(crate) fn ensure_log() {
    STANDARD_ERROR.call_once(|| log_to(None));
}

export! {
    /// Sets where the events of all limiters go, such as that rules were refused while they are followed: to `callback`, with
    /// `context`, or if that is NULL the warnings among them to standard error, unless the environment variable SLUICEGATE_LOG
    /// is "off". A call of an earlier callback may still be under way when this returns.
    fn sluicegate_set_log(callback: LogCallback, context: *mut c_void) -> () {
        STANDARD_ERROR.call_once(|| ());
        match callback {
            None => log_to(None),
            Some(_) => log_to(Some(sink(callback, context))),
        }
    }
}

fn sink(callback: LogCallback, context: *mut c_void) -> sluicegate::bridge::LogSink {
    let context = Context(context);
    Box::new(move |line| {
        let Some(callback) = callback else { return };
        let (event, message) = (terminated(&line.event), terminated(&line.message));
        // SAFETY: the texts end with NUL; that any thread may call it is stated in the header.
        unsafe { callback(context.pointer(), line.is_warning, event.as_ptr(), message.as_ptr()) }
    })
}
