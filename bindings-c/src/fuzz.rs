//! Random arguments: none may panic, be read beyond its end, or leave half an answer.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use proptest::prelude::*;

use crate::calls::*;
use crate::check::{CheckOptions, Item};
use crate::decision::Decision;
use crate::error::Error;
use crate::headers::sluicegate_decision_headers;
use crate::limiter::{Limiter, sluicegate_limiter_free, sluicegate_limiter_new};
use crate::matching::{Matches, sluicegate_match_request, sluicegate_matches_free};
use crate::options::Options;
use crate::request::{Header, Request};
use crate::status::{Status, sluicegate_status_name};

const RULES: &CStr = c"[
    {\"rule_id\": \"r\", \"algorithm\": \"gcra\", \"limit\": 5, \"window_size_seconds\": 60,
     \"identifier_type\": \"api_key\", \"match\": {\"path_pattern\": \"/a/{b}/*\"}},
    {\"rule_id\": \"p\", \"algorithm\": \"fixed_window\", \"limits\": [{\"limit\": 5, \"window_size_seconds\": 60,
     \"scope\": \"resource\"}]}]";
/// Whether a call failed is seen by what it left here.
const UNTOUCHED: u8 = 0xA5;

/// Bytes with a length, NULL for some.
#[derive(Debug, Clone)]
struct Text {
    bytes: Option<Vec<u8>>,
    terminated: CString,
}

impl Text {
    fn new(bytes: Option<Vec<u8>>) -> Self {
        let until_nul = bytes.iter().flatten().copied().take_while(|byte| *byte != 0).collect::<Vec<_>>();
        Self { terminated: CString::new(until_nul).unwrap_or_default(), bytes }
    }

    fn start(&self) -> *const c_void {
        self.bytes.as_ref().map_or(null(), |bytes| bytes.as_ptr().cast())
    }

    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, Vec::len)
    }

    fn c(&self) -> *const c_char {
        if self.bytes.is_some() { self.terminated.as_ptr() } else { null() }
    }
}

fn text() -> impl Strategy<Value = Text> {
    let words: Vec<&[u8]> =
        vec![b"r", b"p", b"GET", b"/a/b/c", b"k\0\n", b"\xff\xfe", b"::1", b"ietf", b"memory://", b""];
    prop_oneof![
        6 => prop::sample::select(words).prop_map(|word| Text::new(Some(word.to_vec()))),
        3 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Text::new(Some(bytes))),
        1 => Just(Text::new(None)),
    ]
}

fn size_of_struct(right: usize) -> impl Strategy<Value = usize> {
    prop_oneof![6 => Just(right), 1 => 0..right * 2, 1 => Just(usize::MAX)]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0u64..8, 1 => any::<u64>(), 1 => Just(1 << 53)]
}

/// Runs a call with an error to write to, and looks at what it leaves.
fn judge<T>(call: impl FnOnce(*mut T, *mut Error) -> Status) -> Option<T> {
    let (mut output, mut error) = (MaybeUninit::<T>::uninit(), MaybeUninit::<Error>::uninit());
    // SAFETY: any bytes are fine for what is uninitialized.
    unsafe { output.as_mut_ptr().write_bytes(UNTOUCHED, 1) };
    let status = call(output.as_mut_ptr(), error.as_mut_ptr());
    if status == Status::Ok {
        // SAFETY: written, as the status says.
        return Some(unsafe { output.assume_init() });
    }
    let left = output.as_ptr().cast::<u8>();
    // SAFETY: the bytes were written above, and so was the error, as the status says.
    let (bytes, error) = unsafe { (std::slice::from_raw_parts(left, size_of::<T>()), error.assume_init()) };
    assert!(bytes.iter().all(|byte| *byte == UNTOUCHED), "half an answer");
    assert!(status != Status::Internal && error.status == status);
    // SAFETY: a message ends with NUL.
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) }.to_str().unwrap();
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
    None
}

fn limiter(url: *const c_char, rules: *const c_char, options: *const Options) -> *mut Limiter {
    // SAFETY: the texts end with NUL, the options are what their size says.
    judge(|out, error| unsafe { sluicegate_limiter_new(url, rules, options, out, error) })
        .unwrap_or(null_mut())
}

unsafe extern "C" fn ignore(_: *mut c_void, _: *const c_char, _: *const c_char) {}

