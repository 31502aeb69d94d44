//! Callbacks that receive pairs of texts: no memory has to be freed.

use std::ffi::{c_char, c_void};

use crate::argument::Argument;
use crate::error::Failure;
use crate::text::terminated;

/// Receives a name and its value, which both live until it returns; `context` is what came with
/// it. It has to return: neither by longjmp nor by an exception.
pub type PairCallback =
    Option<unsafe extern "C" fn(context: *mut c_void, name: *const c_char, value: *const c_char)>;

impl Argument<'_> for PairCallback {
    type Received = Callback;

    unsafe fn receive(self, name: &'static str) -> Result<Callback, Failure> {
        Ok(Callback { function: self, name })
    }
}

/// Receives an event: whether it is a warning, its name, such as `breaker_open` (`warning` for those without), and a text of one
/// line; both texts live until it returns. `context` is what came with it. Any thread may call it, and several at once. It
/// has to return: neither by longjmp nor by an exception; and it must not call functions of this library.
pub type LogCallback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        is_warning: bool,
        event: *const c_char,
        message: *const c_char,
    ),
>;

/// Does some work; `context` is what came with it. It has to return: neither by longjmp nor by an exception.
pub type WorkCallback = Option<unsafe extern "C" fn(context: *mut c_void)>;

impl Argument<'_> for WorkCallback {
    type Received = Work;

    unsafe fn receive(self, name: &'static str) -> Result<Work, Failure> {
        self.map(Work).ok_or_else(|| Failure::null(name))
    }
}

/// Work that is there.
pub(crate) struct Work(unsafe extern "C" fn(context: *mut c_void));

impl Work {
    /// Does it.
    pub(crate) fn run(&self, context: *mut c_void) {
        // SAFETY: promised when the argument was received.
        unsafe { (self.0)(context) }
    }
}

/// Passed on as it is.
impl Argument<'_> for *mut c_void {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

/// A callback, if there is one.
pub(crate) struct Callback {
    function: PairCallback,
    name: &'static str,
}

impl Callback {
    /// One that has to be there.
    pub(crate) fn required(self) -> Result<Self, Failure> {
        if self.function.is_some() { Ok(self) } else { Err(Failure::null(self.name)) }
    }

    /// Calls it.
    pub(crate) fn tell(&self, context: *mut c_void, name: &str, value: &str) {
        let Some(function) = self.function else { return };
        let (name, value) = (terminated(name), terminated(value));
        // SAFETY: promised when the argument was received; both texts end with NUL.
        unsafe { function(context, name.as_ptr(), value.as_ptr()) }
    }
}
