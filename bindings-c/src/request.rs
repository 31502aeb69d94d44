//! A request, of which the rules that apply are found.

use std::ffi::{c_char, c_void};
use std::mem::offset_of;
use std::ptr::null;

use crate::argument::{Argument, Bytes, Growing, array, growing, optional_bytes};
use crate::check::timeout;
use crate::error::Failure;

/// A header of a request.
#[repr(C)]
pub struct Header {
    /// The name, in any case of letters.
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
    /// The method, in any case of letters.
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
    /// The headers. Of one that is given several times, each value counts.
    pub headers: *const Header,
    /// How many headers there are.
    pub header_count: usize,
    /// The name of the header that has the API key, each of whose values counts.
    pub api_key_header: *const c_void,
    /// The length of that name in bytes.
    pub api_key_header_len: usize,
    /// Other paths that the application may act on, spelled like the path, NUL at their end; at most 4.
    pub other_paths: *const *const c_char,
    /// How many other paths there are.
    pub other_path_count: usize,
    /// Not 0: the application routes without regard to capitals.
    pub ignore_case: u8,
    /// The whole time that sluicegate_check_request or sluicegate_reserve_request may take in microseconds, as sluicegate_check_options has it.
    /// 0: by default.
    pub timeout_us: u64,
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
            api_key_header: null(),
            api_key_header_len: 0,
            other_paths: null(),
            other_path_count: 0,
            ignore_case: 0,
            timeout_us: 0,
        }
    }
}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for Request {
    const SIZES: &'static [usize] =
        &[offset_of!(Self, api_key_header), offset_of!(Self, timeout_us), size_of::<Self>()];
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
            request.api_key_header =
                optional_bytes(given.api_key_header, given.api_key_header_len, "request.api_key_header")?;
            request.other_paths =
                other_paths(array(given.other_paths, given.other_path_count, "request.other_paths")?)?;
            request.ignore_case = given.ignore_case != 0;
            request.timeout = timeout(given.timeout_us);
            Ok(request)
        }
    }
}

/// # Safety
/// As [`Argument::receive`], for what the texts point to.
unsafe fn other_paths<'a>(given: &[*const c_char]) -> Result<Vec<&'a str>, Failure> {
    // SAFETY: promised by the caller.
    given.iter().map(|path| unsafe { path.receive("request.other_paths") }).collect()
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