#[test]
fn fuzz_c_calls() {
    let limiter = limiter(c"memory://".as_ptr(), RULES.as_ptr(), null());
    let options = (size_of_struct(size_of::<CheckOptions>()), number(), text(), prop::option::of(number()));
    let inputs = (0..5, text(), text(), options, any::<bool>(), 0usize..4, number());
    sluicegate_fuzz::values(
        &inputs,
        |(call, rule, key, (size, cost, resource, limit), bare, count, wait)| {
            let limit = limit.as_ref().map_or(null(), std::ptr::from_ref);
            let (resource, resource_len) = (resource.start(), resource.len());
            let (request_id, request_id_len) = (resource, resource_len);
            let options = CheckOptions {
                size,
                cost,
                resource,
                resource_len,
                limit,
                timeout_us: wait,
                request_id,
                request_id_len,
            };
            let options = if bare { null() } else { &raw const options };
            let items: Vec<_> = (0..count)
                .map(|_| Item { rule: rule.c(), key: key.start(), key_len: key.len(), options })
                .collect();
            let (rule, key, length) = (rule.c(), key.start(), key.len());
            // SAFETY: pointers are NULL or what the header says.
            let decision = judge::<Decision>(|out, error| unsafe {
                match call {
                    0 => sluicegate_check(limiter, rule, key, length, options, out, error),
                    1 => sluicegate_peek(limiter, rule, key, length, options, out, error),
                    2 => sluicegate_refund(limiter, rule, key, length, options, out, error),
                    3 => sluicegate_wait(limiter, rule, key, length, options, wait % 1000, out, error),
                    _ => sluicegate_check_all(limiter, items.as_ptr(), count, out, None, error),
                }
            });
            assert!(decision.is_none_or(|decision| decision.remaining <= 1 << 53));
            let name = sluicegate_status_name(wait as c_int);
            assert!(!name.is_null());
        },
    );
    sluicegate_limiter_free(Some(unsafe { Box::from_raw(limiter) }));
}

#[test]
fn fuzz_c_requests() {
    let limiter = limiter(c"memory://".as_ptr(), RULES.as_ptr(), null());
    let identity = (text(), text(), text(), text(), text());
    let inputs = (size_of_struct(size_of::<Request>()), identity, text(), text(), 0usize..3, any::<bool>());
    sluicegate_fuzz::values(
        &inputs,
        |(size, (method, path, user, ip, key), name, value, header_count, explain)| {
            let header = || Header {
                name: name.start(),
                name_len: name.len(),
                value: value.start(),
                value_len: value.len(),
            };
            let headers = [header(), header()];
            let others = [value.c(), path.c()];
            let request = Request {
                size,
                method: method.start(),
                method_len: method.len(),
                path: path.start(),
                path_len: path.len(),
                user_id: user.start(),
                user_id_len: user.len(),
                ip: ip.start(),
                ip_len: ip.len(),
                api_key: key.start(),
                api_key_len: key.len(),
                headers: headers.as_ptr(),
                header_count,
                api_key_header: name.start(),
                api_key_header_len: name.len(),
                other_paths: others.as_ptr(),
                other_path_count: header_count,
                ignore_case: header_count as u8,
                timeout_us: 0,
            };
            // SAFETY: pointers are NULL or what the header says.
            let decision = judge::<Decision>(|out, error| unsafe {
                sluicegate_check_request(limiter, &request, out, None, 0, None, error)
            });
            // SAFETY: likewise.
            let matches = judge::<*mut Matches>(|out, error| unsafe {
                sluicegate_match_request(limiter, &request, explain, out, error)
            });
            if let Some(matches) = matches {
                // SAFETY: it was made by the call.
                sluicegate_matches_free(Some(unsafe { Box::from_raw(matches) }));
            }
            if let Some(decision) = decision {
                // SAFETY: as above.
                judge::<()>(|_, error| unsafe {
                    sluicegate_decision_headers(
                        &decision,
                        null(),
                        0,
                        name.c(),
                        Some(ignore),
                        null_mut(),
                        error,
                    )
                });
            }
        },
    );
    sluicegate_limiter_free(Some(unsafe { Box::from_raw(limiter) }));
}

#[test]
fn fuzz_c_options() {
    let texts = (text(), text(), text(), text());
    let numbers = (number(), number(), 0usize..9);
    let inputs = (size_of_struct(size_of::<Options>()), texts, numbers, any::<bool>());
    sluicegate_fuzz::values(
        &inputs,
        |(size, (url, prefix, file, secret), (connect, response, keys), ours)| {
            let options = Options {
                size,
                prefix: prefix.c(),
                connect_timeout_us: connect,
                response_timeout_us: response,
                tls_ca: file.c(),
                identifier_secret: secret.c(),
                max_keys: keys,
                ..Options::default()
            };
            let url = if ours { c"memory://".as_ptr() } else { url.c() };
            let made = limiter(url, RULES.as_ptr(), &options);
            if !made.is_null() {
                // SAFETY: it was made by the call.
                sluicegate_limiter_free(Some(unsafe { Box::from_raw(made) }));
            }
        },
    );
}
