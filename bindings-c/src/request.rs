//! A request, of which the rules that apply are found.

use std::ffi::c_void;
use std::ptr::null;

use crate::argument::{Argument, Bytes, Growing, array, growing, optional_bytes};
use crate::error::Failure;

/// A header of a request.
#[repr(C)]
pub struct Header {
    /// The name; capitals do not count.
    pub name: *const c_void,
    /// The length of the name in bytes.
    pub name_len: usize,
    /// The value.
    pub value: *const c_void,
    /// The length of the value in bytes.
    pub value_len: usize,
}

/// An HTTP request. Begin with SLUICEGATE_REQUEST_INIT and set what you know: everything but the method
/// and the path may be absent, and an empty text is as good as absent. Texts are UTF-8 and need no NUL at
/// their end. Nothing in it is needed after the call.
#[repr(C)]
pub struct Request {
    /// The size of this struct as the caller knows it; later releases may add fields at the end.
    pub size: usize,
    /// The method; capitals do not count.
    pub method: *const c_void,
    /// The length of the method in bytes.
    pub method_len: usize,
    /// The target as the request line has it: percent-encoded, with or without a query.
    pub path: *const c_void,
    /// The length of the path in bytes.
    pub path_len: usize,
    /// The user, once authenticated.
    pub user_id: *const c_void,
    /// The length of the user in bytes.
    pub user_id_len: usize,
    /// The client's address, IPv4 or IPv6.
    pub ip: *const c_void,
    /// The length of the address in bytes.
    pub ip_len: usize,
    /// The client's API key.
    pub api_key: *const c_void,
    /// The length of the API key in bytes.
    pub api_key_len: usize,
    /// The headers; the values of one that is given several times are joined by ", ".
    pub headers: *const Header,
    /// How many headers there are.
    pub header_count: usize,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            method: null(),
            method_len: 0,
            path: null(),
            path_len: 0,
            user_id: null(),
            user_id_len: 0,
            ip: null(),
            ip_len: 0,
            api_key: null(),
            api_key_len: 0,
            headers: null(),
            header_count: 0,
        }
    }
}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for Request {
    const SIZES: &'static [usize] = &[size_of::<Self>()];
}

impl<'a> Argument<'a> for *const Request {
    type Received = sluicegate::Request<'a>;

    unsafe fn receive(self, name: &'static str) -> Result<Self::Received, Failure> {
        if self.is_null() {
            return Err(Failure::null(name));
        }
        // SAFETY: promised by the caller, also for what the fields point to.
        unsafe {
            let given = growing(self, name)?;
            let method: Bytes<'a> = given.method.receive("request.method")?;
            let path: Bytes<'a> = given.path.receive("request.path")?;
            let mut request =
                sluicegate::Request::new(method.text(given.method_len)?, path.text(given.path_len)?);
            request.user_id = optional_bytes(given.user_id, given.user_id_len, "request.user_id")?;
            request.ip = optional_bytes(given.ip, given.ip_len, "request.ip")?;
            request.api_key = optional_bytes(given.api_key, given.api_key_len, "request.api_key")?;
            request.headers = headers(array(given.headers, given.header_count, "request.headers")?)?;
            Ok(request)
        }
    }
}

/// # Safety
/// As [`Argument::receive`], for what the fields point to.
unsafe fn headers<'a>(given: &[Header]) -> Result<Vec<(&'a str, &'a str)>, Failure> {
    let pair = |(at, header): (usize, &Header)| {
        // SAFETY: promised by the caller.
        unsafe { header.receive() }.map_err(|failure| failure.within(&format!("request.headers[{at}].")))
    };
    given.iter().enumerate().map(pair).collect()
}

impl Header {
    /// # Safety
    /// As [`Argument::receive`], for what the fields point to.
    unsafe fn receive<'a>(&self) -> Result<(&'a str, &'a str), Failure> {
        // SAFETY: promised by the caller.
        unsafe {
            let name: Bytes<'a> = self.name.receive("name")?;
            let value = optional_bytes(self.value, self.value_len, "value")?;
            Ok((name.text(self.name_len)?, value.unwrap_or_default()))
        }
    }
}
