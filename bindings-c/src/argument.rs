//! What C passes, made into what Rust accepts.

use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use crate::error::Failure;

/// An argument as C passes it.
pub(crate) trait Argument<'a> {
    /// What the body of an export gets.
    type Received;

    /// Checks the argument, which an error calls `name`.
    ///
    /// # Safety
    /// A pointer is NULL or points to what its type says, which lives until the call ends (`'a`) and
    /// does not change meanwhile, unless the call changes it.
    unsafe fn receive(self, name: &'static str) -> Result<Self::Received, Failure>;
}

/// The bounds of numbers are known where they are used.
impl Argument<'_> for u32 {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl Argument<'_> for u64 {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl Argument<'_> for usize {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl Argument<'_> for bool {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

/// A number that may be left out.
impl<'a> Argument<'a> for Option<&'a u64> {
    type Received = Self;

    unsafe fn receive(self, _: &'static str) -> Result<Self, Failure> {
        Ok(self)
    }
}

/// Text that ends at its NUL.
impl<'a> Argument<'a> for *const c_char {
    type Received = &'a str;

    unsafe fn receive(self, name: &'static str) -> Result<&'a str, Failure> {
        // SAFETY: promised by the caller.
        unsafe { optional_text(self, name) }?.ok_or_else(|| Failure::null(name))
    }
}

/// Text of which the length is the next argument.
impl<'a> Argument<'a> for *const c_void {
    type Received = Bytes<'a>;

    unsafe fn receive(self, name: &'static str) -> Result<Bytes<'a>, Failure> {
        let start = NonNull::new(self.cast_mut().cast()).ok_or_else(|| Failure::null(name))?;
        Ok(Bytes { start, name, lifetime: PhantomData })
    }
}

/// See `Argument for *const c_void`.
pub(crate) struct Bytes<'a> {
    start: NonNull<u8>,
    name: &'static str,
    lifetime: PhantomData<&'a u8>,
}

impl<'a> Bytes<'a> {
    /// The text, given the length that came with it.
    pub(crate) fn text(self, length: usize) -> Result<&'a str, Failure> {
        let length = bounded::<u8>(length, self.name)?;
        // SAFETY: promised when the argument was received.
        utf8(unsafe { slice::from_raw_parts(self.start.as_ptr(), length) }, self.name)
    }
}

/// Text of a field that may be absent: NULL without a length.
///
/// # Safety
/// As [`Argument::receive`].
pub(crate) unsafe fn optional_bytes<'a>(
    start: *const c_void,
    length: usize,
    name: &'static str,
) -> Result<Option<&'a str>, Failure> {
    if start.is_null() && length == 0 {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    unsafe { start.receive(name) }?.text(length).map(Some)
}

/// Where the answer goes.
impl<'a, T: Output + 'a> Argument<'a> for *mut T {
    type Received = &'a mut MaybeUninit<T>;

    unsafe fn receive(self, name: &'static str) -> Result<Self::Received, Failure> {
        // SAFETY: promised by the caller.
        unsafe { self.cast::<MaybeUninit<T>>().as_mut() }.ok_or_else(|| Failure::null(name))
    }
}

/// What is written to the caller's memory.
pub(crate) trait Output {}

impl Output for u64 {}
impl Output for usize {}
impl<T> Output for *mut T {}

/// An object made by this library.
pub(crate) trait Handle {}

impl<'a, T: Handle + 'a> Argument<'a> for *const T {
    type Received = &'a T;

    unsafe fn receive(self, name: &'static str) -> Result<&'a T, Failure> {
        // SAFETY: promised by the caller.
        unsafe { self.as_ref() }.ok_or_else(|| Failure::null(name))
    }
}

/// A struct to which fields are added at the end, with values that mean what was so far. Its first
/// field is the size that the caller knows.
///
/// # Safety
/// It begins with a `usize`, and every value of its other bytes is valid.
pub(crate) unsafe trait Growing: Default {
    /// Its sizes so far, each of which ends with a whole field.
    const SIZES: &'static [usize];
}

/// The struct as far as the caller knows it, the rest as by default; all of it for NULL.
///
/// # Safety
/// As [`Argument::receive`], for as many bytes as the first field says.
pub(crate) unsafe fn growing<T: Growing>(given: *const T, name: &'static str) -> Result<T, Failure> {
    let mut known = T::default();
    if !given.is_null() {
        // SAFETY: promised by the trait and the caller.
        let size = unsafe { given.cast::<usize>().read() };
        if !T::SIZES.contains(&size) {
            let what = "size is not set, or of another version: begin with the INIT macro";
            return Err(Failure::argument(name, what));
        }
        // SAFETY: both have that many bytes, any of which are valid.
        unsafe { ptr::copy_nonoverlapping(given.cast::<u8>(), (&raw mut known).cast(), size) };
    }
    Ok(known)
}

/// Text that ends at its NUL, if there is any.
///
/// # Safety
/// As [`Argument::receive`].
pub(crate) unsafe fn optional_text<'a>(
    text: *const c_char,
    name: &'static str,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: promised by the caller.
    utf8(unsafe { CStr::from_ptr(text) }.to_bytes(), name).map(Some)
}

/// An array, which may be NULL when it is empty.
///
/// # Safety
/// As [`Argument::receive`], for all of its elements.
pub(crate) unsafe fn array<'a, T>(
    start: *const T,
    count: usize,
    name: &'static str,
) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    if start.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { slice::from_raw_parts(start, bounded::<T>(count, name)?) })
}

/// No object is larger than `isize::MAX` bytes; a negative number made unsigned is.
pub(crate) fn bounded<T>(count: usize, name: &'static str) -> Result<usize, Failure> {
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if fits { Ok(count) } else { Err(Failure::argument(name, "is longer than memory")) }
}

/// Inlined, its result stays in registers: in memory, the halves that it is written in are read as one, which takes longer
/// than to look at a key.
#[inline(always)]
fn utf8<'a>(bytes: &'a [u8], name: &'static str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::argument(name, "is not UTF-8"))
}
