//! How a limiter is made.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr::null;
use std::time::Duration;

use sluicegate::bridge::Settings;

use crate::argument::{Argument, Growing, growing, optional_text};
use crate::clock::Clock;
use crate::error::Failure;

/// Options of a limiter. Begin with SLUICEGATE_OPTIONS_INIT and set what you need; NULL and 0 stand
/// for the default. Nothing in it is needed after the call.
#[repr(C)]
pub struct Options {
    /// The size of this struct as the caller knows it; later releases may add fields at the end.
    pub size: usize,
    /// What every name in Redis begins with: 1 to 128 bytes without braces and control characters.
    /// Limiters share their counts when their prefixes and rules are the same. Default: "sluicegate".
    pub prefix: *const c_char,
    /// A clock that the caller moves. Default: the server's, or in memory the system's.
    pub clock: *const Clock,
    /// The longest time to open a connection. Default: 1 second.
    pub connect_timeout_us: u64,
    /// The longest time to wait for an answer. Default: 500 milliseconds.
    pub response_timeout_us: u64,
    /// The most connections to one server. Default: 16.
    pub pool_size: usize,
    /// PEM file with the certificate authorities to trust. Default: the system's.
    pub tls_ca: *const c_char,
    /// PEM file with the certificate chain of this client. Default: none.
    pub tls_cert: *const c_char,
    /// PEM file with the private key of that certificate. Default: none.
    pub tls_key: *const c_char,
    /// A file in which the last good rules of a followed source are kept. A limiter that is made while
    /// the source is away begins with them. Default: none; then the limiter is not made.
    pub rules_cache: *const c_char,
    /// Hides keys of rules whose identifier_type is api_key or header:<name> also from who can guess them: they
    /// are stored as 128 bits of their HMAC-SHA-256 with this secret, without one of their SHA-256. 16 to 1024
    /// bytes. Limiters share their counts only with the same one. Default: none.
    pub identifier_secret: *const c_char,
    /// The most states that "memory://" keeps, one for each key and limit; when there are more, those nearest to
    /// their reset are forgotten first. Default: 1000000.
    pub max_keys: usize,
    /// How many calls in a row a server leaves unanswered before the circuit breaker opens: from then on calls to it
    /// fail at once, until it answers again. UINT32_MAX: it never opens. Default: 5.
    pub breaker_failures: u32,
    /// How often a server is tried while its circuit breaker is open and calls come. Default: 100 milliseconds.
    pub breaker_probe_us: u64,
    /// For how many seconds the answer to a call with a request id is kept, from 1 to 86400: so long the call may be
    /// repeated. Default: 60.
    pub request_id_seconds: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            prefix: null(),
            clock: null(),
            connect_timeout_us: 0,
            response_timeout_us: 0,
            pool_size: 0,
            tls_ca: null(),
            tls_cert: null(),
            tls_key: null(),
            rules_cache: null(),
            identifier_secret: null(),
            max_keys: 0,
            breaker_failures: 0,
            breaker_probe_us: 0,
            request_id_seconds: 0,
        }
    }
}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for Options {
    const SIZES: &'static [usize] = &[
        offset_of!(Self, rules_cache),
        offset_of!(Self, identifier_secret),
        offset_of!(Self, request_id_seconds),
        size_of::<Self>(),
    ];
}

impl<'a> Argument<'a> for *const Options {
    type Received = Settings;

    unsafe fn receive(self, name: &'static str) -> Result<Settings, Failure> {
        // SAFETY: promised by the caller, also for what the fields point to.
        unsafe {
            let options = growing(self, name)?;
            Ok(Settings {
                prefix: optional_text(options.prefix, "options.prefix")?.map(Into::into),
                clock: options.clock.as_ref().map(|clock| clock.0.clone()),
                connect_timeout: given(options.connect_timeout_us).map(Duration::from_micros),
                response_timeout: given(options.response_timeout_us).map(Duration::from_micros),
                pool_size: given(options.pool_size),
                tls_ca: optional_text(options.tls_ca, "options.tls_ca")?.map(Into::into),
                tls_cert: optional_text(options.tls_cert, "options.tls_cert")?.map(Into::into),
                tls_key: optional_text(options.tls_key, "options.tls_key")?.map(Into::into),
                rules_cache: optional_text(options.rules_cache, "options.rules_cache")?.map(Into::into),
                identifier_secret: optional_text(options.identifier_secret, "options.identifier_secret")?
                    .map(Into::into),
                max_keys: given(options.max_keys),
                breaker_failures: given(options.breaker_failures),
                breaker_probe: given(options.breaker_probe_us).map(Duration::from_micros),
                request_id_seconds: given(options.request_id_seconds),
            })
        }
    }
}

fn given<N: Default + PartialEq>(number: N) -> Option<N> {
    (number != N::default()).then_some(number)
}
