//! How a limiter is made. Made from the table of core: cargo run -p sluicegate-tables.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr::null;
use std::time::Duration;

use sluicegate::Builder;
use sluicegate::bridge::OptionValue;

use crate::argument::{Argument, Growing, growing, optional_text};
use crate::clock::Clock;
use crate::credentials::CredentialsSource;
use crate::error::Failure;

/// Options of a limiter. Begin with SLUICEGATE_OPTIONS_INIT and set what you need; NULL and 0 stand
/// for the default. Nothing in it is needed after the call.
#[repr(C)]
pub struct Options {
    /// The size of this struct as the caller knows it; later releases may add fields at the end.
    pub size: usize,
    /// The longest time to open a connection. Default: 1 s.
    pub connect_timeout_us: u64,
    /// The longest time to wait for an answer; then the call ends with `Timeout`. Where the server asks for
    /// the script, the time starts again. Default: 500 ms.
    pub response_timeout_us: u64,
    /// How many failures in a row without an answer open the circuit breaker of a server: from then on calls
    /// to it fail at once, until it answers again. 0 (in C `UINT32_MAX`): it never opens. Default: 5.
    pub breaker_failures: u32,
    /// How often a server is tried while its circuit breaker is open and calls come. Default: 100 ms.
    pub breaker_probe_us: u64,
    /// PEM file with the certificate authorities to trust instead of the system's. Default: the system's.
    pub tls_ca: *const c_char,
    /// PEM file with the certificate chain of this client; goes with `tls_key`. Default: none.
    pub tls_cert: *const c_char,
    /// PEM file with the private key of this client; goes with `tls_cert`. Default: none.
    pub tls_key: *const c_char,
    /// How many replicas are to have a charge before its decision comes, which then says `replicated`. A
    /// failover loses no such charge where these are all the replicas that there are. 0: none is waited for.
    /// Not for `memory://`. Default: 0.
    pub replicas: u32,
    /// The longest time that a batch of calls waits for `replicas`, at most half of `response_timeout_us`:
    /// what they have not by then is charged and decided all the same, but not `replicated`. Default: 5 ms.
    pub replica_timeout_us: u64,
    /// A function that gives user and password for each new connection, where these change: tokens of cloud
    /// providers, passwords that are rotated. It may take `connect_timeout_us`, on a thread of its own. Not
    /// together with a login in the URL; Sentinels keep theirs there. Default: the login of the URL.
    pub credentials: *const CredentialsSource,
    /// What every key in Redis begins with: 1 to 128 bytes without braces and control characters. Limiters
    /// share their counts when their prefixes and rules are the same. Default: `sluicegate`.
    pub prefix: *const c_char,
    /// What a call answers that no server can decide, since none is reached or answers in time: `error` ends
    /// with the error, `allow` admits, `deny` denies, `local` decides in memory by this process's share of
    /// the limits. A rule may say so itself. Default: `error`.
    pub fallback: *const c_char,
    /// How many processes share the limits while no server decides: each has an equal part, rounded down.
    /// Default: 1.
    pub instances: u32,
    /// A clock that the caller moves, for tests. Default: the server's, or in memory the system's.
    pub clock: *const Clock,
    /// A file in which the last good rules of a followed source are kept. A limiter that is made while the
    /// source is away begins with them. Default: none: then the limiter is not made.
    pub rules_cache: *const c_char,
    /// Hides keys of rules whose `identifier_type` is `api_key` or `header:<name>` also from who can guess
    /// them: they are stored as 128 bits of their HMAC-SHA-256 with this secret, without one of their
    /// SHA-256. 16 to 1024 bytes. Limiters share their counts only with the same one. Default: none.
    pub identifier_secret: *const c_char,
    /// The most states that `memory://` keeps, one for each key and limit. When there are more, those nearest
    /// to their reset are forgotten first. Default: 1000000.
    pub max_keys: usize,
    /// For how many seconds the answer to a call with a `request_id` is kept, by the limiter's clock: so long
    /// the call may be repeated. Each id takes some 200 bytes in Redis. Default: 60.
    pub request_id_seconds: u64,
    /// The URL of the servers of each region, by its name, for rules with `global`: they are counted over all
    /// regions. The same in every region. The URL of the limiter is that of its own region, or empty.
    /// Default: none: rules with `global` count in this region alone.
    pub regions: *const c_char,
    /// The name of the region of this limiter, one of `regions`. Default: none.
    pub region: *const c_char,
    /// The part of every limit that each region has while it cannot reach the region in charge of a key, by
    /// its name: above 0, and 1 together at most. Each has 1 of a limit at least. Default: equal parts.
    pub region_parts: *const c_char,
    /// The part of every limit that this limiter may use, on the server too: above 0 and 1 at most. A limit
    /// is multiplied by it and rounded down; a rule of which less than 1 is left is refused. For limiters
    /// with a Redis each: where their shares add up to 1, they keep the limit together. Default: 1.
    pub share: f64,
    /// Whether an async limiter is made without trying a server: nothing is opened before the first call, as
    /// in blocking limiters, which never try one. So an application starts while Redis is away, whatever
    /// `fallback` says. Default: false.
    pub lazy: u32,
    /// How long this process remembers that the server denied a key: so long it denies the same check again
    /// by itself, until the cost fits. A day at most; 0: nothing is remembered. What another process gives
    /// back to the key in between is noticed by then. Not for `memory://`. Default: 0 s.
    pub remember_denials_us: u64,
    /// How many of the keys denied most `metrics` tells of each rule, approximately: ten times as many are
    /// counted. 100 at most; 0: none. Default: 0.
    pub top_denied: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: size_of::<Self>(),
            connect_timeout_us: 0,
            response_timeout_us: 0,
            breaker_failures: 0,
            breaker_probe_us: 0,
            tls_ca: null(),
            tls_cert: null(),
            tls_key: null(),
            replicas: 0,
            replica_timeout_us: 0,
            credentials: null(),
            prefix: null(),
            fallback: null(),
            instances: 0,
            clock: null(),
            rules_cache: null(),
            identifier_secret: null(),
            max_keys: 0,
            request_id_seconds: 0,
            regions: null(),
            region: null(),
            region_parts: null(),
            share: 0.0,
            lazy: 0,
            remember_denials_us: 0,
            top_denied: 0,
        }
    }
}

