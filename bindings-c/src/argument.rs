//! What C passes, made into what Rust accepts.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use crate::error::Failure;

/// An argument as C passes it.
pub(crate) trait Argument<'a> {
    /// What the body of an export gets.
    type Received;

    /// Checks the argument, which an error calls `name`.
    ///
    /// # Safety
    /// A pointer is NULL or points to what its type says, which lives until the call ends (`'a`) and,
    /// unless it is a handle or an output, does not change meanwhile.
    unsafe fn receive(self, name: &str) -> Result<Self::Received, Failure>;
}

/// Numbers have nothing to check here; their bounds are known where they are used.
impl Argument<'_> for u64 {
    type Received = Self;

    unsafe fn receive(self, _: &str) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl Argument<'_> for usize {
    type Received = Self;

    unsafe fn receive(self, _: &str) -> Result<Self, Failure> {
        Ok(self)
    }
}

/// Text that ends at its NUL.
impl<'a> Argument<'a> for *const c_char {
    type Received = &'a str;

    unsafe fn receive(self, name: &str) -> Result<&'a str, Failure> {
        // SAFETY: promised by the caller.
        unsafe { optional_text(self, name) }?.ok_or_else(|| null(name))
    }
}

/// [`Argument::receive`] for text that may be NULL.
///
/// # Safety
/// As [`Argument::receive`].
pub(crate) unsafe fn optional_text<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    utf8(bytes, name).map(Some)
}

/// Bytes whose length is an argument of its own.
pub(crate) struct Bytes<'a> {
    start: NonNull<u8>,
    name: &'a str,
}

impl<'a> Argument<'a> for *const c_void {
    type Received = Bytes<'static>;

    unsafe fn receive(self, name: &str) -> Result<Self::Received, Failure> {
        todo!()
    }
}
