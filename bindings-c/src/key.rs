//! Keys of several parts, and of addresses.

use std::ffi::{c_char, c_void};
use std::marker::PhantomData;
use std::ptr;

use sluicegate::CompositeKey;

use crate::argument::{Argument, Bytes, array};
use crate::error::Failure;

/// A part of a key.
#[repr(C)]
pub struct KeyPart {
    /// The part, in UTF-8.
    pub text: *const c_void,
    /// The length of the part in bytes.
    pub text_len: usize,
}

/// Parts of which the count is the next argument.
pub(crate) struct KeyParts<'a> {
    start: *const KeyPart,
    lifetime: PhantomData<&'a KeyPart>,
}

impl<'a> Argument<'a> for *const KeyPart {
    type Received = KeyParts<'a>;

    unsafe fn receive(self, _: &'static str) -> Result<KeyParts<'a>, Failure> {
        Ok(KeyParts { start: self, lifetime: PhantomData })
    }
}

impl<'a> KeyParts<'a> {
    /// The texts, given the count that came with them.
    fn texts(self, count: usize) -> Result<Vec<&'a str>, Failure> {
        // SAFETY: promised when the argument was received.
        let parts = unsafe { array(self.start, count, "parts") }?;
        let text = |(at, part): (usize, &KeyPart)| {
            // SAFETY: as above.
            let bytes: Result<Bytes<'a>, Failure> = unsafe { part.text.receive("text") };
            let text = bytes.and_then(|bytes| bytes.text(part.text_len));
            text.map_err(|failure| failure.within(&format!("parts[{at}].")))
        };
        parts.iter().enumerate().map(text).collect()
    }
}

/// Room for a key, of which the size is the next argument.
pub(crate) struct KeyBuffer<'a> {
    start: *mut c_char,
    lifetime: PhantomData<&'a mut c_char>,
}

impl<'a> Argument<'a> for *mut c_char {
    type Received = KeyBuffer<'a>;

    unsafe fn receive(self, name: &'static str) -> Result<KeyBuffer<'a>, Failure> {
        if self.is_null() {
            return Err(Failure::null(name));
        }
        Ok(KeyBuffer { start: self, lifetime: PhantomData })
    }
}

impl KeyBuffer<'_> {
    pub(crate) fn write(self, text: &str, size: usize) -> Result<usize, Failure> {
        if text.len() > size {
            let what = format!("has room for {size} bytes; it needs {}", text.len());
            return Err(Failure::argument("key", &what));
        }
        // SAFETY: promised when the argument was received; what is copied is the library's own.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), self.start.cast(), text.len()) };
        Ok(text.len())
    }
}

export! {
    /// Joins the parts of a key, such as a user and an address, as a rule does whose identifier_type is an array.
    /// `key` has room for `key_size` bytes, `key_len` receives how many were written: the key to pass to other
    /// calls. Twice the length of all parts and `count` more bytes are always enough.
    fn sluicegate_join_key(
        parts: *const KeyPart,
        count: usize,
        key: *mut c_char,
        key_size: usize,
        key_len: *mut usize,
    ) {
        let joined = CompositeKey::new(parts.texts(count)?)?;
        key_len.write(key.write(&joined, key_size)?);
        Ok(())
    }
}

export! {
    /// Writes the key of the client with an address, for rules whose identifier_type is not ip_address. An IPv6 address is
    /// cut to its network of `prefix_length` bits, from 1 to 128 (64 is what rules use unless they say otherwise), since one
    /// client has all addresses of it. An IPv4 address written as an IPv6 one is an IPv4 address. A port, brackets and a zone
    /// are left out. `key` has room for `key_size` bytes, of which 48 are always enough; `key_len` receives how many were
    /// written.
    fn sluicegate_address_key(
        ip: *const c_void,
        ip_len: usize,
        prefix_length: u64,
        key: *mut c_char,
        key_size: usize,
        key_len: *mut usize,
    ) {
        // Core refuses 0 as what is too large.
        let prefix_length = u8::try_from(prefix_length).unwrap_or(0);
        let client = sluicegate::address_key(ip.text(ip_len)?, prefix_length)?;
        key_len.write(key.write(&client, key_size)?);
        Ok(())
    }
}