// SAFETY: it begins with its size; the rest are numbers and pointers.
unsafe impl Growing for Options {
    const SIZES: &'static [usize] = &[
        offset_of!(Self, connect_timeout_us),
        offset_of!(Self, response_timeout_us),
        offset_of!(Self, breaker_failures),
        offset_of!(Self, breaker_probe_us),
        offset_of!(Self, tls_ca),
        offset_of!(Self, tls_cert),
        offset_of!(Self, tls_key),
        offset_of!(Self, replicas),
        offset_of!(Self, replica_timeout_us),
        offset_of!(Self, credentials),
        offset_of!(Self, prefix),
        offset_of!(Self, fallback),
        offset_of!(Self, instances),
        offset_of!(Self, clock),
        offset_of!(Self, rules_cache),
        offset_of!(Self, identifier_secret),
        offset_of!(Self, max_keys),
        offset_of!(Self, request_id_seconds),
        offset_of!(Self, regions),
        offset_of!(Self, region),
        offset_of!(Self, region_parts),
        offset_of!(Self, share),
        offset_of!(Self, lazy),
        offset_of!(Self, remember_denials_us),
        offset_of!(Self, top_denied),
        size_of::<Self>(),
    ];
}

/// The options that are given, by their names in core.
pub(crate) struct Given(Vec<(&'static str, OptionValue)>);

impl Given {
    /// A builder with these options.
    pub(crate) fn apply(self, builder: Builder) -> sluicegate::Result<Builder> {
        self.0.into_iter().try_fold(builder, |builder, (name, value)| builder.set(name, value))
    }
}

impl<'a> Argument<'a> for *const Options {
    type Received = Given;

    unsafe fn receive(self, name: &'static str) -> Result<Given, Failure> {
        let mut given = Vec::new();
        // SAFETY: promised by the caller, also for what the fields point to.
        unsafe {
            let options = growing(self, name)?;
            if options.connect_timeout_us != 0 {
                given.push((
                    "connect_timeout",
                    OptionValue::Time(Duration::from_micros(options.connect_timeout_us)),
                ));
            }
            if options.response_timeout_us != 0 {
                given.push((
                    "response_timeout",
                    OptionValue::Time(Duration::from_micros(options.response_timeout_us)),
                ));
            }
            if options.breaker_failures != 0 {
                given.push(("breaker_failures", OptionValue::Count(options.breaker_failures.into())));
            }
            if options.breaker_probe_us != 0 {
                given.push((
                    "breaker_probe",
                    OptionValue::Time(Duration::from_micros(options.breaker_probe_us)),
                ));
            }
            if let Some(text) = optional_text(options.tls_ca, "options.tls_ca")? {
                given.push(("tls_ca", OptionValue::Path(text.into())));
            }
            if let Some(text) = optional_text(options.tls_cert, "options.tls_cert")? {
                given.push(("tls_cert", OptionValue::Path(text.into())));
            }
            if let Some(text) = optional_text(options.tls_key, "options.tls_key")? {
                given.push(("tls_key", OptionValue::Path(text.into())));
            }
            if options.replicas != 0 {
                given.push(("replicas", OptionValue::Count(options.replicas.into())));
            }
            if options.replica_timeout_us != 0 {
                given.push((
                    "replica_timeout",
                    OptionValue::Time(Duration::from_micros(options.replica_timeout_us)),
                ));
            }
            if let Some(source) = options.credentials.as_ref() {
                given
                    .push(("credentials", OptionValue::Credentials(source.provider("options.credentials")?)));
            }
            if let Some(text) = optional_text(options.prefix, "options.prefix")? {
                given.push(("prefix", OptionValue::Text(text.into())));
            }
            if let Some(text) = optional_text(options.fallback, "options.fallback")? {
                given.push(("fallback", OptionValue::Text(text.into())));
            }
            if options.instances != 0 {
                given.push(("instances", OptionValue::Count(options.instances.into())));
            }
            if let Some(clock) = options.clock.as_ref() {
                given.push(("clock", OptionValue::Clock(clock.0.clone())));
            }
            if let Some(text) = optional_text(options.rules_cache, "options.rules_cache")? {
                given.push(("rules_cache", OptionValue::Path(text.into())));
            }
            if let Some(text) = optional_text(options.identifier_secret, "options.identifier_secret")? {
                given.push(("identifier_secret", OptionValue::Text(text.into())));
            }
            if options.max_keys != 0 {
                given.push(("max_keys", OptionValue::Count(options.max_keys as f64)));
            }
            if options.request_id_seconds != 0 {
                given.push(("request_id_seconds", OptionValue::Count(options.request_id_seconds as f64)));
            }
            if let Some(text) = optional_text(options.regions, "options.regions")? {
                given.push(("regions", OptionValue::Object(text.into())));
            }
            if let Some(text) = optional_text(options.region, "options.region")? {
                given.push(("region", OptionValue::Text(text.into())));
            }
            if let Some(text) = optional_text(options.region_parts, "options.region_parts")? {
                given.push(("region_parts", OptionValue::Object(text.into())));
            }
            if options.share != 0.0 {
                given.push(("share", OptionValue::Part(options.share)));
            }
            if options.lazy != 0 {
                given.push(("lazy", OptionValue::Flag(true)));
            }
            if options.remember_denials_us != 0 {
                given.push((
                    "remember_denials",
                    OptionValue::Time(Duration::from_micros(options.remember_denials_us)),
                ));
            }
            if options.top_denied != 0 {
                given.push(("top_denied", OptionValue::Count(options.top_denied.into())));
            }
        }
        Ok(Given(given))
    }
}
